//! `forget`, `restore`, `protect`: a person's word on single entries. Each is a small tick of its
//! own, so it stands in the history and can be undone.

use super::{Session, run};
use crate::error::{Error, ExitCode, Result};
use crate::store::{self, Store, StoredEntry};
use crate::tick;
use clap::Args;
use lifecycle_phases::{Phase, PlannedStep, State, Step};

/// Ids of entries.
#[derive(Args)]
pub struct IdArgs {
    /// Ids of entries, or their starts
    #[arg(required = true)]
    ids: Vec<String>,
}

/// Options of `protect`.
#[derive(Args)]
pub struct ProtectArgs {
    #[command(flatten)]
    ids: IdArgs,
    /// Take the protection back
    #[arg(long)]
    off: bool,
}

/// Expires entries by hand: they leave search, clusters and config files, and can be restored.
pub fn forget(session: &Session, args: &IdArgs) -> Result<ExitCode> {
    each(session, args, "forget", |stored| {
        let entry = &stored.entry;
        if !entry.state.is_active() {
            return Err(Error::refused(format!("entry {} is {} already", entry.id, entry.state)));
        }
        if entry.protected {
            return Err(Error::refused(format!("entry {} is protected", entry.id)).hint(format!(
                "`lifecycle protect --off {}` takes the protection back",
                entry.id
            )));
        }
        Ok(Step::SetState { entry: entry.id.clone(), from: entry.state, to: State::Expired })
    })
}

/// Brings expired entries back.
pub fn restore(session: &Session, args: &IdArgs) -> Result<ExitCode> {
    each(session, args, "restore", |stored| {
        let entry = &stored.entry;
        if entry.state != State::Expired {
            return Err(Error::refused(format!(
                "entry {} is {}, not expired",
                entry.id, entry.state
            ))
            .hint("a merged entry comes back with `lifecycle undo TICK`; see `lifecycle show`"));
        }
        let to = if entry.generated_by.is_some() { State::Proven } else { State::Buffered };
        Ok(Step::SetState { entry: entry.id.clone(), from: State::Expired, to })
    })
}

/// Protects entries from ageing, or takes that back.
pub fn protect(session: &Session, args: &ProtectArgs) -> Result<ExitCode> {
    each(session, &args.ids, "protect", |stored| {
        let entry = &stored.entry;
        Ok(Step::Protect { entry: entry.id.clone(), from: entry.protected, to: !args.off })
    })
}

fn each(
    session: &Session,
    args: &IdArgs,
    trigger: &'static str,
    step_of: impl Fn(&StoredEntry) -> Result<Step>,
) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let mut steps = Vec::new();
    for id in &args.ids {
        let stored = store::resolve(store.reader(), id)?;
        steps.push(PlannedStep::new(Phase::Age, step_of(&stored)?, "by hand"));
    }
    drop(store);
    let run = tick::by_hand(&session.settings, &session.paths, session.clock, trigger, steps)?;
    run::show(session, &run)
}
