//! The consolidate phase: a cluster of three or more connected entries becomes proven knowledge.
//!
//! *Ask*: [`prepare`] orders the notes by time and finds what replaces what; contradictions that
//! dates do not settle are set aside. [`Prepared::question`] is one prompt for one cluster;
//! [`Prepared::sentence_texts`] is what extractive consolidation wants vectors of.
//!
//! *Decide*: [`decide()`] takes a model's reply, [`decide_extractive`] the vectors. Both put what
//! they have through the same [`gates`]: nothing invented, enough kept, no rule turned around, no
//! stale value, no leaked instruction. What a model left out is quoted from the sources word for
//! word; decisions and thoughts are always quoted. A source that no result covers stays buffered,
//! a cluster that passes no gate stays as it is, with the reason.

pub mod coverage;
mod decide;
pub mod draft;
pub(crate) mod echo;
pub mod extractive;
pub mod facts;
pub mod gates;
pub mod json;
mod negation;
pub mod note;
mod numbers;
mod prepared;
pub mod prompt;
mod records;
pub mod reply;
pub mod schema;
pub mod sentences;
mod split;
mod swapped;
pub mod values;
mod wording;
pub mod words;

pub use decide::{Decision, Draft, Measures, Rejection, decide, decide_extractive};
pub use note::Cluster;
pub use prepared::{Limits, Prepared, prepare};
pub use prompt::Question;
pub use reply::{Reply, ReplyError};
pub use split::split;

#[cfg(test)]
mod adversary;
#[cfg(test)]
mod tests;
