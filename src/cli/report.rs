//! `lifecycle report` and `lifecycle history`: the past.

use super::format::{self, Format};
use super::quality::{self, QualityArgs};
use super::{Session, print_json, print_text};
use crate::clock::{format_time, shown};
use crate::error::{Error, ExitCode, Result};
use crate::report::Report;
use crate::store::{self, Store, TickRecord};
use clap::{Args, Subcommand};
use serde_json::json;

/// Options of `report`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  lifecycle report                          the newest tick
  lifecycle report 12 --format markdown
  lifecycle report --format html > tick.html
  lifecycle report quality --last 800")]
pub struct ReportArgs {
    /// Number of the tick; the newest by default
    tick: Option<i64>,
    /// Form of the report
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// What the replies of each model were worth
    Quality(QualityArgs),
}

/// Options of `history`.
#[derive(Args)]
pub struct HistoryArgs {
    /// How many lines
    #[arg(long, default_value_t = 20)]
    limit: u32,
    /// One line for each command by hand, too, instead of one for several in a row
    #[arg(long)]
    all: bool,
}

/// Prints the report of a tick.
pub fn run(session: &Session, args: &ReportArgs) -> Result<ExitCode> {
    if let Some(What::Quality(args)) = &args.what {
        return quality::run(session, args);
    }
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let id = match args.tick {
        Some(id) => id,
        None => newest(&store)?,
    };
    let mut report = Report::of_tick(store.reader(), id)?;
    if args.format == Format::Html {
        report = report.with_picture(store.reader(), &session.settings)?;
    }
    format::show(session, &report, args.format, None)?;
    Ok(ExitCode::Success)
}

fn newest(store: &Store) -> Result<i64> {
    let ticks = store::ticks(store.reader(), 1)?;
    ticks.first().map(|tick| tick.id).ok_or_else(|| {
        Error::input("no tick has run yet").hint("`lifecycle run` runs one, `--dry-run` shows one")
    })
}

/// Records that are read for each line of the history.
const FOLDED: u32 = 100;

/// Prints the newest ticks, one a line; commands by hand in a row are one line.
pub fn history(session: &Session, args: &HistoryArgs) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    // Several records make one line; programs get each.
    let folds = !args.all && !session.global.json;
    let most = if folds { args.limit.saturating_mul(FOLDED) } else { args.limit };
    let ticks = store::ticks(store.reader(), most)?;
    if session.global.json {
        let rows: Vec<_> = ticks
            .iter()
            .map(|tick| {
                let mut value = json!(tick);
                value["started"] = json!(format_time(tick.started));
                value["finished"] = json!(tick.finished.map(format_time));
                value["notes"] = serde_json::from_str(&tick.notes).unwrap_or_default();
                value
            })
            .collect();
        print_json(&rows)?;
    } else {
        let mut rest = ticks.as_slice();
        let mut lines = 0;
        while let Some(newest) = rest.first().filter(|_| lines < args.limit) {
            let is_like = |tick: &&TickRecord| !args.all && is_like(tick, newest);
            let count = rest.iter().take_while(is_like).count().max(1);
            print_text(&history_line(&rest[..count]));
            rest = &rest[count..];
            lines += 1;
        }
    }
    Ok(ExitCode::Success)
}

/// Whether a tick goes on one line with another: the same command by hand, and the same came of it.
fn is_like(tick: &TickRecord, other: &TickRecord) -> bool {
    is_by_hand(tick) && tick.trigger == other.trigger && tick.status == other.status
}

/// Whether a command about single entries made the record, and no tick with its phases.
fn is_by_hand(tick: &TickRecord) -> bool {
    let of_phases = ["run", "schedule", "hook", "apply", "plan", "review", "observe"];
    tick.undoes.is_none() && !of_phases.contains(&tick.trigger.as_str())
}

/// One line for records in a row, newest first.
fn history_line(ticks: &[TickRecord]) -> String {
    let (Some(newest), Some(oldest)) = (ticks.first(), ticks.last()) else { return String::new() };
    let undoes = newest.undoes.map(|id| format!(" of tick {id}")).unwrap_or_default();
    let by_hand = match ticks.len() {
        1 if is_by_hand(newest) => ", by hand".to_string(),
        1 => String::new(),
        count => format!(", by hand: {count} ({}–{})", oldest.id, newest.id),
    };
    format!(
        "{:>4}  {}  {:10}  {}{undoes}{by_hand}\n",
        newest.id,
        shown(newest.started),
        newest.status.as_str(),
        newest.trigger
    )
}
