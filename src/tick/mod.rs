//! A tick: the five phases over one store.
//!
//! Each phase has a module here that asks, lets the adapters answer, decides, and hands the steps
//! to [`Context::perform`]. The same code runs live and dry: a live context writes to the store and
//! to files, a dry one works on a scratch copy of the store and an overlay of the files. What was
//! performed, in order, *is* the plan.

mod age;
mod apply;
pub mod buffer;
pub mod connect;
pub mod consolidate;
mod context;
pub mod detached;
mod doors;
mod files;
mod lock;
pub mod notes;
mod observe;
mod reindex;
mod restore;
pub mod route;
mod run;
pub mod serving;
mod similarities;
mod undo;
mod withdraw;

pub use apply::apply;
pub use context::{Context, Mode};
pub use doors::{Door, Doors, Guarded};
pub use lock::TickLock;
pub use notes::{Level, Note};
pub use reindex::{Reindexed, reindex};
pub use run::{Run, RunOptions, by_hand, parse_phases, run};
pub use similarities::Similarities;
pub use undo::undo;
pub use withdraw::{files_of_ours, withdraw_all};
