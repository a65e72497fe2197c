//! `lifecycle report` and `lifecycle history`: the past.

use super::format::{self, Format};
use super::quality::{self, QualityArgs};
use super::{Session, print_json, print_text};
use crate::clock::{format_time, shown};
use crate::error::{Error, ExitCode, Result};
use crate::report::Report;
use crate::store::{self, Store};
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
    /// How many ticks
    #[arg(long, default_value_t = 20)]
    limit: u32,
}

/// Prints the report of a tick.
pub fn run(session: &Session, args: &ReportArgs) -> Result<ExitCode> {
    if let Some(What::Quality(args)) = &args.what {
        return quality::run(session, args);
    }
    let store = Store::open(&session.paths, &session.settings)?;
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

/// Prints the newest ticks, one a line.
pub fn history(session: &Session, args: &HistoryArgs) -> Result<ExitCode> {
    let store = Store::open(&session.paths, &session.settings)?;
    let ticks = store::ticks(store.reader(), args.limit)?;
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
        for tick in &ticks {
            let undoes = tick.undoes.map(|id| format!(" of tick {id}")).unwrap_or_default();
            print_text(&format!(
                "{:>4}  {}  {:10}  {}{undoes}\n",
                tick.id,
                shown(tick.started),
                tick.status.as_str(),
                tick.trigger
            ));
        }
    }
    Ok(ExitCode::Success)
}
