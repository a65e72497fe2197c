//! A question on its way along the chain.

use super::known::Known;
use super::{Answer, Ask, Outcome};
use crate::model::failure::Failure;
use crate::model::wire::Parsed;

/// A question on its way along the chain.
pub(super) struct Walk<'a> {
    pub(super) ask: &'a Ask,
    pub(super) at: usize,
    pub(super) attempt: u32,
    pub(super) retries: u32,
    pub(super) max_tokens: u32,
    pub(super) calls: Vec<i64>,
    pub(super) fallbacks: Vec<String>,
    pub(super) last: Option<Failure>,
    pub(super) done: Option<Outcome>,
    /// Whether an answer from before was looked for at this provider.
    pub(super) looked: bool,
}

impl<'a> Walk<'a> {
    /// A question at the first provider.
    pub(super) fn new(ask: &'a Ask, first: Option<&Known>) -> Self {
        let mut walk = Self {
            ask,
            at: 0,
            attempt: 0,
            retries: 0,
            max_tokens: 0,
            calls: Vec::new(),
            fallbacks: Vec::new(),
            last: None,
            done: None,
            looked: false,
        };
        walk.enter(first);
        walk
    }

    /// Arrives at a provider.
    pub(super) fn enter(&mut self, known: Option<&Known>) {
        self.retries = 0;
        self.looked = false;
        self.max_tokens =
            self.ask.max_tokens.or(known.map(|known| known.provider.max_tokens)).unwrap_or(0);
    }

    /// Ends with an answer.
    pub(super) fn answer(&mut self, known: &Known, call: i64, parsed: Parsed, kept: bool) {
        self.done = Some(Ok(Answer {
            text: parsed.text,
            model: parsed.model.unwrap_or_else(|| known.provider.model.clone()),
            provider: known.provider.name.clone(),
            call,
            calls: std::mem::take(&mut self.calls),
            usage: parsed.usage,
            fallbacks: std::mem::take(&mut self.fallbacks),
            kept,
        }));
    }
}
