//! What can come of a request other than an answer.

use std::time::Duration;

/// Why there is no answer. The chain decides on it: try again, take the next provider, wait.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// No connection.
    #[error("{host} does not answer: {why}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// In words.
        why: String,
    },
    /// No answer within the limit of an attempt.
    #[error("no answer within {:.0} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The model is still being loaded.
    #[error("the model is still loading")]
    Loading,
    /// The connection broke after the request had left.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The prompt does not fit the context. Sending it again is pointless.
    #[error(
        "prompt_too_long: {tokens} tokens + {reserve} reserved > context {context} ({bytes} bytes)"
    )]
    PromptTooLong {
        /// Tokens of the prompt; ours or the server's count.
        tokens: u64,
        /// Tokens kept free for the reply.
        reserve: u64,
        /// Context length.
        context: u64,
        /// Bytes of the prompt.
        bytes: u64,
    },
    /// The server saw fewer tokens than were sent.
    #[error("suspected_truncation: about {sent} tokens sent, {seen} seen by the server")]
    SuspectedTruncation {
        /// Our count.
        sent: u64,
        /// The server's count.
        seen: u64,
    },
    /// The reply was cut at the output budget.
    #[error("output_truncated: the reply was cut at {0} tokens")]
    OutputTruncated(u32),
    /// A reply without content.
    #[error("empty_reply: {0}")]
    Empty(String),
    /// Refused for its content; the same cluster will be refused again.
    #[error("blocked: {0}")]
    Blocked(String),
    /// Quota or budget spent; until then (milliseconds UTC).
    #[error("paused: {reason}")]
    Paused {
        /// When it goes on.
        until: i64,
        /// In words.
        reason: String,
    },
    /// The server refused the schema.
    #[error("the server does not take the schema: {0}")]
    SchemaRefused(String),
    /// The server refused the field that switches reasoning.
    #[error("the server does not take the thinking field: {0}")]
    ThinkingRefused(String),
    /// The request itself is wrong: key, model name, a field.
    #[error("HTTP {status}: {message}")]
    Rejected {
        /// Status.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// The server failed.
    #[error("server error {status}: {message}")]
    Server {
        /// Status; 200 where the error came in the body.
        status: u16,
        /// What the server says.
        message: String,
    },
}

impl Failure {
    /// The counter's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut(_) => "timed_out",
            Self::Loading => "loading",
            Self::Broken(_) => "broken",
            Self::PromptTooLong { .. } => "prompt_too_long",
            Self::SuspectedTruncation { .. } => "suspected_truncation",
            Self::OutputTruncated(_) => "output_truncated",
            Self::Empty(_) => "empty_reply",
            Self::Blocked(_) => "blocked",
            Self::Paused { .. } => "paused",
            Self::SchemaRefused(_) => "schema_refused",
            Self::ThinkingRefused(_) => "thinking_refused",
            Self::Rejected { .. } => "rejected",
            Self::Server { .. } => "server_error",
        }
    }

    /// Whether the fault lies with the server as a whole, so that other clusters need not ask it.
    pub fn concerns_server(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Loading | Self::Paused { .. } => true,
            Self::Rejected { status, .. } => matches!(status, 401 | 403 | 404),
            _ => false,
        }
    }

    /// Whether the same request may succeed when it is sent again.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Server { .. })
    }
}
