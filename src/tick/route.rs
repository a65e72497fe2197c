//! The route phase's glue: finds the files of each project, lets the phase decide, writes.
//!
//! Order: what users did to our lines is taken in first, then withdrawn knowledge leaves, then
//! proven entries that no file states yet are placed. A project whose files cannot be used is named
//! and waits; the others go on.

mod brake;
mod budget;
mod gather;
mod known;
pub mod offline;
mod place;
pub(super) mod reconcile;
mod wide;

use super::{Context, Level, Mode};
use crate::error::Result;
use crate::store::{self, StoredEntry, routes};
use crate::targets::{Confinement, Format, Moved, Targets, expand, item_line, value_line};
use lifecycle_phases::route::brief;
use lifecycle_phases::{Phase, PlannedStep};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs the phase.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    if !ctx.settings.route.enabled && ctx.mode == Mode::Live {
        let waiting = routes::pending(ctx.store.reader())?.len();
        if waiting > 0 {
            let text = format!("routing is off; {waiting} proven entries wait");
            ctx.note(Level::Waiting, Phase::Route, text);
        }
        return Ok(());
    }
    let targets = Targets::load(&ctx.settings.route.targets, &Moved::from_env())?;
    reconcile::run(ctx)?;
    let untrusted = routes::untrusted(ctx.store.reader())?;
    if untrusted > 0 {
        let text = format!(
            "{untrusted} proven entries are written nowhere: only a tool's output or a page says them"
        );
        ctx.note(Level::Info, Phase::Route, text);
    }
    for (project, entries) in by_project(routes::pending(ctx.store.reader())?) {
        place::run(ctx, &targets, project.as_deref(), entries)?;
    }
    Ok(())
}

/// Entries of one project together, those of no project last.
fn by_project(entries: Vec<StoredEntry>) -> Vec<(Option<String>, Vec<StoredEntry>)> {
    let mut groups: BTreeMap<Option<String>, Vec<StoredEntry>> = BTreeMap::new();
    for stored in entries {
        groups.entry(stored.entry.project.clone()).or_default().push(stored);
    }
    let mut ordered: Vec<_> = groups.into_iter().collect();
    ordered.sort_by_key(|(project, _)| project.is_none());
    ordered
}

/// Where files of `project` (of the user, with `None`) may be written.
fn confinement(ctx: &Context<'_>, targets: &Targets, project: Option<&str>) -> Confinement {
    let home = &ctx.paths.home;
    let mut roots: Vec<PathBuf> =
        ctx.settings.route.roots.iter().filter_map(|root| expand(root, home)).collect();
    match project {
        Some(root) => roots.push(PathBuf::from(root)),
        None => roots.extend(user_roots(targets, home)),
    }
    Confinement::new(roots, &ctx.settings.route.deny)
}

/// Whether `steps` may write to `path`. A plan can come from a file, so its paths are held to the
/// same bounds as those that the phase finds: below the project of the entry, a folder of the
/// user's targets or `route.roots`, or a file with lines of ours. The outer error is the store's.
pub(super) fn confined(
    ctx: &Context<'_>,
    path: &Path,
    steps: &[PlannedStep],
) -> Result<std::result::Result<(), String>> {
    let targets = Targets::load(&ctx.settings.route.targets, &Moved::from_env())?;
    let home = &ctx.paths.home;
    let mut roots: Vec<PathBuf> =
        ctx.settings.route.roots.iter().filter_map(|root| expand(root, home)).collect();
    roots.extend(user_roots(&targets, home));
    for step in steps {
        let Some(id) = step.step.entry() else { continue };
        let stored = store::entry_by_id(ctx.store.reader(), id)?;
        roots.extend(stored.and_then(|stored| stored.entry.project).map(PathBuf::from));
    }
    if !routes::of_path(ctx.store.reader(), &path.to_string_lossy())?.is_empty() {
        roots.extend(path.parent().map(Path::to_path_buf));
    }
    let confinement = Confinement::new(roots, &ctx.settings.route.deny);
    Ok(match confinement.resolve(path) {
        Ok(resolved) if resolved == path => Ok(()),
        Ok(resolved) => Err(format!("a link in its path leads to {}", resolved.display())),
        Err(denied) => Err(denied.to_string()),
    })
}

/// The folders of the user's own targets.
fn user_roots(targets: &Targets, home: &Path) -> Vec<PathBuf> {
    let patterns = targets.0.iter().flat_map(|spec| &spec.paths);
    patterns
        .filter_map(|pattern| expand(pattern, home))
        .filter_map(|path| fixed_folder(&path))
        .collect()
}

fn fixed_folder(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let fixed: PathBuf = folder
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']))
        .collect();
    Some(fixed)
}

/// An entry's text cut for a note.
fn short(text: &str) -> String {
    let mut cut: String = text.chars().take(60).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// How strong an entry is: how many it was made from, and how often it was met again.
fn strength(ctx: &Context<'_>, stored: &StoredEntry) -> Result<u64> {
    let sources: i64 = ctx.store.reader().query_row(
        "SELECT count(*) FROM provenance WHERE proven = ?1 AND active",
        [stored.seq],
        |row| row.get(0),
    )?;
    Ok(sources.unsigned_abs() + u64::from(stored.entry.recalls))
}

/// The line that stands for an entry in a file of this format.
fn line_for(format: Format, text: &str) -> String {
    match format {
        Format::Markdown => item_line(&brief(text)),
        _ => value_line(&brief(text)),
    }
}
