//! A provider and what is learnt about it in a run.

use super::World;
use crate::error::Result;
use crate::model::failure::Failure;
use crate::model::http::Http;
use crate::model::ledger::Ledger;
use crate::model::provider::{Provider, Thinking};
use crate::model::server::{self, Server};
use std::time::Duration;

/// A provider and what was learnt about it.
pub(super) struct Known {
    pub(super) provider: Provider,
    pub(super) server: Option<Server>,
    /// Why it is not asked again in this run.
    pub(super) away: Option<Failure>,
    pub(super) timeouts: u32,
    pub(super) schema: bool,
    pub(super) thinking: bool,
}

impl Known {
    /// Limit of one attempt. A model that has yet to be loaded gets the time for that on top, so
    /// that a cold start is not taken for a slow model.
    pub(super) fn limit(&self) -> Duration {
        let cold = self.server.is_some_and(|server| server.loaded == Some(false));
        let load = if cold { self.provider.load_wait } else { Duration::ZERO };
        self.provider.timeout.saturating_add(load)
    }

    /// It has answered, so its model is loaded.
    pub(super) fn warm(&mut self) {
        if let Some(server) = &mut self.server {
            server.loaded = server.loaded.map(|_| true);
        }
    }
}

pub(super) fn thinking_mode(known: &Known) -> String {
    let mode = known.provider.thinking.as_str();
    if known.thinking || known.provider.thinking == Thinking::Omit {
        mode.to_string()
    } else {
        "refused".into()
    }
}

pub(super) fn known_away(known: &mut Known, failure: &Failure) {
    if failure.concerns_server() && !matches!(failure, Failure::Paused { .. }) {
        known.away = Some(failure.clone());
    }
}

pub(super) fn nobody() -> Failure {
    Failure::Unreachable { host: "no provider".into(), why: "none is configured".into() }
}

/// Learns about a server once in a run; waits for a model that is being loaded.
pub(super) fn learn(
    http: &Http,
    known: Option<&mut Known>,
    world: &World,
) -> std::result::Result<Server, Failure> {
    let Some(known) = known else { return Err(nobody()) };
    if known.server.is_none() {
        let server = match server::learn(http, &known.provider) {
            Err(Failure::Loading) if wait_for_load(http, known, world) => {
                server::learn(http, &known.provider)
            }
            other => other,
        }?;
        known.server = Some(server);
    }
    known.server.ok_or_else(nobody)
}

/// Waits in steps until the server no longer says that it loads; `false` when the wait is over.
pub(super) fn wait_for_load(http: &Http, known: &Known, world: &World) -> bool {
    const STEP: Duration = Duration::from_secs(1);
    let mut waited = Duration::ZERO;
    while waited < known.provider.load_wait {
        (world.wait)(STEP);
        waited += STEP;
        match server::learn(http, &known.provider) {
            Err(Failure::Loading) => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
    false
}

/// The state "paused" of a provider whose budget is spent, decided before anything is sent.
pub(super) fn over_budget(
    provider: &Provider,
    ledger: &mut dyn Ledger,
    now: i64,
) -> Result<Option<Failure>> {
    const MINUTE: i64 = 60_000;
    const DAY: i64 = 86_400_000;
    for (limit, span, name) in
        [(provider.per_minute, MINUTE, "minute"), (provider.per_day, DAY, "day")]
    {
        if limit == 0 {
            continue;
        }
        let (sent, oldest) = ledger.sent_since(&provider.name, now - span)?;
        if sent >= limit {
            let until = oldest.unwrap_or(now) + span;
            let reason = format!("the budget of {limit} requests a {name} is spent");
            return Ok(Some(Failure::Paused { until, reason }));
        }
    }
    Ok(None)
}
