//! `lifecycle prompt stats`: how large the prompts are, measured against the model's context.

mod replay;

use super::{Session, print_json, print_raw, print_text};
use crate::error::{ExitCode, Result};
use crate::model::server::{Origin, estimate};
use crate::model::{Ask, Chain, MERGE_RULES, Purpose};
use crate::store::Store;
use crate::tick::{Context, Mode, consolidate};
use clap::{Args, Subcommand};
use lifecycle_phases::consolidate::{prepare, prompt};
use serde::Serialize;

/// Share of the context above which the fixed part is too large.
const FIXED_SHARE: f64 = 0.25;
/// Share of the context that should be left.
const LEFT_SHARE: f64 = 0.5;

/// Options of `prompt`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle prompt stats
  lifecycle prompt show")]
pub struct PromptArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Bytes and tokens of the fixed part, of the mean and of the largest pending cluster
    Stats,
    /// Print the rules as they are sent
    Show,
    /// Print the kept prompts with their replies, one JSON object a line
    #[command(after_help = "Examples:
  lifecycle prompt export > prompts.jsonl  with consolidate.keep_prompts = true")]
    Export,
    /// Judge kept prompts or replies anew and print what they are worth
    Replay(replay::ReplayArgs),
}

/// A size in bytes and tokens.
#[derive(Clone, Copy, Debug, Serialize)]
struct Size {
    bytes: u64,
    tokens: u64,
}

#[derive(Debug, Serialize)]
struct Stats {
    provider: Option<String>,
    context: u64,
    context_from: &'static str,
    exact: bool,
    fixed: Size,
    mean: Option<Size>,
    largest: Option<Size>,
    clusters: usize,
    warnings: Vec<String>,
}

/// Prints the sizes, or the rules.
pub fn run(session: &Session, args: &PromptArgs) -> Result<ExitCode> {
    match &args.what {
        What::Show => {
            print_raw(&format!("{}\n", prompt::fixed(MERGE_RULES)));
            return Ok(ExitCode::Success);
        }
        What::Export => return replay::export(session),
        What::Replay(args) => return replay::run(session, args),
        What::Stats => {}
    }
    let stats = stats(session)?;
    if session.global.json {
        print_json(&stats)?;
    } else {
        print_text(&text(&stats));
    }
    Ok(ExitCode::Success)
}

fn stats(session: &Session) -> Result<Stats> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let ctx =
        Context::new(store, &session.settings, &session.paths, session.clock, Mode::Live, "prompt");
    let settings = &session.settings.consolidate;
    let mut chain = Chain::new(&settings.model.list(), settings, consolidate::world(&ctx)?)?;
    let provider = chain.providers().next().map(|provider| provider.name.clone());
    let fixed = chain.count(&ask(String::new()));
    let (context, context_from, exact) = match &fixed {
        Ok((server, count)) => (server.context, origin(server.origin), count.exact),
        Err(_) => (4096, "assumed", false),
    };
    let mut size = |data: String| {
        let bytes = (prompt::fixed(MERGE_RULES).len() + data.len()) as u64;
        let counted = chain.count(&ask(data)).map(|(_, count)| count.tokens);
        Size { bytes, tokens: counted.unwrap_or(estimate(bytes)) }
    };
    let fixed = size(String::new());
    let mut sizes: Vec<Size> = consolidate::pending(&ctx)?
        .iter()
        .map(|cluster| size(prepare(cluster).question(MERGE_RULES).data))
        .collect();
    sizes.sort_by_key(|size| size.tokens);
    let count = sizes.len().max(1) as u64;
    let sum = sizes.iter().fold((0, 0), |sum, size| (sum.0 + size.bytes, sum.1 + size.tokens));
    let mean = Size { bytes: sum.0 / count, tokens: sum.1 / count };
    let mut stats = Stats {
        provider,
        context,
        context_from,
        exact,
        fixed,
        mean: (!sizes.is_empty()).then_some(mean),
        largest: sizes.last().copied(),
        clusters: sizes.len(),
        warnings: Vec::new(),
    };
    stats.warnings = warnings(&stats);
    Ok(stats)
}

fn ask(data: String) -> Ask {
    Ask {
        purpose: Purpose::Merge,
        cluster: None,
        rules: prompt::fixed(MERGE_RULES),
        data,
        schema: None,
        strict_schema: None,
        prompt_version: prompt::version(MERGE_RULES),
        max_tokens: None,
    }
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Setting => "setting",
        Origin::Server => "server",
        Origin::Assumed => "assumed",
    }
}

#[allow(clippy::cast_precision_loss, reason = "tokens are few")]
fn share(tokens: u64, context: u64) -> f64 {
    tokens as f64 / context.max(1) as f64
}

fn warnings(stats: &Stats) -> Vec<String> {
    let mut found = Vec::new();
    if share(stats.fixed.tokens, stats.context) > FIXED_SHARE {
        found.push("the fixed part takes more than a quarter of the context".to_string());
    }
    let largest = stats.largest.map_or(stats.fixed.tokens, |size| size.tokens);
    if share(largest, stats.context) > 1.0 - LEFT_SHARE {
        found.push("the largest prompt leaves less than half of the context".to_string());
    }
    found
}

fn text(stats: &Stats) -> String {
    let counted = if stats.exact { "counted by the server" } else { "estimated" };
    let mut out = format!(
        "provider  {}\ncontext   {} tokens ({})\ntokens    {counted}\n",
        stats.provider.as_deref().unwrap_or("none"),
        stats.context,
        stats.context_from
    );
    let mut line = |name: &str, size: Size| {
        let part = share(size.tokens, stats.context) * 100.0;
        out.push_str(&format!(
            "{name:9} {} bytes, {} tokens, {part:.0} % of the context\n",
            size.bytes, size.tokens
        ));
    };
    line("fixed", stats.fixed);
    if let (Some(mean), Some(largest)) = (stats.mean, stats.largest) {
        line("mean", mean);
        line("largest", largest);
    }
    out.push_str(&format!("clusters  {} pending\n", stats.clusters));
    for warning in &stats.warnings {
        out.push_str(&format!("warning   {warning}\n"));
    }
    out
}
