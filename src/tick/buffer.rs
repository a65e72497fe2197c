//! The buffer phase's glue: inbox and conversations in, steps out.
//!
//! Each conversation is one transaction: its entries, its cursor and what was counted. So a cursor
//! is never ahead of the entries, and a killed tick reads again only what it had not stored. An
//! inbox record is removed after the transaction it led to; seeing one twice changes nothing.
//! A dry run removes nothing: it works on a copy of the store.

mod gate;
mod intake;

pub use gate::Gate;

use self::intake::{Intake, Outcome as Taken, Source};
use super::{Context, Level, Mode};
use crate::capture::inbox::{self, Inbox, Note, Record, Waiting};
use crate::capture::scan;
use crate::error::Result;
use crate::progress::Progress;
use crate::redact::Counts;
use crate::store::{self, Store, TickStatus, conversations};
use lifecycle_phases::buffer::{self, Arrival, Outcome};
use lifecycle_phases::{Actor, Channel, Phase};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Runs the phase.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    let inbox = inbox::read(ctx.paths)?;
    set_aside(ctx, &inbox)?;
    take_notes(ctx, &inbox.waiting)?;
    let intake = Intake::new(ctx)?;
    let mut redacted = Counts::default();
    let (sources, settling) = sources(ctx, &inbox.waiting)?;
    let progress = Progress::of("reading conversations", sources.len());
    for source in &sources {
        match intake.read(ctx, source) {
            Ok(Taken::Missing) if source.may_still_appear(ctx) => {}
            Ok(Taken::Missing) => forget(ctx, &source.records)?,
            Ok(Taken::Read(counts)) => {
                redacted.add(&counts);
                forget(ctx, &source.records)?;
            }
            Err(error) => ctx.fail(Phase::Buffer, error)?,
        }
        progress.add(1);
    }
    intake.record_idle(ctx)?;
    if redacted.total() > 0 {
        ctx.note(Level::Info, Phase::Buffer, format!("redacted before storing: {redacted}"));
    }
    if settling > 0 {
        let text = format!("{settling} conversations are being written and wait for the next tick");
        ctx.note(Level::Waiting, Phase::Buffer, text);
    }
    Ok(())
}

/// Stores arrivals at once, outside a tick that is under way, as a journal entry of their own.
/// Everything happens in one short transaction, so a running tick is not waited for.
pub fn admit(store: &mut Store, arrivals: &[Arrival], now: i64, trigger: &str) -> Result<()> {
    store.write(|tx| {
        let outcome = decide(tx, arrivals)?;
        if !outcome.steps.is_empty() {
            let tick = store::begin_tick(tx, now, trigger, &[Phase::Buffer], None, None)?;
            for (n, mut step) in outcome.steps.into_iter().enumerate() {
                step.n = n + 1;
                store::apply(tx, &step.step, now, &step.reason)?;
                store::record_step(tx, tick, &step, "done", "")?;
            }
            store::finish_tick(tx, tick, now, TickStatus::Done, "[]")?;
        }
        conversations::put_sightings(tx, &outcome.sightings)
    })
}

fn decide(connection: &rusqlite::Connection, arrivals: &[Arrival]) -> Result<Outcome> {
    let known = conversations::known(connection, &buffer::ask(arrivals))?;
    Ok(buffer::decide(arrivals, &known))
}

fn set_aside(ctx: &mut Context<'_>, inbox: &Inbox) -> Result<()> {
    for (file, reason) in &inbox.bad {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if ctx.mode == Mode::Live {
            inbox::set_aside(ctx.paths, file)?;
        }
        let text = format!("inbox record {name} cannot be read and is kept in inbox/bad: {reason}");
        ctx.note(Level::Info, Phase::Buffer, text);
    }
    Ok(())
}

/// Admits the notes that `add` had to leave in the inbox.
fn take_notes(ctx: &mut Context<'_>, waiting: &[Waiting]) -> Result<()> {
    let notes: Vec<(&PathBuf, &Note)> = waiting
        .iter()
        .filter_map(|waiting| match &waiting.record {
            Record::Note(note) => Some((&waiting.file, note)),
            Record::Conversation(_) => None,
        })
        .collect();
    let arrivals: Vec<Arrival> = notes.iter().map(|(_, note)| arrival_of(note)).collect();
    if arrivals.is_empty() {
        return Ok(());
    }
    let Outcome { steps, sightings, .. } = decide(ctx.store.reader(), &arrivals)?;
    ctx.perform_with(steps, |tx| conversations::put_sightings(tx, &sightings))?;
    forget(ctx, &notes.iter().map(|(file, _)| (*file).clone()).collect::<Vec<_>>())
}

fn arrival_of(note: &Note) -> Arrival {
    let mut source = lifecycle_phases::Source::new(Channel::Cli, Actor::User);
    source.path.clone_from(&note.path);
    let Note { text, project, about, created, .. } = note.clone();
    Arrival { text, kind: about, project, created, source }
}

/// Removes records whose content is stored.
fn forget(ctx: &Context<'_>, records: &[PathBuf]) -> Result<()> {
    match ctx.mode {
        Mode::DryRun => Ok(()),
        Mode::Live => records.iter().try_for_each(|file| inbox::remove(file)),
    }
}

/// The conversations to read, announced ones first, and how many wait because they are being
/// written.
fn sources(ctx: &Context<'_>, waiting: &[Waiting]) -> Result<(Vec<Source>, usize)> {
    let folders = scan::folders(&ctx.settings.capture, ctx.paths);
    let mut sources: BTreeMap<PathBuf, Source> = BTreeMap::new();
    let mut order = Vec::new();
    for waiting in waiting {
        let Record::Conversation(told) = &waiting.record else { continue };
        let session = told.session.as_deref().unwrap_or("");
        let path = match &told.transcript {
            Some(path) => Some(PathBuf::from(path)),
            None => scan::by_session(&folders, told.assistant, session),
        };
        let Some(path) = path else {
            // Nothing was written yet; the scan looks where it would appear.
            forget(ctx, std::slice::from_ref(&waiting.file))?;
            continue;
        };
        let source = sources.entry(path.clone()).or_insert_with(|| {
            order.push(path.clone());
            Source::new(told.assistant, path, Channel::Hook)
        });
        source.announced(waiting.file.clone(), told);
    }
    let scanned = scan::scan(&folders, &ctx.settings.capture, &ctx.paths.data, ctx.now());
    for found in scanned.found {
        let path = found.path;
        sources.entry(path.clone()).or_insert_with(|| {
            order.push(path.clone());
            Source::new(found.assistant, path, Channel::Scan)
        });
    }
    let settling = scanned.settling;
    Ok((order.into_iter().filter_map(|path| sources.remove(&path)).collect(), settling))
}
