//! Links follow the scale of their model.
//!
//! A stored link has its raw cosine, so that a scale measured anew ([`lifecycle model calibrate`], a
//! changed descriptor) needs no embedding: each similarity is computed again from cosine and words.
//! Links that fall below the link line go. Where the new scale reaches further down, every entry is
//! looked at again by connect, since pairs that were passed over may be linked now.
//!
//! The scale that the links were computed with is kept in the same transaction, so a run that was
//! killed between the measurement and this leaves the work to the next.
//!
//! [`lifecycle model calibrate`]: crate::cli

use super::super::{Context, Level};
use super::scale;
use crate::embed::Descriptor;
use crate::error::Result;
use crate::store::{self, Store, links};
use lifecycle_phases::Phase;
use lifecycle_phases::connect::{Compared, Scale, Templates, similarity};
use rusqlite::Transaction;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What became of the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Rescaled {
    /// Links that have another similarity now.
    pub changed: usize,
    /// Links that fell below the link line and are gone.
    pub dropped: usize,
    /// Connect looks at every entry again.
    pub reopened: bool,
}

/// Brings the links of the serving model to its scale, where they were computed with another.
pub fn run(ctx: &mut Context<'_>) -> Result<()> {
    let embedder = ctx.embedder()?;
    let line = ctx.settings.connect.link_similarity;
    let Some(done) = rescale(&mut ctx.store, embedder.descriptor(), line)? else { return Ok(()) };
    let text = format!("the scale of {} has changed: {done}", embedder.descriptor().id());
    ctx.note(Level::Info, Phase::Connect, text);
    Ok(())
}

/// Computes the links under `descriptor` again; `line` is the link line. `None`: they have its scale.
pub fn rescale(store: &mut Store, descriptor: &Descriptor, line: f32) -> Result<Option<Rescaled>> {
    let (id, new) = (descriptor.id(), scale(descriptor));
    let Some(old) = links::scale_of(store.reader(), &id)? else { return Ok(None) };
    if old == (new.mean, new.link) {
        return Ok(None);
    }
    let old = Scale { mean: old.0, link: old.1 };
    let reopened = new.cosine(line) < old.cosine(line);
    store.write(|tx| {
        let mut done = rescale_links(tx, &id, new, line)?;
        done.reopened = reopened;
        if reopened {
            links::reopen(tx, &id)?;
        }
        links::put_scale(tx, &id, new.mean, new.link)?;
        Ok(Some(done))
    })
}

fn rescale_links(tx: &Transaction<'_>, id: &str, new: Scale, line: f32) -> Result<Rescaled> {
    let mut done = Rescaled::default();
    let mut texts = Texts { templates: store::templates(tx)?, known: HashMap::new() };
    let mut after = (0, 0);
    loop {
        let some = links::some_links(tx, id, after, REMEMBERED)?;
        let Some(last) = some.last() else { return Ok(done) };
        after = (last.a, last.b);
        for link in some {
            let Some(found) = texts.similarity(tx, &link, new)? else { continue };
            if found < line {
                links::drop_link(tx, id, link.a, link.b)?;
                done.dropped += 1;
            } else if found != link.similarity {
                links::set_similarity(tx, id, link.a, link.b, found)?;
                done.changed += 1;
            }
        }
    }
}

/// Texts taken apart that are remembered at most.
const REMEMBERED: usize = 20_000;

/// Texts taken apart, by key.
struct Texts {
    templates: Templates,
    known: HashMap<i64, Option<Compared>>,
}

impl Texts {
    fn similarity(
        &mut self,
        tx: &Transaction<'_>,
        link: &links::LinkCosine,
        scale: Scale,
    ) -> Result<Option<f32>> {
        if self.known.len() > REMEMBERED {
            self.known.clear();
        }
        for seq in [link.a, link.b] {
            if let Entry::Vacant(place) = self.known.entry(seq) {
                let stored = store::entry_by_seq(tx, seq)?;
                place.insert(stored.map(|stored| Compared::new(&stored.entry, &self.templates)));
            }
        }
        let (Some(Some(a)), Some(Some(b))) = (self.known.get(&link.a), self.known.get(&link.b))
        else {
            return Ok(None);
        };
        Ok(Some(similarity(scale, link.cosine, &a.profile, &b.profile)))
    }
}

impl std::fmt::Display for Rescaled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { changed, dropped, .. } = self;
        write!(f, "{changed} links have another similarity, {dropped} fell below the link line")?;
        f.write_str(if self.reopened { "; every entry is looked at again" } else { "" })
    }
}
