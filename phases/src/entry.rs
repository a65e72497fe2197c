//! An entry and the words that describe it.

use crate::text::{normalise, wording};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Hash of the normalised text: 32 hex digits (128 bits of BLAKE3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(pub String);

impl ContentHash {
    /// The hash of `text` after [`normalise`].
    pub fn of(text: &str) -> Self {
        Self(hex(normalise(text).as_bytes(), 32))
    }
}

/// Name of an entry: 16 hex digits derived from project and content ([`wording`]), so that the same
/// note in the same project is the same entry whatever way it came in, and two runs over the same
/// input give the same names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub String);

impl EntryId {
    /// The name of the entry with this text in this project.
    pub fn derive(project: Option<&str>, text: &str) -> Self {
        let content = ContentHash::of(&wording(text));
        Self(hex(format!("{}\0{}", project.unwrap_or(""), content.0).as_bytes(), 16))
    }

    /// The name of a proven entry: from its text and its sources, so that a merge whose text
    /// equals one source word for word still has a name of its own.
    pub fn of_merge(project: Option<&str>, content: &ContentHash, sources: &[Self]) -> Self {
        let mut sources: Vec<&str> = sources.iter().map(Self::as_str).collect();
        sources.sort_unstable();
        let project = project.unwrap_or("");
        Self(hex(format!("merge\0{project}\0{}\0{}", content.0, sources.join(",")).as_bytes(), 16))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first `digits` hex digits of the BLAKE3 hash of `bytes`.
pub fn hex(bytes: &[u8], digits: usize) -> String {
    blake3::hash(bytes).to_hex()[..digits].to_string()
}

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The one word that names the value in SQL, JSON, the command line and the config.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value that `word` names, or `None`.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.as_str()) }
        }
    };
}
pub(crate) use words;

words! {
    /// What an entry is about. `decision` and `thought` are protected by kind and never expire.
    Kind {
        /// Something found out or stated; the default.
        Insight = "insight",
        /// A choice that was made, with its reason where one was given.
        Decision = "decision",
        /// A thought of the user, kept in the user's words.
        Thought = "thought",
        /// One compact record of a conversation.
        Session = "session",
        /// Observation: a fault and its mending.
        Bugfix = "bugfix",
        /// Observation: something new that works.
        Feature = "feature",
        /// Observation: same behaviour, other structure.
        Refactor = "refactor",
        /// Observation: any other change.
        Change = "change",
        /// Observation: how something works.
        Discovery = "discovery",
        /// Observation: a weakness that needs action.
        SecurityAlert = "security_alert",
        /// Observation: something to know about security.
        SecurityNote = "security_note",
        /// Observation: private; never routed.
        Sensitive = "sensitive",
    }
}

impl Kind {
    /// Whether entries of this kind never expire and are quoted rather than paraphrased.
    pub fn is_protected(self) -> bool {
        matches!(self, Self::Decision | Self::Thought)
    }
}

words! {
    /// Where an entry stands: `buffered → proven → routed`, or `merged`, or `expired`.
    State {
        /// Admitted, not yet part of proven knowledge.
        Buffered = "buffered",
        /// Made from three or more entries, or recalled often enough.
        Proven = "proven",
        /// Proven and written into a config file.
        Routed = "routed",
        /// Lives on in a proven entry.
        Merged = "merged",
        /// Faded; archived and restorable.
        Expired = "expired",
    }
}

impl State {
    /// Whether the entry takes part in search, links and clusters.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Buffered | Self::Proven | Self::Routed)
    }
}

words! {
    /// The door an entry came in by.
    Channel {
        /// A conversation an assistant's hook announced.
        Hook = "hook",
        /// A conversation found by the scan.
        Scan = "scan",
        /// `lifecycle add`.
        Cli = "cli",
        /// An import from another system.
        Import = "import",
        /// A tool call over MCP.
        Mcp = "mcp",
        /// Made by a phase from other entries.
        Tick = "tick",
    }
}

