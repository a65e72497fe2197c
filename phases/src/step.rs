//! A step: one change of the store or of a file, as data.
//!
//! A step carries the values from before as well as those from after, so that its inverse needs
//! nothing but the step itself ([`Step::inverse`]).

use crate::entry::{Entry, EntryId, Origin, State, words};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Two entries that speak of similar things.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The smaller id of the pair.
    pub a: EntryId,
    /// The larger id of the pair.
    pub b: EntryId,
    /// Calibrated similarity, 0 to 1; 0.75 is the link line of every model.
    pub similarity: f32,
    /// Raw cosine of the two vectors, before calibration.
    pub cosine: f32,
    /// Name of the descriptor whose vectors were compared.
    pub descriptor: String,
    /// Set where the two are nearly the same but state different things.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differing: Option<Differing>,
}

impl Link {
    /// The pair in the order in which links are stored.
    pub fn pair(x: EntryId, y: EntryId) -> (EntryId, EntryId) {
        if x <= y { (x, y) } else { (y, x) }
    }
}

words! {
    /// How two nearly identical entries differ: consolidation takes such a pair as an update or a
    /// contradiction, never as repetition.
    Differing {
        /// Another number, version or date.
        Number = "number",
        /// Another identifier, path or name.
        Identifier = "identifier",
        /// One says what the other denies.
        Negation = "negation",
    }
}

words! {
    /// Why a cluster did not become a proven entry this time.
    ClusterOutcome {
        /// The model could not be reached, or gave no usable reply; tried again.
        Failed = "failed",
        /// Too many failures; shown, kept, tried again only when it changes or by hand.
        Stuck = "stuck",
        /// The model declined, with a reason; not sent again until the cluster changes.
        Declined = "declined",
        /// A faithfulness gate refused the result.
        Refused = "refused",
        /// The sources contradict each other and dates do not settle it; for review.
        Conflict = "conflict",
        /// A quota or budget is spent; resumes by itself at the stated time.
        Paused = "paused",
        /// No model is configured.
        Waiting = "waiting",
        /// The user took the merge back; not made again until the cluster changes.
        Undone = "undone",
    }
}

/// What happens to one line of a config file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum RouteOp {
    /// A new line in our block.
    Add,
    /// Our line is replaced by another of ours.
    Replace {
        /// The line that stood there.
        old_line: String,
    },
    /// Our line leaves the file.
    Withdraw,
    /// Our line leaves a full file for that of a stronger entry; its own entry waits again.
    Displace,
    /// The file states it already; nothing is written, the entry is linked to that line.
    AlreadyKnown {
        /// 1-based number of the line that states it.
        line_number: usize,
    },
}

/// One entry's place in one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The proven entry.
    pub entry: EntryId,
    /// Resolved absolute path of the file.
    pub path: String,
    /// Headings from the top of the file to the section, outermost first; for TOML, YAML and JSON
    /// the key path that takes the line.
    pub section: Vec<String>,
    /// The line as written, without its list mark.
    pub line: String,
    /// What is done.
    pub op: RouteOp,
    /// Score of the chosen section (see [`crate::route`]).
    pub score: f32,
    /// The next best places with their scores, best first, at most five.
    #[serde(default)]
    pub runners_up: Vec<(String, f32)>,
}

