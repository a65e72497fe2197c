//! Questions and what becomes of them.

use crate::model::failure::Failure;
use crate::model::ledger::Purpose;
use crate::model::wire::Usage;
use serde_json::Value;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What for.
    pub purpose: Purpose,
    /// Name of the cluster.
    pub cluster: Option<String>,
    /// Fixed rules.
    pub rules: String,
    /// What changes from call to call.
    pub data: String,
    /// Shape of the reply.
    pub schema: Option<Value>,
    /// The same for servers that want every property required.
    pub strict_schema: Option<Value>,
    /// Hash of the rules.
    pub prompt_version: String,
    /// Output budget (tokens) where it differs from the provider's.
    pub max_tokens: Option<u32>,
}

/// An answer and how it came about.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The message text.
    pub text: String,
    /// The model as the reply names it, else as configured.
    pub model: String,
    /// The user's name for the provider.
    pub provider: String,
    /// Ledger id of the request that was answered.
    pub call: i64,
    /// Ids of all requests made for it.
    pub calls: Vec<i64>,
    /// Counts and times.
    pub usage: Usage,
    /// Providers that were passed over, and why.
    pub fallbacks: Vec<String>,
    /// An earlier run had asked the same; nothing was sent now.
    pub kept: bool,
}

/// No answer, and why.
#[derive(Clone, Debug)]
pub struct Missed {
    /// The failure of the last provider that was tried.
    pub failure: Failure,
    /// Ids of all requests made for it.
    pub calls: Vec<i64>,
    /// Providers that were passed over, and why.
    pub fallbacks: Vec<String>,
}

/// No answer for this reason, nothing having been sent.
pub(super) fn missed(failure: Failure) -> Missed {
    Missed { failure, calls: Vec::new(), fallbacks: Vec::new() }
}