words! {
    /// Who said it.
    Actor {
        /// The user.
        User = "user",
        /// The assistant.
        Assistant = "assistant",
        /// A tool's output.
        Tool = "tool",
    }
}

words! {
    /// The weakest hand that a text passed through, the strongest first: what a tool or a page put
    /// into a conversation is data, and never becomes an instruction by being repeated.
    Origin {
        /// The user's own words.
        User = "user",
        /// The assistant's own conclusion.
        Assistant = "assistant",
        /// Output of a tool, or a file that it read.
        Tool = "tool",
        /// A page of the web.
        Web = "web",
    }
}

impl From<Actor> for Origin {
    fn from(actor: Actor) -> Self {
        match actor {
            Actor::User => Self::User,
            Actor::Assistant => Self::Assistant,
            Actor::Tool => Self::Tool,
        }
    }
}

impl Origin {
    /// Whether somebody who is trusted stands behind the words: only then they may instruct.
    pub fn is_trusted(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }
}

/// Where an entry came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The door.
    pub channel: Channel,
    /// Who said it.
    pub actor: Actor,
    /// The weakest hand it passed through, where that is not the actor's own ([`Source::origin`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Id of the conversation, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The file it was read from (transcript, notes file).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Byte offset of the record in that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Files the entry speaks of, found by code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Source {
    /// A source with nothing but door and speaker.
    pub fn new(channel: Channel, actor: Actor) -> Self {
        Self {
            channel,
            actor,
            origin: None,
            conversation: None,
            path: None,
            offset: None,
            files: Vec::new(),
        }
    }

    /// The weakest hand that the text passed through.
    pub fn origin(&self) -> Origin {
        self.origin.unwrap_or(self.actor.into())
    }

    /// The same source with this origin.
    pub fn with_origin(self, origin: Origin) -> Self {
        let origin = Some(origin).filter(|origin| *origin != self.actor.into());
        Self { origin, ..self }
    }
}

/// A short note that the engine keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name, derived from project and content.
    pub id: EntryId,
    /// The text as it was given, controls removed.
    pub text: String,
    /// Heading of a proven entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Hash of the normalised text.
    pub content_hash: ContentHash,
    /// What it is about.
    pub kind: Kind,
    /// Canonical root of the project; `None` links only to `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Where it stands.
    pub state: State,
    /// When it was said: milliseconds since 1970-01-01 UTC.
    pub created: i64,
    /// Where it came from.
    pub source: Source,
    /// The model that wrote a proven entry (`extractive` when none did).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated_by: Option<String>,
    /// How often the same text came again, or was recalled by a search.
    #[serde(default)]
    pub recalls: u32,
    /// How often ageing let it stay.
    #[serde(default)]
    pub reprieves: u32,
    /// Protected by the user: never expires.
    #[serde(default)]
    pub protected: bool,
}

impl Entry {
    /// A fresh buffered entry for `text`, which must not be empty after normalisation.
    pub fn new(
        text: &str,
        kind: Kind,
        project: Option<String>,
        created: i64,
        source: Source,
    ) -> Self {
        let content_hash = ContentHash::of(text);
        Self {
            id: EntryId::derive(project.as_deref(), text),
            text: text.to_string(),
            title: None,
            content_hash,
            kind,
            project,
            state: State::Buffered,
            created,
            source,
            generated_by: None,
            recalls: 0,
            reprieves: 0,
            protected: false,
        }
    }

    /// Whether a line of a config file may state it: nothing private, and nothing that only a tool
    /// or a page said.
    pub fn is_routable(&self) -> bool {
        self.kind != Kind::Sensitive && self.source.origin().is_trusted()
    }

    /// Whether ageing must leave it alone, by kind or by the user's word.
    pub fn is_protected(&self) -> bool {
        self.protected || self.kind.is_protected()
    }
}
