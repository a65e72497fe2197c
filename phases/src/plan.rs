//! A plan: the ordered steps of a tick, and what must hold for each.

use crate::buffer::{Reading, Sighting};
use crate::entry::{EntryId, State, words};
use crate::observe::StoredBatch;
use crate::step::Step;
use serde::{Deserialize, Serialize};
use std::fmt;

words! {
    /// The phases in the order in which a tick runs them.
    Phase {
        /// What arrived is admitted.
        Buffer = "buffer",
        /// New entries are embedded and linked.
        Connect = "connect",
        /// Clusters become proven entries.
        Consolidate = "consolidate",
        /// Proven entries are written to config files.
        Route = "route",
        /// Entries that nothing connects to fade.
        Age = "age",
    }
}

/// What must hold when a step is performed. A step whose requirement fails is refused with the
/// reason; it is never computed anew in silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "requires", rename_all = "snake_case")]
pub enum Requirement {
    /// No entry of that id is stored.
    Absent {
        /// The id.
        entry: EntryId,
    },
    /// The entry is stored and in that state.
    State {
        /// The id.
        entry: EntryId,
        /// The state.
        state: State,
    },
    /// The entry has no active link.
    Isolated {
        /// The id.
        entry: EntryId,
    },
    /// The file has this hash; `None`: it does not exist.
    File {
        /// Resolved absolute path.
        path: String,
        /// BLAKE3, 64 hex digits.
        hash: Option<String>,
    },
}

/// A step with its place in the plan, its reason and what it requires.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// 1-based number within the plan.
    pub n: usize,
    /// The phase that decided it.
    pub phase: Phase,
    /// The change.
    #[serde(flatten)]
    pub step: Step,
    /// Why, in words for people.
    pub reason: String,
    /// What must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
}

impl PlannedStep {
    /// A step with the requirements that follow from its own data. `n` is set by the plan.
    pub fn new(phase: Phase, step: Step, reason: impl Into<String>) -> Self {
        let requirements = implied(&step);
        Self { n: 0, phase, step, reason: reason.into(), requirements }
    }

    /// Adds a requirement that the step's own data does not imply.
    pub fn requiring(mut self, requirement: Requirement) -> Self {
        self.requirements.push(requirement);
        self
    }
}

fn implied(step: &Step) -> Vec<Requirement> {
    let state = |entry: &EntryId, state: State| Requirement::State { entry: entry.clone(), state };
    match step {
        Step::Admit { entry } => vec![Requirement::Absent { entry: entry.id.clone() }],
        Step::SetState { entry, from, .. } => vec![state(entry, *from)],
        Step::Expire { entry, from } => {
            vec![state(entry, *from), Requirement::Isolated { entry: entry.clone() }]
        }
        Step::Merge { sources, replaces, .. } => {
            sources.iter().chain(replaces).map(|s| state(&s.entry, s.state)).collect()
        }
        Step::Route { route, from } => vec![state(&route.entry, *from)],
        _ => Vec::new(),
    }
}

/// What a tick notes down beside its steps, so that nothing is taken in twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "receipt", rename_all = "snake_case")]
pub enum Receipt {
    /// How far a conversation was read.
    Conversation {
        /// Where the reading began: it is noted only where nobody has read on meanwhile.
        from: u64,
        /// Where it ended, and what waits for its end.
        reading: Reading,
    },
    /// Which sources said an entry.
    Sightings {
        /// Entry and source.
        sightings: Vec<Sighting>,
    },
    /// An inbox record whose content is stored.
    Inbox {
        /// Its file.
        file: String,
    },
    /// A batch of events waits to be observed, or was.
    Batch {
        /// The batch as it stands.
        batch: Box<StoredBatch>,
    },
}

/// A receipt and the steps without which it does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedReceipt {
    /// Numbers of the steps that it accounts for; none: it holds by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<usize>,
    /// What is noted.
    #[serde(flatten)]
    pub receipt: Receipt,
}

/// The ordered steps of one tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this format; 1.
    pub version: u32,
    /// The tick's clock: milliseconds since 1970-01-01 UTC.
    pub now: i64,
    /// Hash of the store and of the settings that the plan was computed from.
    pub base: String,
    /// The steps in order.
    pub steps: Vec<PlannedStep>,
    /// What is noted down with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<PlannedReceipt>,
}

impl Plan {
    /// The version that this build writes and reads.
    pub const VERSION: u32 = 1;
}
