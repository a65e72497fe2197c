//! The five phases of a tick as pure decisions.
//!
//! A phase is two kinds of function. *Ask* says what the phase must know from outside (vectors of
//! these texts, neighbours of this vector, the answer of a model to this prompt). *Decide* takes
//! the answers and returns [`Step`]s. Nothing here opens a file, a socket or a database, reads the
//! clock or the environment: the shell does, and hands the answers in. So a dry run, a live run, a
//! replay and a test are the same code.
//!
//! The flow of one entry:
//!
//! ```text
//! Arrival ─buffer→ Admit ─connect→ Embed, Link ─consolidate→ Merge ─route→ Route
//!                                        └──────────age──→ Reprieve | Expire
//! ```

pub mod age;
pub mod brief;
pub mod buffer;
pub mod cluster;
pub mod connect;
pub mod consolidate;
pub mod entry;
pub mod observe;
pub mod origin;
pub mod own;
pub mod plan;
pub mod recall;
pub mod route;
pub mod step;
pub mod text;

pub use entry::{Actor, Channel, ContentHash, Entry, EntryId, Kind, Origin, Source, State};
pub use plan::{Phase, Plan, PlannedReceipt, PlannedStep, Receipt, Requirement};
pub use step::{ClusterOutcome, Differing, Link, Route, RouteOp, Standing, Step};
