//! The observer: what a session did becomes typed observations.
//!
//! Statements that people and assistants make are picked out without a model ([`crate::buffer`]).
//! What was *done* (calls of tools and what came of them) says as much, but in logs: here some calls
//! at a time are *cut* into a [`Batch`], and a model says what they amount to.
//!
//! *Ask*: [`question`] is one prompt for one batch, the events fenced as data and each marked with
//! who speaks. *Decide*: [`decide`] reads the reply and lets through what the events bear out:
//! nothing invented, nothing leaked, no echo of the prompt or of a call, nothing that fits any
//! session, no words put into the user's mouth. Files come from the events
//! by code, and so does the origin: what only a tool's output or a page states is marked so, and is
//! never routed.

mod batch;
mod decide;
mod prompt;
mod reply;
mod worth;

pub use batch::{Batch, BatchState, Cut, Event, Limits, StoredBatch, cut, halves};
pub use decide::{Decision, Measures, decide};
pub(crate) use prompt::schema;
pub use prompt::{KINDS, Question, question};
pub use reply::{Proposal, Reply, parse};

#[cfg(test)]
mod tests;
