//! The account of every request: a row before it is sent, closed after.
//!
//! sent = answered + refused + timed out + aborted + unknown. A row that stays open belongs to a
//! process that died; the next run closes it as aborted. The store implements [`Ledger`] in the
//! tick's glue, since adapters do not know each other.

use super::wire::Usage;
use crate::error::Result;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Merging a cluster.
    Merge,
    /// Whether a loner has substance.
    Substance,
    /// What a conversation found out.
    Observe,
    /// The tiny call of `lifecycle doctor`.
    Canary,
    /// A kept prompt asked again by `lifecycle prompt replay`.
    Replay,
}

impl Purpose {
    /// The word in SQL and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Substance => "substance",
            Self::Observe => "observe",
            Self::Canary => "canary",
            Self::Replay => "replay",
        }
    }

    /// Whether an answer that nobody made use of serves a later run: where whoever asks notes that
    /// it was used ([`Ledger::answered`]).
    pub fn is_reusable(self) -> bool {
        matches!(self, Self::Merge | Self::Substance)
    }

    /// Whether the request belongs to no tick.
    pub fn is_by_hand(self) -> bool {
        matches!(self, Self::Canary | Self::Replay)
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// A reply with content came back.
    Answered,
    /// The server said no, or nothing usable, or was not there.
    Refused,
    /// No answer within the limit.
    TimedOut,
    /// The process died while it was open.
    Aborted,
    /// The connection broke after sending: whether it was worked on is not known.
    Unknown,
}

impl CallOutcome {
    /// Every value.
    pub const ALL: [Self; 5] =
        [Self::Answered, Self::Refused, Self::TimedOut, Self::Aborted, Self::Unknown];

    /// The word in SQL and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Aborted => "aborted",
            Self::Unknown => "unknown",
        }
    }
}

/// A request about to be sent.
#[derive(Clone, Debug)]
pub struct OpenCall {
    /// What for.
    pub purpose: Purpose,
    /// Name of the cluster.
    pub cluster: Option<String>,
    /// 1 for the first attempt at this cluster in this run.
    pub attempt: u32,
    /// The user's name for the provider.
    pub provider: String,
    /// Host and port.
    pub host: String,
    /// The model as configured.
    pub model: String,
    /// Hash of the rules.
    pub prompt_version: String,
    /// `json_schema` or `none`.
    pub schema_mode: &'static str,
    /// As configured, or `refused` where the server takes no such field.
    pub thinking_mode: String,
    /// Sampling temperature.
    pub temperature: f64,
    /// Milliseconds UTC.
    pub opened: i64,
    /// Bytes of the request body.
    pub bytes_sent: u64,
    /// Tokens of the prompt by our own count.
    pub counted_tokens: u64,
    /// Names the question; empty where its answer serves nobody else.
    pub digest: String,
}

/// An answer from before to the same question.
#[derive(Clone, Debug)]
pub struct KeptAnswer {
    /// Its row.
    pub call: i64,
    /// The body of the reply.
    pub reply: String,
    /// How long it took (milliseconds).
    pub wall_ms: f64,
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct CloseCall {
    /// Milliseconds UTC.
    pub closed: i64,
    /// How.
    pub outcome: CallOutcome,
    /// The failure's name; empty for an answer.
    pub reason: String,
    /// HTTP status, where there was one.
    pub http_status: Option<u16>,
    /// The model as the reply names it.
    pub response_model: Option<String>,
    /// Counts and times; of a request without an answer the elapsed time is a lower bound.
    pub usage: Usage,
    /// The body of the reply, in full.
    pub reply: String,
}

/// Where the account is kept.
pub trait Ledger {
    /// Opens a row; `None` where another live process has a request for the same cluster open. The
    /// request is sent only once this has returned.
    fn open(&mut self, call: &OpenCall) -> Result<Option<i64>>;
    /// Closes a row.
    fn close(&mut self, id: i64, call: &CloseCall) -> Result<()>;
    /// Requests to a provider since then (milliseconds UTC), and the time of the oldest of them.
    fn sent_since(&mut self, provider: &str, since: i64) -> Result<(u32, Option<i64>)>;
    /// A pause that was noted for a provider: until when, and why.
    fn pause(&mut self, provider: &str) -> Result<Option<(i64, String)>>;
    /// Notes a pause.
    fn set_pause(&mut self, provider: &str, until: i64, reason: &str) -> Result<()>;
    /// The answer to a question of this digest that no run has made use of yet.
    fn answered(&mut self, digest: &str) -> Result<Option<KeptAnswer>>;
}
