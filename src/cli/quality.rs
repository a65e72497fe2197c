//! `lifecycle report quality`: what the replies of each model were worth.

use super::{Session, escape_terminal, print_json, print_text};
use crate::error::{ExitCode, Result};
use crate::store::{self, Quality, Store};
use clap::Args;
use serde_json::json;

/// Options of `report quality`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle report quality
  lifecycle report quality --by-day --last 200")]
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
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let lines = store::quality(store.reader(), args.last, args.by_day)?;
    if session.global.json {
        print_json(&json!({"last": args.last, "models": lines}))?;
    } else {
        print_text(&table(&lines, args.last));
    }
    Ok(ExitCode::Success)
}

/// The table for people.
pub fn table(models: &[Quality], last: u32) -> String {
    if models.is_empty() {
        return "no reply has been judged yet\n".into();
    }
    let head = format!("the last {last} judged replies, shares in %\n");
    escape_terminal(&models.iter().fold(head, |out, one| out + &lines(one)))
}

/// One model, or one of its days: how many replies, and three lines of shares in per cent. `report
/// quality` and `doctor` show the same.
pub fn lines(one: &Quality) -> String {
    let day = one.day.as_ref().map(|day| format!("  {day}")).unwrap_or_default();
    let known = |share: Option<f64>| share.map_or("-".into(), percent);
    let rows: [&[(&str, String)]; 3] = [
        &[
            ("accepted", percent(one.accepted)),
            ("invented", percent(one.invented_fact)),
            ("lossy", percent(one.lossy)),
            ("stale", percent(one.stale)),
            ("unreadable", percent(one.unreadable)),
        ],
        &[
            ("bad kind", percent(one.bad_kind)),
            ("bad attribution", percent(one.bad_attribution)),
            ("duplicate title", percent(one.duplicate_title)),
            ("no file", percent(one.no_file)),
        ],
        &[
            ("coverage", known(one.coverage)),
            ("length", known(one.length)),
            ("reasons kept", known(one.kept_reason)),
        ],
    ];
    let model = match one.purpose.as_str() {
        "merge" => one.model.clone(),
        purpose => format!("{} ({purpose})", one.model),
    };
    let mut out = format!("  {model}{day}  {} replies\n", one.replies);
    for row in rows {
        let parts: Vec<String> =
            row.iter().map(|(name, share)| format!("{name} {share}")).collect();
        out.push_str(&format!("    {}\n", parts.join(", ")));
    }
    out
}

/// A share as a whole percentage.
fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}
