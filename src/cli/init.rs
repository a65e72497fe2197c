//! `lifecycle init`, `install-hooks`, `uninstall-hooks`: what is put on the machine, and taken back.
//! Everything is shown as a diff before a byte is written.

use super::{Session, print_aside, print_json, print_raw, print_text};
use crate::error::{Error, ExitCode, Result};
use crate::install::{self, Assistant, Edit, Record, Recorded, Undone, diff, program};
use crate::report::fold_diff;
use crate::schedule::{self, Backend, Expression, Unit};
use clap::Args;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Options of `init`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle init                 show what would change, ask, then write it
  lifecycle init --dry-run       show it only
  lifecycle init --yes           for scripts
  lifecycle init --no-schedule   hooks and settings only
  lifecycle init --undo          take everything back, byte for byte")]
pub struct InitArgs {
    /// Write without asking
    #[arg(long)]
    yes: bool,
    /// Show the changes and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Take back what was written
    #[arg(long)]
    undo: bool,
    /// Install no hooks
    #[arg(long)]
    no_hooks: bool,
    /// Install no schedule
    #[arg(long)]
    no_schedule: bool,
}

/// Options of `install-hooks` and `uninstall-hooks`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle install-hooks               for every assistant that is found
  lifecycle install-hooks --codex
  lifecycle uninstall-hooks")]
pub struct HooksArgs {
    /// For Claude Code
    #[arg(long)]
    claude_code: bool,
    /// For Codex
    #[arg(long)]
    codex: bool,
    /// Show the changes and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl HooksArgs {
    fn named(&self) -> Vec<Assistant> {
        [(self.claude_code, Assistant::ClaudeCode), (self.codex, Assistant::Codex)]
            .into_iter()
            .filter_map(|(named, assistant)| named.then_some(assistant))
            .collect()
    }
}

/// Sets everything up, or takes it back.
pub fn run(session: &Session, args: &InitArgs) -> Result<ExitCode> {
    if args.undo {
        if Record::load(&session.paths)?.places.is_empty() {
            print_text("nothing is installed\n");
            return Ok(ExitCode::Success);
        }
        return undo(session, |_| true);
    }
    let mut edits = vec![install::settings_edit(&session.paths)?];
    let mut said = Vec::new();
    let left = if args.no_hooks { 0 } else { hook_edits(session, &mut edits, &mut said)? };
    let code = if left == 0 { ExitCode::Success } else { ExitCode::Refused };
    let by = if args.no_schedule { None } else { schedule_part(session, &mut edits, &mut said)? };
    let edits: Vec<Edit> = edits.into_iter().filter(Edit::changes).collect();
    if session.global.json {
        if !args.dry_run && !args.yes {
            return Err(Error::refused("nothing was written: --json asks nothing")
                .hint("add --yes, or --dry-run to see what would change"));
        }
        if !args.dry_run {
            write(session, &edits, by)?;
        }
        print_json(&json!({"said": said, "changes": changes(&edits), "written": !args.dry_run}))?;
        return Ok(code);
    }
    for line in &said {
        print_text(&format!("{line}\n"));
    }
    if edits.is_empty() {
        let all = if left == 0 { "everything" } else { "the rest" };
        print_text(&format!("nothing to change: {all} is in place\n"));
        return Ok(code);
    }
    show(&edits, by);
    if args.dry_run {
        return Ok(code);
    }
    if !args.yes && !asked("Write these changes?")? {
        print_text("nothing was written\n");
        return Ok(ExitCode::Success);
    }
    write(session, &edits, by)?;
    print_text(
        "done; `lifecycle init --undo` takes it back, `lifecycle status` shows how it runs\n",
    );
    Ok(code)
}

/// The hooks of each assistant that is found. One whose settings cannot be edited is said and left
/// alone; the others go on. Returns how many were left.
fn hook_edits(session: &Session, edits: &mut Vec<Edit>, said: &mut Vec<String>) -> Result<usize> {
    let program = program()?;
    let home = &session.paths.home;
    let mut left = 0;
    for assistant in Assistant::ALL {
        if assistant.is_here(home) {
            said.push(format!("found {}: {}", assistant.name(), assistant.folder(home).display()));
            let prompts = session.settings.brief.on_prompt;
            match install::hooks_edit(*assistant, home, &program, prompts) {
                Ok(edit) => edits.push(edit),
                Err(error) => {
                    let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                    said.push(format!("! no hooks for it: {}{hint}", error.message));
                    left += 1;
                }
            }
        }
    }
    if said.is_empty() {
        said.push("no assistant found (looked for Claude Code and Codex)".into());
    }
    Ok(left)
}

