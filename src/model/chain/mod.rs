//! The chain of providers in order of preference: retries, pauses, budgets, fallbacks.
//!
//! Each question walks the chain until somebody answers. Before a request: is the provider paused,
//! over its budget, already known to be away; does the prompt fit. Then a ledger row, the request,
//! the row closed. Requests of one round go out together, at most `max_in_flight`; all book-keeping
//! happens between rounds on the caller's thread, so the ledger needs no lock.

mod ask;
mod known;
mod probe;
mod request;
mod walk;

use ask::missed;
pub use ask::{Answer, Ask, Missed};
use known::{Known, known_away, learn, nobody, over_budget, thinking_mode, wait_for_load};
use request::{Request, digest, outcome_of, send, wire_of};
use walk::Walk;

use super::failure::Failure;
use super::http::Http;
use super::ledger::{CloseCall, Ledger, OpenCall};
use super::provider::{Provider, Thinking};
use super::server::{self, Count, Server};
use super::wire::{self, HttpReply, Usage};
use crate::config::ConsolidateSettings;
use crate::error::Result;
use std::time::Duration;

/// What an answer to one question came to.
pub type Outcome = std::result::Result<Answer, Missed>;

/// Rewrites text as it leaves this machine; the second argument says whether it does so now, and counts.
pub type Redact = Box<dyn Fn(&str, bool) -> String + Send + Sync>;

/// The surroundings of a chain: clock, waiting, redaction.
pub struct World {
    /// Milliseconds UTC.
    pub now: Box<dyn Fn() -> i64>,
    /// Waits that long; a test returns at once.
    pub wait: Box<dyn Fn(Duration)>,
    /// Applied to everything that leaves this machine.
    pub redact: Redact,
}

/// Providers in order of preference, with what was learnt about each in this run.
pub struct Chain {
    providers: Vec<Known>,
    http: Http,
    stop_after_timeouts: u32,
    world: World,
}

impl Chain {
    /// The chain that `names` spell (`extractive` and `none` are no providers and end it), or what
    /// is wrong with the settings of one of them.
    pub fn new(names: &[&str], settings: &ConsolidateSettings, world: World) -> Result<Self> {
        let providers = names
            .iter()
            .take_while(|name| !matches!(**name, "extractive" | "none" | ""))
            .map(|name| Provider::resolve(name, settings))
            .collect::<Result<Vec<_>>>()?;
        let http =
            Http::new().map_err(|failure| crate::error::Error::config(failure.to_string()))?;
        let known = |provider: Provider| Known {
            schema: provider.schema,
            thinking: provider.thinking != Thinking::Omit,
            provider,
            server: None,
            away: None,
            timeouts: 0,
        };
        Ok(Self {
            providers: providers.into_iter().map(known).collect(),
            http,
            stop_after_timeouts: settings.stop_after_timeouts.max(1),
            world,
        })
    }

