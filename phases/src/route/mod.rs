//! The route phase: which file, which section, and whether it needs writing at all.
//!
//! *Ask*: vectors of an entry and of the blocks (bullets and paragraphs) of every file it may go
//! to. *Decide*: [`Ranker::rank`] scores the files of one scope by several signals at once, since
//! no single one is enough, and [`Ranking::verdict`] says where the line goes, or honestly that
//! there is no place or that two are too close.

mod blocks;
mod bm25;
mod brief;
mod directions;
pub mod known;
mod rank;
pub mod scope;
mod sections;
mod style;
mod tokens;

pub use blocks::blocks;
pub use brief::{READABLE, brief};
pub use rank::{Baseline, Block, Candidate, Place, Query, Ranked, Ranker, Ranking, Verdict};
