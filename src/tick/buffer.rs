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
use super::{Context, Door, Level, Mode};
use crate::capture::inbox::{self, Inbox, Note, Record, Waiting};
use crate::capture::scan;
use crate::error::Result;
use crate::progress::Progress;
use crate::store::{self, Store, TickStatus, conversations};
use lifecycle_phases::buffer::{self, Arrival, Outcome};
use lifecycle_phases::own::without_own;
use lifecycle_phases::{Actor, Channel, EntryId, Phase, PlannedReceipt, Receipt, recall};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs the phase.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    let mut inbox = inbox::read(ctx.paths)?;
    for closed in &inbox.closed {
        ctx.note(Level::Failed, Phase::Buffer, closed.to_string());
    }
    drop_taken(ctx, &mut inbox)?;
    set_aside(ctx, &inbox)?;
    take_notes(ctx, &inbox.waiting)?;
    take_recalls(ctx, &inbox.waiting)?;
    let intake = Intake::new(ctx)?;
    let (sources, settling) = sources(ctx, &inbox.waiting)?;
    let progress = Progress::of("reading conversations", sources.len());
    for source in &sources {
        let before = ctx.performed.len();
        match intake.read(ctx, source) {
            Ok(Taken::Missing) if source.may_still_appear(ctx) => {}
            Ok(Taken::Missing) => forget(ctx, &source.records, before)?,
            Ok(Taken::Read(counts)) => {
                ctx.doors.add(Door::Store, &counts);
                forget(ctx, &source.records, before)?;
            }
            Err(error) => ctx.fail(Phase::Buffer, error)?,
        }
        progress.add(1);
    }
    intake.record_idle(ctx)?;
    if ctx.mode == Mode::Live {
        crate::brief::hook::forget_old(ctx.paths, ctx.now(), ctx.settings.capture.scan_days);
    }
    if settling > 0 {
        let text = format!("{settling} conversations are being written and wait for the next tick");
        ctx.note(Level::Waiting, Phase::Buffer, text);
    }
    Ok(())
}

/// Stores arrivals at once, outside a tick that is under way, as a journal entry of their own.
/// Everything happens in one short transaction, so a running tick is not waited for. Returns the
/// entries that were known already.
pub fn admit(
    store: &mut Store,
    arrivals: &[Arrival],
    now: i64,
    trigger: &str,
) -> Result<Vec<EntryId>> {
    store.write(|tx| {
        let known = conversations::known(tx, &buffer::ask(arrivals))?;
        let outcome = buffer::decide(arrivals, &known);
        if !outcome.steps.is_empty() {
            let tick = store::begin_tick(tx, now, trigger, &[Phase::Buffer], None, None)?;
            for (n, mut step) in outcome.steps.into_iter().enumerate() {
                step.n = n + 1;
                store::apply(tx, &step.step, now, &step.reason)?;
                store::record_step(tx, tick, &step, "done", "")?;
            }
            store::finish_tick(tx, tick, now, TickStatus::Done, "[]")?;
        }
        conversations::put_sightings(tx, &outcome.sightings)?;
        Ok(known.into_iter().map(|known| known.id).collect())
    })
}

/// Decides on arrivals without the lines that hold one of `wordings`.
fn decide(
    connection: &rusqlite::Connection,
    arrivals: &[Arrival],
    wordings: &[String],
) -> Result<Outcome> {
    let arrivals = &without_wordings(arrivals, wordings);
    let known = conversations::known(connection, &buffer::ask(arrivals))?;
    Ok(buffer::decide(arrivals, &known))
}

/// The arrivals without what older versions of the engine said about themselves.
pub fn without_wordings(arrivals: &[Arrival], wordings: &[String]) -> Vec<Arrival> {
    let cut = |arrival: &Arrival| Arrival {
        text: without_own(&arrival.text, wordings),
        ..arrival.clone()
    };
    arrivals.iter().map(cut).collect()
}

fn set_aside(ctx: &mut Context<'_>, inbox: &Inbox) -> Result<()> {
    for (file, reason) in &inbox.bad {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let moved = if ctx.mode == Mode::Live { inbox::set_aside(file).map(drop) } else { Ok(()) };
        let (level, text) = match moved {
            Ok(()) => (Level::Info, format!("is kept in inbox/bad: {reason}")),
            Err(error) => (Level::Failed, format!("stays where it is: {}", error.message)),
        };
        let text = format!("inbox record {name} cannot be read and {text}");
        ctx.note(level, Phase::Buffer, text);
    }
    Ok(())
}