    /// Whether there is nobody to ask.
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty()
    }

    /// The providers in order.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().map(|known| &known.provider)
    }

    /// Requests that may be open at once: those of the first provider that is not away.
    pub fn width(&self) -> usize {
        let first = self.providers.iter().find(|known| known.away.is_none());
        first.map_or(1, |known| known.provider.max_in_flight)
    }

    /// Why nobody in the chain is asked any more in this run, where that is so.
    pub fn away(&self) -> Option<&Failure> {
        let all = self.providers.iter().all(|known| known.away.is_some());
        if all { self.providers.first()?.away.as_ref() } else { None }
    }

    /// What the first provider's server said about itself.
    pub fn server(&mut self) -> std::result::Result<Server, Failure> {
        learn(&self.http, self.providers.first_mut(), &self.world)
    }

    /// Counts the tokens of a question for the first provider.
    pub fn count(&mut self, ask: &Ask) -> std::result::Result<(Server, Count), Failure> {
        let server = self.server()?;
        let Some(known) = self.providers.first() else { return Err(nobody()) };
        let max_tokens = ask.max_tokens.unwrap_or(known.provider.max_tokens);
        let wire = wire_of(ask, known, server.context, max_tokens);
        Ok((server, server::count(&self.http, &known.provider, &server, &wire)))
    }

    /// The HTTP client, for the doctor's own questions.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Asks one question.
    pub fn ask(&mut self, ask: &Ask, ledger: &mut dyn Ledger) -> Result<Outcome> {
        let mut outcomes = self.ask_all(std::slice::from_ref(ask), ledger)?;
        Ok(outcomes.pop().unwrap_or_else(|| Err(missed(nobody()))))
    }

    /// Asks all questions, `max_in_flight` at a time; the outcomes come in the same order.
    pub fn ask_all(&mut self, asks: &[Ask], ledger: &mut dyn Ledger) -> Result<Vec<Outcome>> {
        let first = self.providers.first();
        let mut walks: Vec<Walk<'_>> = asks.iter().map(|ask| Walk::new(ask, first)).collect();
        loop {
            self.settle(&mut walks, ledger)?;
            let Some(at) = walks.iter().find(|walk| walk.done.is_none()).map(|walk| walk.at) else {
                break;
            };
            let width = self.providers[at].provider.max_in_flight;
            let batch: Vec<&mut Walk<'_>> = walks
                .iter_mut()
                .filter(|walk| walk.done.is_none() && walk.at == at)
                .take(width)
                .collect();
            self.round(at, batch, ledger)?;
        }
        Ok(walks
            .into_iter()
            .map(|walk| walk.done.unwrap_or_else(|| Err(missed(nobody()))))
            .collect())
    }

    /// Moves every walk past providers that cannot be asked now.
    fn settle(&mut self, walks: &mut [Walk<'_>], ledger: &mut dyn Ledger) -> Result<()> {
        for walk in walks.iter_mut() {
            while walk.done.is_none() && !self.is_answered(walk, ledger)? {
                match self.obstacle(walk, ledger)? {
                    Some(failure) => self.pass_over(walk, failure),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Takes the answer that an earlier run got to the same question and nobody made use of: a dry
    /// run asked, or the merge could not be embedded. Nothing is sent, so nothing is paid twice.
    fn is_answered(&self, walk: &mut Walk<'_>, ledger: &mut dyn Ledger) -> Result<bool> {
        let Some(known) = self.providers.get(walk.at) else { return Ok(false) };
        if !walk.ask.purpose.is_reusable() || std::mem::replace(&mut walk.looked, true) {
            return Ok(false);
        }
        let ask = self.outgoing(known, walk.ask, false);
        let Some(kept) = ledger.answered(&digest(&ask, &known.provider))? else {
            return Ok(false);
        };
        let reply = HttpReply {
            status: 200,
            retry_after: None,
            body: kept.reply.into_bytes(),
            wall_ms: kept.wall_ms,
        };
        let wire = wire_of(&ask, known, 0, walk.max_tokens);
        let (.., read) = wire::read(&known.provider, &wire, &reply, (self.world.now)());
        let Ok(parsed) = read else { return Ok(false) };
        walk.calls.push(kept.call);
        walk.answer(known, kept.call, parsed, true);
        Ok(true)
    }

    /// The question as it leaves for a provider: redacted where it leaves the machine. `leaves`: it
    /// does so now, and what fired counts.
    fn outgoing(&self, known: &Known, ask: &Ask, leaves: bool) -> Ask {
        if known.provider.leaves_machine() {
            Ask { data: (self.world.redact)(&ask.data, leaves), ..ask.clone() }
        } else {
            ask.clone()
        }
    }

    /// Why the provider a walk stands at is not asked.
    fn obstacle(&mut self, walk: &Walk<'_>, ledger: &mut dyn Ledger) -> Result<Option<Failure>> {
        let now = (self.world.now)();
        let Some(known) = self.providers.get_mut(walk.at) else { return Ok(Some(nobody())) };
        if let Some(failure) = &known.away {
            return Ok(Some(failure.clone()));
        }
        if let Some((until, reason)) =
            ledger.pause(&known.provider.name)?.filter(|(until, _)| *until > now)
        {
            return Ok(Some(Failure::Paused { until, reason }));
        }
        if let Some(failure) = over_budget(&known.provider, ledger, now)? {
            return Ok(Some(failure));
        }
        Ok(learn(&self.http, Some(known), &self.world)
            .err()
            .inspect(|failure| known_away(known, failure)))
    }

    /// The next provider, or the end with the first failure that says more than "away".
    fn pass_over(&self, walk: &mut Walk<'_>, failure: Failure) {
        if let Some(known) = self.providers.get(walk.at) {
            walk.fallbacks.push(format!("{}: {failure}", known.provider.name));
        }
        walk.at += 1;
        let last = match walk.last.take() {
            Some(earlier) if failure.concerns_server() || walk.at > self.providers.len() => earlier,
            _ => failure,
        };
        if walk.at >= self.providers.len() {
            let fallbacks = std::mem::take(&mut walk.fallbacks);
            let calls = std::mem::take(&mut walk.calls);
            walk.done = Some(Err(Missed { failure: last, calls, fallbacks }));
        } else {
            walk.last = Some(last);
            walk.enter(self.providers.get(walk.at));
        }
    }

    /// Opens rows, sends, closes rows, and lets each walk react.
    fn round(
        &mut self,
        at: usize,
        batch: Vec<&mut Walk<'_>>,
        ledger: &mut dyn Ledger,
    ) -> Result<()> {
        let mut ready = Vec::new();
        for walk in batch {
            match self.prepare(at, walk, ledger)? {
                Ok(request) => ready.push((walk, request)),
                Err(failure) => self.react(walk, failure, ledger)?,
            }
        }
        let provider = &self.providers[at].provider;
        let http = &self.http;
        let replies: Vec<(std::result::Result<HttpReply, Failure>, Duration)> =
            std::thread::scope(|scope| {
                let sending: Vec<_> = ready
                    .iter()
                    .map(|(_, request)| scope.spawn(move || send(http, provider, request)))
                    .collect();
                sending
                    .into_iter()
                    .map(|thread| {
                        thread.join().unwrap_or_else(|_| {
                            (Err(Failure::Broken("the sender died".into())), Duration::ZERO)
                        })
                    })
                    .collect()
            });
        for ((walk, request), (reply, elapsed)) in ready.into_iter().zip(replies) {
            self.receive(at, walk, &request, reply, elapsed, ledger)?;
        }
        Ok(())
    }

    /// Checks the budget and opens the row.
    fn prepare(
        &mut self,
        at: usize,
        walk: &mut Walk<'_>,
        ledger: &mut dyn Ledger,
    ) -> Result<std::result::Result<Request, Failure>> {
        let known = &self.providers[at];
        let Some(server) = known.server else { return Ok(Err(nobody())) };
        let ask = self.outgoing(known, walk.ask, true);
        let wire = wire_of(&ask, known, server.context, walk.max_tokens);
        let count = server::count(&self.http, &known.provider, &server, &wire);
        if let Err(failure) = server::check_budget(&known.provider, &server, count, &wire) {
            return Ok(Err(failure));
        }
        let (address, body) = wire::request(&known.provider, &wire);
        let body = body.to_string().into_bytes();
        let call = OpenCall {
            purpose: ask.purpose,
            cluster: ask.cluster.clone(),
            attempt: walk.attempt + 1,
            provider: known.provider.name.clone(),
            host: known.provider.host(),
            model: known.provider.model.clone(),
            prompt_version: ask.prompt_version.clone(),
            schema_mode: if wire.schema.is_some() { "json_schema" } else { "none" },
            thinking_mode: thinking_mode(known),
            temperature: known.provider.temperature,
            opened: (self.world.now)(),
            bytes_sent: body.len() as u64,
            counted_tokens: count.tokens,
            digest: digest(&ask, &known.provider),
        };
        let Some(id) = ledger.open(&call)? else {
            let reason = "another process is asking about the same cluster".to_string();
            return Ok(Err(Failure::Paused { until: (self.world.now)(), reason }));
        };
        walk.attempt += 1;
        walk.calls.push(id);
        let limit = known.limit();
        Ok(Ok(Request { id, address, body, count, data: ask.data, server, limit }))
    }

    /// Closes the row and reads the reply.
    fn receive(
        &mut self,
        at: usize,
        walk: &mut Walk<'_>,
        request: &Request,
        reply: std::result::Result<HttpReply, Failure>,
        elapsed: Duration,
        ledger: &mut dyn Ledger,
    ) -> Result<()> {
        let now = (self.world.now)();
        let known = &self.providers[at];
        let ask = Ask { data: request.data.clone(), ..walk.ask.clone() };
        let wire = wire_of(&ask, known, request.server.context, walk.max_tokens);
        let bytes = wire.prompt_bytes(&known.provider);
        let elapsed = Usage { total_ms: Some(elapsed.as_secs_f64() * 1000.0), ..Usage::default() };
        let (http_status, body, (usage, model, result)) = match reply {
            Ok(reply) => {
                let read = wire::read(&known.provider, &wire, &reply, now);
                (Some(reply.status), String::from_utf8_lossy(&reply.body).into_owned(), read)
            }
            Err(failure) => (None, String::new(), (elapsed.clone(), None, Err(failure))),
        };
        let result = result.and_then(|parsed| {
            server::check_seen(request.count, bytes, parsed.usage.prompt_tokens).map(|()| parsed)
        });
        let usage = Usage { total_ms: usage.total_ms.or(elapsed.total_ms), ..usage };
        let close = CloseCall {
            closed: now,
            outcome: outcome_of(&result),
            reason: result
                .as_ref()
                .err()
                .map(|failure| failure.name().to_string())
                .unwrap_or_default(),
            http_status,
            response_model: model,
            usage,
            reply: body,
        };
        ledger.close(request.id, &close)?;
        match result {
            Ok(parsed) => {
                walk.answer(known, request.id, parsed, false);
                if let Some(known) = self.providers.get_mut(at) {
                    known.warm();
                }
                Ok(())
            }
            Err(failure) => self.react(walk, failure, ledger),
        }
    }

    /// What follows from a failure: another try here, or the next provider.
    fn react(
        &mut self,
        walk: &mut Walk<'_>,
        failure: Failure,
        ledger: &mut dyn Ledger,
    ) -> Result<()> {
        let stop_after = self.stop_after_timeouts;
        let Some(known) = self.providers.get_mut(walk.at) else {
            self.pass_over(walk, failure);
            return Ok(());
        };
        match &failure {
            Failure::SchemaRefused(_) if known.schema => {
                known.schema = false;
                return Ok(());
            }
            Failure::ThinkingRefused(_) if known.thinking => {
                known.thinking = false;
                return Ok(());
            }
            Failure::Loading => {
                known.server = None;
                if wait_for_load(&self.http, known, &self.world) {
                    return Ok(());
                }
            }
            Failure::OutputTruncated(_)
                if walk.max_tokens * 2 <= known.provider.max_tokens_limit =>
            {
                walk.max_tokens *= 2;
                return Ok(());
            }
            Failure::TimedOut(_) => {
                known.timeouts += 1;
                if known.timeouts >= stop_after {
                    known.away = Some(failure.clone());
                }
            }
            Failure::Paused { until, reason } if *until > (self.world.now)() => {
                ledger.set_pause(&known.provider.name, *until, reason)?;
            }
            passing if passing.is_passing() && walk.retries < known.provider.retries => {
                let wait = known.provider.backoff.saturating_mul(1 << walk.retries.min(10));
                walk.retries += 1;
                (self.world.wait)(wait);
                return Ok(());
            }
            _ => {}
        }
        known_away(known, &failure);
        self.pass_over(walk, failure);
        Ok(())
    }
}