/// An entry and the state it is in before a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The entry.
    pub entry: EntryId,
    /// Its state before.
    pub state: State,
    /// Whether it stays as it is: a protected entry is quoted by a merge, not retired by it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl Standing {
    /// How `entry` stands, and what a merge will do to it.
    pub fn of(entry: &Entry) -> Self {
        let kept = entry.state.is_active() && entry.is_protected();
        Self { entry: entry.id.clone(), state: entry.state, kept }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// A new entry.
    Admit {
        /// The entry as stored.
        entry: Box<Entry>,
    },
    /// Takes an admitted entry out again (the inverse of `admit`).
    Withdraw {
        /// The entry as it was.
        entry: Box<Entry>,
    },
    /// The same text came again, or a search returned it.
    Recall {
        /// The entry.
        entry: EntryId,
        /// Count before.
        from: u32,
        /// Count after.
        to: u32,
    },
    /// Somebody more trustworthy says what until now only a tool or a page said.
    Attest {
        /// The entry.
        entry: EntryId,
        /// Origin before.
        from: Origin,
        /// Origin after.
        to: Origin,
    },
    /// Any change of state that is not part of another step (a restored entry, a promoted one).
    SetState {
        /// The entry.
        entry: EntryId,
        /// State before.
        from: State,
        /// State after.
        to: State,
    },
    /// The user protects an entry, or takes the protection back.
    Protect {
        /// The entry.
        entry: EntryId,
        /// Protection before.
        from: bool,
        /// Protection after.
        to: bool,
    },
    /// The vector of an entry. Derived: it has no inverse and may be left out of the journal.
    Embed {
        /// The entry.
        entry: EntryId,
        /// Name of the descriptor.
        descriptor: String,
        /// Unit length, `descriptor.dimensions` numbers; empty in the journal.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        vector: Vec<f32>,
    },
    /// A link appears.
    Link {
        /// The link.
        link: Link,
    },
    /// A link goes.
    Unlink {
        /// The link.
        link: Link,
    },
    /// A cluster becomes one proven entry; its sources become `merged`.
    Merge {
        /// The cluster it was made from: hash of the sorted member ids.
        #[serde(default)]
        cluster: String,
        /// The proven entry.
        proven: Box<Entry>,
        /// The sources with the states they leave.
        sources: Vec<Standing>,
        /// Active links of the sources, which end here.
        links: Vec<Link>,
        /// Proven entries that this one replaces (re-consolidation from the originals).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replaces: Vec<Standing>,
        /// Descriptor and vector of the proven entry: sources retire only once it can be found.
        descriptor: String,
        /// Unit length.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        vector: Vec<f32>,
        /// Ledger ids of the model calls that made it; empty for extractive.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<i64>,
    },
    /// Takes a merge back (the inverse of `merge`).
    Unmerge {
        /// The merge as it was performed.
        merge: Box<Step>,
    },
    /// A cluster stays as it is, and why.
    RejectCluster {
        /// Hash of the sorted member ids.
        cluster: String,
        /// The members.
        members: Vec<EntryId>,
        /// What came of it.
        outcome: ClusterOutcome,
        /// In words. (The planned step has a reason of its own, flattened beside it in JSON.)
        #[serde(rename = "cause")]
        reason: String,
        /// Failed attempts so far, this one included.
        attempts: u32,
        /// Not to be tried before (milliseconds UTC).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_try: Option<i64>,
    },
    /// A line of a config file.
    Route {
        /// Where and what.
        route: Route,
        /// State of the entry before.
        from: State,
    },
    /// Nothing connects to it, yet it stays.
    Reprieve {
        /// The entry.
        entry: EntryId,
        /// Reprieves before.
        from: u32,
        /// Reprieves after.
        to: u32,
    },
    /// It fades.
    Expire {
        /// The entry.
        entry: EntryId,
        /// State before.
        from: State,
    },
}

impl Step {
    /// The word for the kind of step, as in JSON and in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Admit { .. } => "admit",
            Self::Withdraw { .. } => "withdraw",
            Self::Recall { .. } => "recall",
            Self::Attest { .. } => "attest",
            Self::SetState { .. } => "set_state",
            Self::Protect { .. } => "protect",
            Self::Embed { .. } => "embed",
            Self::Link { .. } => "link",
            Self::Unlink { .. } => "unlink",
            Self::Merge { .. } => "merge",
            Self::Unmerge { .. } => "unmerge",
            Self::RejectCluster { .. } => "reject_cluster",
            Self::Route { .. } => "route",
            Self::Reprieve { .. } => "reprieve",
            Self::Expire { .. } => "expire",
        }
    }

    /// The entry that the step is about, where it is about one.
    pub fn entry(&self) -> Option<&EntryId> {
        match self {
            Self::Admit { entry } | Self::Withdraw { entry } => Some(&entry.id),
            Self::Recall { entry, .. }
            | Self::Attest { entry, .. }
            | Self::SetState { entry, .. }
            | Self::Protect { entry, .. }
            | Self::Embed { entry, .. }
            | Self::Reprieve { entry, .. }
            | Self::Expire { entry, .. } => Some(entry),
            Self::Merge { proven, .. } => Some(&proven.id),
            Self::Unmerge { merge } => merge.entry(),
            Self::Route { route, .. } => Some(&route.entry),
            Self::Link { .. } | Self::Unlink { .. } | Self::RejectCluster { .. } => None,
        }
    }

    /// The step that takes this one back; `None` for what is derived (`embed`) or only a record
    /// (`reject_cluster`). A route is taken back by the file's own record, not by this.
    pub fn inverse(&self) -> Option<Self> {
        Some(match self.clone() {
            Self::Admit { entry } => Self::Withdraw { entry },
            Self::Withdraw { entry } => Self::Admit { entry },
            Self::Recall { entry, from, to } => Self::Recall { entry, from: to, to: from },
            Self::Attest { entry, from, to } => Self::Attest { entry, from: to, to: from },
            Self::SetState { entry, from, to } => Self::SetState { entry, from: to, to: from },
            Self::Protect { entry, from, to } => Self::Protect { entry, from: to, to: from },
            Self::Link { link } => Self::Unlink { link },
            Self::Unlink { link } => Self::Link { link },
            merge @ Self::Merge { .. } => Self::Unmerge { merge: Box::new(merge) },
            Self::Unmerge { merge } => *merge,
            Self::Reprieve { entry, from, to } => Self::Reprieve { entry, from: to, to: from },
            Self::Expire { entry, from } => {
                Self::SetState { entry, from: State::Expired, to: from }
            }
            Self::Embed { .. } | Self::RejectCluster { .. } | Self::Route { .. } => return None,
        })
    }
}
