//! Rules that hold in more than one project, and so may go to the user's own files.

use super::super::Context;
use super::super::connect::link_settings;
use crate::error::Result;
use crate::store::{StoredEntry, routes};
use lifecycle_phases::connect::{LinkSettings, Profile, similarity};
use lifecycle_phases::route::known::same_fact;

struct Stated {
    project: Option<String>,
    id: String,
    text: String,
    hash: String,
    vector: Option<Vec<f32>>,
    profile: Profile,
}

/// What all projects state; empty where there is but one.
pub struct Elsewhere {
    all: Vec<Stated>,
    settings: Option<LinkSettings>,
}

impl Elsewhere {
    /// Reads it.
    pub fn load(ctx: &Context<'_>) -> Result<Self> {
        if !routes::several_projects(ctx.store.reader())? {
            return Ok(Self { all: Vec::new(), settings: None });
        }
        let settings = link_settings(ctx)?;
        let stated = routes::stated(ctx.store.reader(), &settings.descriptor)?;
        let one = |(stored, vector): (StoredEntry, Option<Vec<f32>>)| Stated {
            profile: Profile::of(&stored.entry.text),
            project: stored.entry.project,
            id: stored.entry.id.0,
            text: stored.entry.text,
            hash: stored.entry.content_hash.0,
            vector,
        };
        Ok(Self { all: stated.into_iter().map(one).collect(), settings: Some(settings) })
    }

    /// Whether an entry of another project states the same: the same text, or one above the link
    /// line that says the same of the same things.
    pub fn state(&self, stored: &StoredEntry) -> bool {
        let Some(settings) = &self.settings else { return false };
        let Some(own) = self.all.iter().find(|other| other.id == stored.entry.id.0) else {
            return false;
        };
        let others = self.all.iter().filter(|other| other.project != own.project);
        others.into_iter().any(|other| {
            other.hash == own.hash
                || (near(settings, own, other) && same_fact(&own.text, &other.text))
        })
    }
}

fn near(settings: &LinkSettings, one: &Stated, other: &Stated) -> bool {
    let (Some(a), Some(b)) = (&one.vector, &other.vector) else { return false };
    let cosine: f32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    a.len() == b.len()
        && similarity(settings.scale, cosine, &one.profile, &other.profile)
            >= settings.link_similarity
}
