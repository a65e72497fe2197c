//! The overflow probe: does a server refuse a prompt that is too long, or cut it in silence?

use super::known::{nobody, thinking_mode};
use super::request::wire_of;
use super::{Ask, Chain};
use crate::error::Result;
use crate::model::failure::Failure;
use crate::model::ledger::{CallOutcome, CloseCall, Ledger, OpenCall};
use crate::model::wire::{self, Usage};
use std::time::Instant;

impl Chain {
    /// Sends a prompt longer than the context, past our own check, and says how the server takes
    /// it: `Ok` with the tokens it says it saw, or its refusal.
    pub fn overflow(
        &mut self,
        ask: &Ask,
        ledger: &mut dyn Ledger,
    ) -> Result<std::result::Result<Option<u64>, Failure>> {
        let server = match self.server() {
            Ok(server) => server,
            Err(failure) => return Ok(Err(failure)),
        };
        let Some(known) = self.providers.first() else { return Ok(Err(nobody())) };
        let words = usize::try_from(server.context + server.context / 4 + 256).unwrap_or(0);
        let long = Ask { data: "word ".repeat(words), ..ask.clone() };
        let wire = wire_of(&long, known, server.context, 8);
        let (address, body) = wire::request(&known.provider, &wire);
        let body = body.to_string().into_bytes();
        let call = OpenCall {
            purpose: ask.purpose,
            cluster: None,
            attempt: 1,
            provider: known.provider.name.clone(),
            host: known.provider.host(),
            model: known.provider.model.clone(),
            prompt_version: ask.prompt_version.clone(),
            schema_mode: "none",
            thinking_mode: thinking_mode(known),
            temperature: known.provider.temperature,
            opened: (self.world.now)(),
            bytes_sent: body.len() as u64,
            counted_tokens: words as u64,
            digest: String::new(),
        };
        let Some(id) = ledger.open(&call)? else { return Ok(Err(nobody())) };
        let started = Instant::now();
        let (usage, status, result) =
            match self.http.send(&known.provider, &address, body, known.limit()) {
                Ok(reply) => {
                    let (usage, _, result) =
                        wire::read(&known.provider, &wire, &reply, (self.world.now)());
                    (usage, Some(reply.status), result.map(|_| ()))
                }
                Err(failure) => (Usage::default(), None, Err(failure)),
            };
        // A cut or empty reply is an answer all the same: the prompt was taken.
        let taken = match result {
            Ok(()) | Err(Failure::OutputTruncated(_) | Failure::Empty(_)) => {
                Ok(usage.prompt_tokens)
            }
            Err(failure) => Err(failure),
        };
        let close = CloseCall {
            closed: (self.world.now)(),
            outcome: if taken.is_ok() { CallOutcome::Answered } else { CallOutcome::Refused },
            reason: "overflow probe".into(),
            http_status: status,
            response_model: None,
            usage: Usage { total_ms: Some(started.elapsed().as_secs_f64() * 1000.0), ..usage },
            reply: String::new(),
        };
        ledger.close(id, &close)?;
        Ok(taken)
    }
}
