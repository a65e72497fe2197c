//! `lifecycle report quality`: what the replies of each model were worth.

use super::{Session, escape_terminal, print_json, print_text};
use crate::error::{ExitCode, Result};
use crate::store::{self, Quality, Store};
use clap::Args;
use serde_json::json;

/// Options of `report quality`.
#[derive(Args)]
pub struct QualityArgs {
    /// One line a model and day
    #[arg(long)]
    by_day: bool,
    /// One line a model (always so; accepted for clearness)
    #[arg(long)]
    by_model: bool,
    /// How many judged replies to look at, the newest first
    #[arg(long, default_value_t = 800)]
    last: u32,
}

/// Prints the table.
pub fn run(session: &Session, args: &QualityArgs) -> Result<ExitCode> {
    let store = Store::open(&session.paths, &session.settings)?;
    let lines = store::quality(store.reader(), args.last, args.by_day)?;
    if session.global.json {
        print_json(&json!({"last": args.last, "models": lines}))?;
    } else {
        print_text(&table(&lines, args.last));
    }
    Ok(ExitCode::Success)
}

/// The table for people.
pub fn table(lines: &[Quality], last: u32) -> String {
    if lines.is_empty() {
        return "no reply has been judged yet\n".into();
    }
    let mut out = format!(
        "the last {last} judged replies, shares in %\n\
         {:28} {:>7} {:>8} {:>8} {:>5} {:>5} {:>10} {:>8} {:>11} {:>9} {:>7} {:>8} {:>6} {:>7}\n",
        "model",
        "replies",
        "accepted",
        "invented",
        "lossy",
        "stale",
        "unreadable",
        "bad kind",
        "attribution",
        "duplicate",
        "no file",
        "coverage",
        "length",
        "reasons"
    );
    for line in lines {
        let name = match &line.day {
            Some(day) => format!("{day} {}", line.model),
            None => line.model.clone(),
        };
        out.push_str(&format!(
            "{name:28} {:>7} {:>8} {:>8} {:>5} {:>5} {:>10} {:>8} {:>11} {:>9} {:>7} {:>8} {:>6} {:>7}\n",
            line.replies,
            percent(line.accepted),
            percent(line.invented_fact),
            percent(line.lossy),
            percent(line.stale),
            percent(line.unreadable),
            percent(line.bad_kind),
            percent(line.bad_attribution),
            percent(line.duplicate_title),
            percent(line.no_file),
            line.coverage.map_or("-".into(), percent),
            line.length.map_or("-".into(), percent),
            line.kept_reason.map_or("-".into(), percent),
        ));
    }
    escape_terminal(&out)
}

/// A share as a whole percentage.
pub fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}
