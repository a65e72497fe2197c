//! Takes every line of ours out of every file, for when the product is removed.

use super::run::{finish, resume};
use super::{Context, Mode, Run, TickLock, files, route};
use crate::clock::Clock;
use crate::config::Settings;
use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::report::Report;
use crate::store::{Store, routes};
use crate::targets::{self, Format, door};
use lifecycle_phases::PlannedStep;
use std::collections::BTreeSet;
use std::path::Path;

/// Files that hold lines of ours.
pub fn files_of_ours(store: &Store) -> Result<Vec<String>> {
    let paths: BTreeSet<String> =
        routes::written(store.reader())?.into_iter().map(|row| row.path).collect();
    Ok(paths.into_iter().collect())
}

/// Withdraws every line as one tick, which `undo` takes back; then takes the block markers out of
/// the files. A line that a user wrote into a block of ours stays, as the user's.
pub fn withdraw_all(settings: &Settings, paths: &Paths, clock: Clock) -> Result<Run> {
    let _lock = TickLock::take(paths)?;
    let store = Store::open(paths, settings)?;
    let mut ctx = Context::new(store, settings, paths, clock, Mode::Live, "uninstall");
    resume(&mut ctx)?;
    let base = ctx.store.fingerprint()?;
    let touched = routes::paths(ctx.store.reader())?;
    route::reconcile::run(&mut ctx)?;
    let steps = withdrawals(&ctx)?;
    files::perform(&mut ctx, steps)?;
    for path in &touched {
        take_markers_out(Path::new(path))?;
    }
    let code = finish(&mut ctx)?;
    let plan = ctx.plan(base);
    Ok(Run { report: Report::of(&ctx)?, plan, code })
}

fn withdrawals(ctx: &Context<'_>) -> Result<Vec<PlannedStep>> {
    let mut steps = Vec::new();
    for row in routes::written(ctx.store.reader())? {
        let bytes = files::current(ctx, Path::new(&row.path))
            .map_err(|error| Error::io(Path::new(&row.path), &error))?;
        let reason = "the product is removed".to_string();
        steps.push(route::reconcile::withdraw_step(ctx, &row, &bytes.unwrap_or_default(), reason)?);
    }
    Ok(steps)
}

fn take_markers_out(path: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::io(path, &error);
    // A file that cannot be read has no line of ours any more: those were taken out before.
    let Ok(Some(before)) = door::read(path) else { return Ok(()) };
    let format = Format::of(path).unwrap_or(Format::Markdown);
    if format != Format::Markdown {
        return Ok(());
    }
    // What is left in a block by now is the user's, also a line that an entry of ours is known by.
    let after = targets::strip(format, &before, &[], &[])
        .map_err(|error| Error::refused(format!("{} {error}", path.display())))?;
    if after == before {
        return Ok(());
    }
    door::write(path, Some(&door::hash(&before)), &after).map_err(io)
}
