//! Glue of the connect phase: pending entries get vectors, then links.
//!
//! Entries are taken in chunks, in order of arrival. A chunk is embedded outside any transaction
//! ([`vectors`]), added to the index of its project ([`neighbours`]), compared with its neighbours
//! by the pure phase, and performed at once: its vectors and links are either both stored or both
//! computed again. What serves other phases (graphs and components) stands in [`graph`].

pub mod graph;
mod neighbours;
pub mod offline;
pub mod rescale;
mod vectors;

use super::{Context, Level, Mode, serving};
use crate::documents;
use crate::error::Result;
use crate::progress::Progress;
use crate::store::{self, StoredEntry, links, vectors as stored};
use lifecycle_phases::connect::form::Form;
use lifecycle_phases::connect::{
    Compared, LinkSettings, LinkTable, Newcomer, Scale, Templates, decide, learn, reconsider,
    similarity,
};
use lifecycle_phases::{Phase, PlannedStep, Step};
use neighbours::Indexes;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use vectors::Embedded;

/// Entries taken at a time.
const CHUNK: usize = crate::embed::CHUNK;

/// Neighbours that an entry is compared with.
const NEIGHBOURS: usize = 64;

/// Embeds and links what is pending.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    rescale::run(ctx)?;
    let descriptor = ctx.embedder()?.descriptor().id();
    let keep = ctx.mode == Mode::Live;
    let limit = ctx.settings.connect.exact_numbers;
    let mut indexes = Indexes::new(&descriptor, ctx.paths.index(), keep, limit);
    let mut seen = Seen { templates: store::templates(ctx.store.reader())?, ..Seen::default() };
    let mut after = 0;
    let total = stored::count_pending(ctx.store.reader(), &descriptor)?;
    let progress = Progress::of("embedding, linking", total);
    loop {
        let chunk = stored::pending(ctx.store.reader(), &descriptor, after, CHUNK)?;
        let Some(last) = chunk.last() else { break };
        after = last.seq;
        let size = chunk.len();
        let embedded = vectors::embed(ctx, &descriptor, chunk)?;
        connect(ctx, &mut indexes, &mut seen, &embedded.entries)?;
        progress.add(size);
        if embedded.stopped {
            break;
        }
    }
    for warning in indexes.warnings {
        ctx.note(Level::Info, Phase::Connect, warning);
    }
    note_parked(ctx, &descriptor)?;
    embed_documents(ctx)?;
    serving::refill(ctx)
}

/// Pieces of documents that were added while no model could be used. They take no part in links, so
/// this is no step; a dry run leaves it.
fn embed_documents(ctx: &mut Context<'_>) -> Result<()> {
    if ctx.mode == Mode::DryRun {
        return Ok(());
    }
    let embedder = ctx.embedder()?;
    if let Err(error) = documents::embed_missing(&mut ctx.store, &*embedder) {
        let text = format!("documents wait to be embedded: {}", error.message);
        ctx.note(Level::Waiting, Phase::Connect, text);
    }
    Ok(())
}

/// The scale and limits of the running settings.
pub fn link_settings(ctx: &Context<'_>) -> Result<LinkSettings> {
    let embedder = ctx.embedder()?;
    let descriptor = embedder.descriptor();
    Ok(LinkSettings {
        descriptor: descriptor.id(),
        scale: scale(descriptor),
        link_similarity: ctx.settings.connect.link_similarity,
        max_links: ctx.settings.connect.max_links,
    })
}

/// The scale of a descriptor.
pub fn scale(descriptor: &crate::embed::Descriptor) -> Scale {
    Scale { mean: descriptor.calibration.mean, link: descriptor.calibration.link }
}

fn connect(
    ctx: &mut Context<'_>,
    indexes: &mut Indexes,
    seen: &mut Seen,
    entries: &[Embedded],
) -> Result<()> {
    let mut projects: BTreeMap<Option<&str>, Vec<&Embedded>> = BTreeMap::new();
    for entry in entries {
        projects.entry(entry.stored.entry.project.as_deref()).or_default().push(entry);
    }
    let settings = link_settings(ctx)?;
    let descriptor = settings.descriptor.clone();
    let mut steps: Vec<PlannedStep> = entries.iter().map(|entry| entry.step(&descriptor)).collect();
    let mut taught = Taught::default();
    for (project, newcomers) in projects {
        let connection = ctx.store.reader();
        let dimensions = newcomers.first().map_or(0, |new| new.vector.len());
        let index = indexes.of(connection, project, dimensions)?;
        let found = neighbours::near(connection, index, &newcomers, &settings, NEIGHBOURS)?;
        let below = neighbours::nearest_below(index, &newcomers, &found);
        steps.extend(link(ctx, &newcomers, found, &settings, seen, &mut taught)?);
        for cosine in below {
            ctx.nearest.add(settings.scale.similarity(cosine, 0.0));
        }
    }
    let keys: Vec<i64> = entries.iter().map(|entry| entry.stored.seq).collect();
    let has_scale = links::scale_of(ctx.store.reader(), &descriptor)?.is_some();
    ctx.perform_with(steps, |tx| {
        if !has_scale && !keys.is_empty() {
            links::put_scale(tx, &descriptor, settings.scale.mean, settings.scale.link)?;
        }
        keys.iter().try_for_each(|key| links::retire_other_links(tx, &descriptor, *key))?;
        taught.keep(tx)
    })
}