fn schedule_part(
    session: &Session,
    edits: &mut Vec<Edit>,
    said: &mut Vec<String>,
) -> Result<Option<Backend>> {
    let by = match schedule::detect(&session.settings.schedule.by) {
        Ok(by) => by,
        Err(error) if error.code == ExitCode::Missing => {
            said.push(format!("no schedule: {}", error.message));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let planned = schedule_edits(session, by)?;
    let changes = planned.iter().any(Edit::changes);
    said.push(format!("scheduled by {}: {}", by.name(), session.settings.schedule.cron));
    edits.extend(planned);
    Ok(changes.then_some(by))
}

/// The edits of a schedule for the program that runs.
pub fn schedule_edits(session: &Session, by: Backend) -> Result<Vec<Edit>> {
    let expression = Expression::parse(&session.settings.schedule.cron)?;
    let unit = Unit::new(program()?, expression, &session.paths);
    install::schedule_edits(&unit, by, &session.paths.home)
}

/// The edits as programs get them.
pub fn changes(edits: &[Edit]) -> Vec<serde_json::Value> {
    let row = |edit: &Edit| json!({"place": edit.place.to_string(), "diff": diff(edit)});
    edits.iter().map(row).collect()
}

/// Prints each edit as a diff and the commands that follow.
pub fn show(edits: &[Edit], by: Option<Backend>) {
    for edit in edits {
        let diff = fold_diff(&super::escape_terminal(&diff(edit)));
        print_text(&format!("\n{diff}"));
    }
    for command in by.map(|by| activation(by, edits)).unwrap_or_default() {
        print_text(&format!("\nthen: {}\n", command.shown()));
    }
    print_text("\n");
}

/// What makes the scheduler take notice of the written files.
fn activation(by: Backend, edits: &[Edit]) -> Vec<schedule::Command> {
    let plist = edits.iter().map(|edit| edit.place.to_string()).find(|p| p.ends_with(".plist"));
    by.activate(&plist.unwrap_or_default())
}

/// Writes the edits, each with its way back, and tells the scheduler.
pub fn write(session: &Session, edits: &[Edit], by: Option<Backend>) -> Result<()> {
    let mut record = Record::load(&session.paths)?;
    for edit in edits {
        install::write(&session.paths, &mut record, edit)?;
    }
    let Some(by) = by else { return Ok(()) };
    crate::paths::create_private(&session.paths.log())?;
    for command in activation(by, edits) {
        command.run()?;
    }
    Ok(())
}

/// Asks on the terminal; without one the answer has to come from `--yes`.
pub fn asked(question: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(
            Error::refused("nothing was written: there is no terminal to ask on").hint("add --yes")
        );
    }
    print_raw(&format!("{question} [y/N] "));
    let _ = std::io::stdout().flush();
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Error::new(ExitCode::Failure, error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Takes back what is on record and `chosen`, newest first.
pub fn undo(session: &Session, chosen: impl Fn(&Recorded) -> bool) -> Result<ExitCode> {
    let mut record = Record::load(&session.paths)?;
    let (mut rows, kept): (Vec<_>, Vec<_>) = record.places.drain(..).partition(&chosen);
    record.places = kept;
    rows.reverse();
    let schedulers = schedulers(&rows);
    for command in schedulers.iter().flat_map(|by| by.deactivate()) {
        try_command(&command);
    }
    let mut left = Vec::new();
    for row in rows {
        let done = install::undo(&row, |place, now| strip(&row, place, now, &session.paths.data))?;
        print_text(&format!("{}\n", told(&row, &done)));
        if matches!(done, Undone::Left(_)) {
            left.push(row);
        }
    }
    for command in schedulers.iter().flat_map(|by| by.after_removal()) {
        try_command(&command);
    }
    let code = if left.is_empty() { ExitCode::Success } else { ExitCode::Refused };
    record.places.extend(left);
    record.save(&session.paths)?;
    // A data folder that init made and nothing has used goes too.
    let _ = std::fs::remove_dir(session.paths.log());
    let _ = std::fs::remove_dir(&session.paths.data);
    Ok(code)
}

fn schedulers(rows: &[Recorded]) -> Vec<Backend> {
    let of = |row: &Recorded| match row.place.rsplit('.').next() {
        Some("timer") => Some(Backend::Systemd),
        Some("plist") => Some(Backend::Launchd),
        _ => None,
    };
    rows.iter().filter(|row| row.owner == "schedule").filter_map(of).collect()
}

/// A scheduler that is gone must not keep the files from being taken back.
fn try_command(command: &schedule::Command) {
    if let Err(error) = command.run() {
        print_aside(&format!("note: {}", super::escape_terminal(&error.message)));
    }
}

fn strip(row: &Recorded, place: &install::Place, now: &[u8], folder: &Path) -> Result<Vec<u8>> {
    let assistant = Assistant::ALL.iter().find(|assistant| assistant.name() == row.owner);
    match (assistant, row.owner.as_str()) {
        (Some(assistant), _) => install::strip_hooks(*assistant, place, now),
        (None, "schedule") => install::strip_schedule(place, now, folder),
        _ => Err(Error::refused("it holds your own settings by now, so it stays")),
    }
}

fn told(row: &Recorded, done: &Undone) -> String {
    match done {
        Undone::Restored if row.before.is_none() => format!("removed   {}", row.place),
        Undone::Restored => format!("restored  {}", row.place),
        Undone::TakenOut => {
            format!("cleaned   {} (it had changed since: only our part was taken out)", row.place)
        }
        Undone::Gone => format!("gone      {} (nothing of ours is there)", row.place),
        Undone::Left(why) => format!("left      {}: {why}", row.place),
    }
}

/// Installs hooks.
pub fn install_hooks(session: &Session, args: &HooksArgs) -> Result<ExitCode> {
    let home = &session.paths.home;
    let mut assistants = args.named();
    if assistants.is_empty() {
        assistants = Assistant::ALL.iter().copied().filter(|one| one.is_here(home)).collect();
    }
    if assistants.is_empty() {
        return Err(Error::input("no assistant found (looked for Claude Code and Codex)")
            .hint("name one: --claude-code or --codex"));
    }
    let program = program()?;
    let edits = assistants
        .into_iter()
        .map(|assistant| {
            install::hooks_edit(assistant, home, &program, session.settings.brief.on_prompt)
        })
        .collect::<Result<Vec<_>>>()?;
    apply(session, edits, args.dry_run, false)
}

/// Takes hooks out: byte for byte where the file is as it was written, else only our part.
pub fn uninstall_hooks(session: &Session, args: &HooksArgs) -> Result<ExitCode> {
    let named = args.named();
    let assistants = if named.is_empty() { Assistant::ALL.to_vec() } else { named };
    let is_one = |row: &Recorded| assistants.iter().any(|one| one.name() == row.owner);
    if !args.dry_run {
        let code = undo(session, is_one)?;
        if code != ExitCode::Success {
            return Ok(code);
        }
    }
    // Hooks that no record knows: installed by hand, or the data folder was deleted.
    let mut edits = Vec::new();
    for assistant in assistants {
        edits.extend(install::unhook_edits(assistant, &session.paths.home)?);
    }
    apply(session, edits, args.dry_run, true)
}

fn apply(session: &Session, edits: Vec<Edit>, dry_run: bool, removal: bool) -> Result<ExitCode> {
    let edits: Vec<Edit> = edits.into_iter().filter(Edit::changes).collect();
    if session.global.json {
        print_json(&changes(&edits))?;
    } else if edits.is_empty() {
        print_text(if removal { "no hook of ours is left\n" } else { "the hooks are in place\n" });
    } else {
        show(&edits, None);
    }
    if !dry_run && removal {
        edits.iter().try_for_each(install::put_back)?;
    } else if !dry_run {
        write(session, &edits, None)?;
    }
    Ok(ExitCode::Success)
}
