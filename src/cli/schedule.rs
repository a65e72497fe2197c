//! `lifecycle schedule`: when ticks run, and the unit that calls them.

use super::{Session, init, print_json, print_text};
use crate::clock::{self, format_time};
use crate::config::Settings;
use crate::error::{ExitCode, Result};
use crate::install::{Edit, Record};
use crate::paths::Paths;
use crate::schedule::{self, Backend, Expression, due};
use crate::tick::TickLock;
use chrono::{DateTime, Local, Utc};
use clap::{Args, Subcommand};
use serde_json::json;

/// Options of `schedule`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle schedule next                 the next five times
  lifecycle schedule install              by systemd, launchd or cron
  lifecycle schedule install --by cron --dry-run
  lifecycle schedule status               the last run and the next
  lifecycle --set 'schedule.cron=0 12 * * 1-5' schedule next
  lifecycle schedule remove")]
pub struct ScheduleArgs {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Subcommand)]
enum ScheduleCommand {
    /// Have the system call `lifecycle run --if-due`
    Install {
        /// systemd, launchd or cron; by default what the system has
        #[arg(long)]
        by: Option<String>,
        /// Show the files and write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show whether a schedule is installed, the last run and the next
    Status,
    /// Show the next five times
    Next,
    /// Take the schedule away
    Remove,
}

/// Runs the subcommand.
pub fn run(session: &Session, args: &ScheduleArgs) -> Result<ExitCode> {
    match &args.command {
        ScheduleCommand::Install { by, dry_run } => install(session, by.as_deref(), *dry_run),
        ScheduleCommand::Status => status(session),
        ScheduleCommand::Next => next(session),
        ScheduleCommand::Remove => remove(session),
    }
}

fn install(session: &Session, by: Option<&str>, dry_run: bool) -> Result<ExitCode> {
    let by = schedule::detect(by.unwrap_or(&session.settings.schedule.by))?;
    let edits: Vec<Edit> =
        init::schedule_edits(session, by)?.into_iter().filter(Edit::changes).collect();
    if session.global.json {
        if !dry_run {
            init::write(session, &edits, Some(by))?;
        }
        let changes = init::changes(&edits);
        print_json(&json!({"by": by.name(), "changes": changes, "written": !dry_run}))?;
        return Ok(ExitCode::Success);
    }
    if edits.is_empty() {
        print_text(&format!("the schedule is in place ({})\n", by.name()));
        return Ok(ExitCode::Success);
    }
    init::show(&edits, Some(by));
    if !dry_run {
        init::write(session, &edits, Some(by))?;
        next(session)?;
    }
    Ok(ExitCode::Success)
}

fn remove(session: &Session) -> Result<ExitCode> {
    if installed(session)?.is_none() {
        print_text("no schedule is installed\n");
        return Ok(ExitCode::Success);
    }
    init::undo(session, |row| row.owner == "schedule")
}

/// The scheduler that the record names.
pub fn installed(session: &Session) -> Result<Option<Backend>> {
    let record = Record::load(&session.paths)?;
    Ok(record.places.iter().filter(|row| row.owner == "schedule").find_map(|row| {
        match row.place.rsplit(['.', '/']).next() {
            Some("crontab") => Some(Backend::Cron),
            Some("plist") => Some(Backend::Launchd),
            Some("timer") => Some(Backend::Systemd),
            _ => None,
        }
    }))
}

/// The moment of the session's clock.
fn now(session: &Session) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(session.clock.now()).unwrap_or_default()
}

/// The end of the last run.
fn last_run(session: &Session) -> Option<DateTime<Utc>> {
    TickLock::last_run(&session.paths).and_then(DateTime::from_timestamp_millis)
}

/// For `run --if-due`: whether a tick is due. A last run that lies in the future, because the clock
/// was put back, is marked anew as now, so that the next scheduled time counts again.
pub fn check_due(session: &Session) -> Result<bool> {
    if last_run(session).is_some_and(|last| last > now(session)) {
        TickLock::take(&session.paths)?.mark_run(session.clock.now());
    }
    is_due(session)
}

fn is_due(session: &Session) -> Result<bool> {
    is_due_at(&session.settings, &session.paths, session.clock.now())
}

/// Whether a tick is due at a moment (milliseconds UTC).
pub fn is_due_at(settings: &Settings, paths: &Paths, at: i64) -> Result<bool> {
    let expression = Expression::parse(&settings.schedule.cron)?;
    let moment = |at| DateTime::from_timestamp_millis(at);
    let last = TickLock::last_run(paths).and_then(moment);
    Ok(due(&expression, &Local, last, moment(at).unwrap_or_default()))
}

/// The next scheduled time.
pub fn next_millis(session: &Session) -> Result<Option<i64>> {
    let expression = Expression::parse(&session.settings.schedule.cron)?;
    Ok(expression.next_after(&Local, now(session)).map(|time| time.timestamp_millis()))
}

fn next(session: &Session) -> Result<ExitCode> {
    let expression = Expression::parse(&session.settings.schedule.cron)?;
    let times = expression.upcoming(&Local, now(session), 5);
    if session.global.json {
        let times: Vec<String> =
            times.iter().map(|time| format_time(time.timestamp_millis())).collect();
        print_json(&json!({"cron": expression.crontab(), "zone": zone(), "next": times}))?;
        return Ok(ExitCode::Success);
    }
    print_text(&format!("{} in {}\n", expression.crontab(), zone()));
    if times.is_empty() {
        print_text("it never comes true\n");
    }
    for time in times {
        print_text(&format!("  {}\n", shown(&time)));
    }
    Ok(ExitCode::Success)
}

fn status(session: &Session) -> Result<ExitCode> {
    let by = installed(session)?;
    let last = last_run(session);
    let due = is_due(session)?;
    let next = next_millis(session)?;
    if session.global.json {
        print_json(&json!({
            "installed": by.map(Backend::name),
            "cron": session.settings.schedule.cron,
            "zone": zone(),
            "last_run": last.map(|time| format_time(time.timestamp_millis())),
            "due": due,
            "next": next.map(format_time),
        }))?;
        return Ok(ExitCode::Success);
    }
    let line = |name: &str, value: &str| print_text(&format!("{name:14}{value}\n"));
    line("installed", by.map_or("no (`lifecycle schedule install`)", Backend::name));
    line("schedule", &format!("{} in {}", session.settings.schedule.cron, zone()));
    let last = last.map(|time| shown(&time.with_timezone(&Local)));
    line("last run", last.as_deref().unwrap_or("never"));
    line("due", if due { "yes" } else { "no" });
    line("next", &next.map_or_else(|| "never".into(), clock::shown));
    Ok(ExitCode::Success)
}

fn shown(time: &DateTime<Local>) -> String {
    clock::shown(time.timestamp_millis())
}

/// Name of the machine's zone.
fn zone() -> String {
    std::env::var("TZ")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(|| iana_time_zone::get_timezone().ok())
        .unwrap_or_else(|| "local time".into())
}