/// Admits the notes that `add` had to leave in the inbox.
fn take_notes(ctx: &mut Context<'_>, waiting: &[Waiting]) -> Result<()> {
    let notes: Vec<(&PathBuf, &Note)> = waiting
        .iter()
        .filter_map(|waiting| match &waiting.record {
            Record::Note(note) => Some((&waiting.file, note)),
            _ => None,
        })
        .collect();
    let arrivals: Vec<Arrival> = notes.iter().map(|(_, note)| arrival_of(note)).collect();
    if arrivals.is_empty() {
        return Ok(());
    }
    let before = ctx.performed.len();
    let outcome = decide(ctx.store.reader(), &arrivals, &ctx.settings.capture.own_wordings)?;
    let files: Vec<PathBuf> = notes.iter().map(|(file, _)| (*file).clone()).collect();
    let taken = taken(ctx, &files);
    perform(ctx, outcome, taken)?;
    forget(ctx, &files, before)
}

/// The receipts of records, for the transaction that stores what they tell: a run that is killed
/// before it has removed the files does not take them in twice. A plan carries them in [`forget`].
fn taken(ctx: &Context<'_>, files: &[PathBuf]) -> Vec<Receipt> {
    if ctx.mode == Mode::DryRun {
        return Vec::new();
    }
    let name = |file: &PathBuf| file.to_string_lossy().into_owned();
    files.iter().map(|file| Receipt::Inbox { file: name(file) }).collect()
}

/// Leaves out records whose content is stored, and removes their files.
fn drop_taken(ctx: &mut Context<'_>, inbox: &mut Inbox) -> Result<()> {
    let mut waiting = Vec::new();
    for one in std::mem::take(&mut inbox.waiting) {
        if !store::is_taken(ctx.store.reader(), &one.file.to_string_lossy())? {
            waiting.push(one);
        } else if ctx.mode == Mode::Live {
            remove(ctx, &one.file);
        }
    }
    inbox.waiting = waiting;
    Ok(())
}

/// Removes a record whose content is stored. One that stays is told and not taken in again: what it
/// led to is noted in the store.
fn remove(ctx: &mut Context<'_>, file: &Path) {
    if let Err(error) = inbox::remove(file) {
        let text = format!("a record that was taken in cannot be removed: {}", error.message);
        ctx.note(Level::Failed, Phase::Buffer, text);
    }
}

/// Counts what briefings showed.
fn take_recalls(ctx: &mut Context<'_>, waiting: &[Waiting]) -> Result<()> {
    let mut files = Vec::new();
    let mut recalled = Vec::new();
    for one in waiting {
        if let Record::Recalled(shown) = &one.record {
            files.push(one.file.clone());
            recalled.extend(shown.entries.iter().cloned());
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    let brief = &ctx.settings.brief;
    let limits = recall::Limits { least_score: brief.least_score, promote: brief.promote_recalls };
    let known = conversations::known(ctx.store.reader(), &recall::ask(&recalled))?;
    let before = ctx.performed.len();
    let taken = taken(ctx, &files);
    perform(ctx, recall::decide(&recalled, &known, limits), taken)?;
    forget(ctx, &files, before)
}

/// Performs what was decided and notes who said it, with `more` in the same transaction.
fn perform(ctx: &mut Context<'_>, outcome: Outcome, more: Vec<Receipt>) -> Result<()> {
    let mut by_entry: BTreeMap<EntryId, Vec<buffer::Sighting>> = BTreeMap::new();
    for sighting in outcome.sightings {
        by_entry.entry(sighting.entry.clone()).or_default().push(sighting);
    }
    let sightings = by_entry.into_values().map(|sightings| Receipt::Sightings { sightings });
    ctx.perform_noting(outcome.steps, sightings.chain(more).collect())
}

fn arrival_of(note: &Note) -> Arrival {
    let mut source = lifecycle_phases::Source::new(Channel::Cli, Actor::User);
    source.path.clone_from(&note.path);
    let Note { text, project, about, created, .. } = note.clone();
    Arrival { text, kind: about, project, created, source }
}

/// Removes records whose content is stored; a plan takes them along, with the steps performed since
/// `before`.
fn forget(ctx: &mut Context<'_>, records: &[PathBuf], before: usize) -> Result<()> {
    if ctx.mode == Mode::Live {
        records.iter().for_each(|file| remove(ctx, file));
        return Ok(());
    }
    let steps: Vec<usize> = ctx.performed[before..].iter().map(|step| step.n).collect();
    for file in records {
        let file = file.to_string_lossy().into_owned();
        let receipt = Receipt::Inbox { file };
        ctx.receipts.push(PlannedReceipt { steps: steps.clone(), receipt });
    }
    Ok(())
}

/// The conversations to read, announced ones first, and how many wait because they are being
/// written.
fn sources(ctx: &mut Context<'_>, waiting: &[Waiting]) -> Result<(Vec<Source>, usize)> {
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
            let before = ctx.performed.len();
            forget(ctx, std::slice::from_ref(&waiting.file), before)?;
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