/// What a chunk taught about forms.
#[derive(Default)]
struct Taught {
    templates: Vec<String>,
    /// The form of each entry, by its key.
    forms: BTreeMap<i64, Form>,
}

impl Taught {
    fn keep(&self, tx: &rusqlite::Transaction<'_>) -> Result<()> {
        self.templates.iter().try_for_each(|text| store::put_template(tx, text))?;
        self.forms.iter().try_for_each(|(seq, form)| {
            let named = form.formal.then_some((form.skeleton.as_str(), form.learned));
            store::set_form(tx, *seq, named)
        })
    }
}

/// What a tick has looked at already, so that each entry is taken apart and each link read once.
#[derive(Default)]
struct Seen {
    compared: BTreeMap<i64, Compared>,
    table: LinkTable,
    templates: Templates,
}

impl Seen {
    /// Takes `entries` apart and reads their links, where that was not done yet.
    fn look_at<'a>(
        &mut self,
        connection: &rusqlite::Connection,
        descriptor: &str,
        entries: impl Iterator<Item = &'a StoredEntry>,
    ) -> Result<()> {
        for entry in entries {
            if let Entry::Vacant(place) = self.compared.entry(entry.seq) {
                place.insert(Compared::new(&entry.entry, &self.templates));
                let known = links::links_of(connection, descriptor, entry.seq)?;
                self.table.extend(known.into_iter().map(|known| known.link));
            }
        }
        Ok(())
    }

    fn form(&self, seq: i64) -> Form {
        self.compared[&seq].profile.form.clone()
    }
}

/// Entries that are remembered at most.
const REMEMBERED: usize = 50_000;

/// The neighbours of one newcomer: entries and cosines.
type Found = Vec<(StoredEntry, f32)>;

fn link(
    ctx: &mut Context<'_>,
    newcomers: &[&Embedded],
    found: Vec<Found>,
    settings: &LinkSettings,
    seen: &mut Seen,
    taught: &mut Taught,
) -> Result<Vec<PlannedStep>> {
    if seen.compared.len() > REMEMBERED {
        *seen = Seen { templates: std::mem::take(&mut seen.templates), ..Seen::default() };
    }
    let all = || {
        let near = found.iter().flatten().map(|(entry, _)| entry);
        newcomers.iter().map(|new| &new.stored).chain(near)
    };
    seen.look_at(ctx.store.reader(), &settings.descriptor, all())?;
    let mut templates = seen.templates.clone();
    let learned = learn(&newcomers_of(&seen.compared, newcomers, &found), &mut templates);
    let mut steps = Vec::new();
    if !learned.is_empty() {
        seen.templates = templates;
        seen.compared.clear();
        seen.look_at(ctx.store.reader(), &settings.descriptor, all())?;
        let entries: Vec<&Compared> = seen.compared.values().collect();
        steps = reconsider(&entries, &mut seen.table, settings);
        taught.templates.extend(learned);
        taught.forms.extend(all().map(|entry| (entry.seq, seen.form(entry.seq))));
    }
    taught.forms.extend(newcomers.iter().map(|new| (new.stored.seq, seen.form(new.stored.seq))));
    let Seen { compared, table, .. } = seen;
    let newcomers = newcomers_of(compared, newcomers, &found);
    for newcomer in &newcomers {
        if let Some((other, cosine)) = newcomer.neighbours.first() {
            let (own, other) = (&newcomer.entry.profile, &other.profile);
            ctx.nearest.add(similarity(settings.scale, *cosine, own, other));
        }
    }
    steps.extend(decide(&newcomers, table, settings));
    Ok(steps)
}

fn newcomers_of<'a>(
    compared: &'a BTreeMap<i64, Compared>,
    newcomers: &[&Embedded],
    found: &[Found],
) -> Vec<Newcomer<'a>> {
    let newcomer = |(new, found): (&&Embedded, &Found)| Newcomer {
        entry: &compared[&new.stored.seq],
        neighbours: found.iter().map(|(entry, cosine)| (&compared[&entry.seq], *cosine)).collect(),
    };
    newcomers.iter().zip(found).map(newcomer).collect()
}

impl Embedded {
    fn step(&self, descriptor: &str) -> PlannedStep {
        let step = Step::Embed {
            entry: self.stored.entry.id.clone(),
            descriptor: descriptor.to_string(),
            // A vector that is stored for this entry stays where it is in the order of writing, which
            // the index files go by.
            vector: if self.own { Vec::new() } else { self.vector.clone() },
        };
        let reason = if self.known { "its vector was known" } else { "embedded" };
        PlannedStep::new(Phase::Connect, step, reason)
    }
}

fn note_parked(ctx: &mut Context<'_>, descriptor: &str) -> Result<()> {
    let parked = stored::parked(ctx.store.reader(), descriptor)?;
    if let Some(first) = parked.first() {
        let text = format!(
            "{} parked: embedding failed {} times and is not tried again under {descriptor}; \
             first {}: {}",
            entries(parked.len()),
            ctx.settings.embed.max_attempts,
            first.id.get(..8).unwrap_or(&first.id),
            first.reason
        );
        ctx.note(Level::Waiting, Phase::Connect, text);
    }
    Ok(())
}

fn entries(count: usize) -> String {
    if count == 1 { "1 entry is".into() } else { format!("{count} entries are") }
}
