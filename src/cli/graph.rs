//! `lifecycle graph`: entries, links and clusters as dot, JSON or SVG.

mod dot;
mod svg;

use super::Session;
use super::output::{one_line, print_json, print_raw};
use crate::error::{ExitCode, Result};
use crate::store::Store;
use crate::tick::connect::graph::{Components, cluster_settings, load_graph};
use crate::tick::serving;
use clap::{Args, ValueEnum};
use lifecycle_phases::cluster::{Grouping, Standing, group, standing};
use lifecycle_phases::{EntryId, Link};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Options of `graph`.
#[derive(Args)]
pub struct GraphArgs {
    /// Only this project (its root folder)
    #[arg(long)]
    project: Option<String>,
    /// How to draw it
    #[arg(long, value_enum, default_value_t = Format::Dot)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Dot,
    Json,
    Svg,
}

/// What is drawn.
struct Picture {
    entries: Vec<Item>,
    links: Vec<Link>,
    grouping: Grouping,
}

/// An entry as it is drawn.
struct Item {
    id: EntryId,
    /// Start of its text, safe to show.
    label: String,
    state: &'static str,
    project: Option<String>,
}

/// Prints the graph of the active entries.
pub fn run(session: &Session, args: &GraphArgs) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let embedder = serving::open(store.reader(), &session.settings, &session.paths)?;
    let descriptor = embedder.descriptor().id();
    let project = args.project.as_deref().map(crate::search::project_name);
    let loaded = load_graph(store.reader(), &descriptor, project.as_deref())?;
    let grouping = group(&loaded.graph, cluster_settings(&session.settings));
    let picture = Picture::new(loaded, grouping);
    match args.format {
        _ if session.global.json => print_json(&picture.json())?,
        Format::Json => print_json(&picture.json())?,
        Format::Dot => print_raw(&dot::draw(&picture)),
        Format::Svg => print_raw(&svg::draw(&picture)),
    }
    Ok(ExitCode::Success)
}

impl Picture {
    fn new(loaded: Components, grouping: Grouping) -> Self {
        let entries = loaded.entries.into_iter().map(|stored| Item {
            label: one_line(&stored.entry.text, 40),
            state: stored.entry.state.as_str(),
            project: stored.entry.project,
            id: stored.entry.id,
        });
        Self { entries: entries.collect(), links: loaded.links, grouping }
    }

    /// The groups that are drawn together, in order: clusters, noise, waiting, isolated.
    fn groups(&self) -> Vec<(&'static str, &[EntryId])> {
        let grouping = &self.grouping;
        let clusters = grouping.clusters.iter().map(|c| ("cluster", c.members.as_slice()));
        let noise = grouping.noise.iter().map(|n| ("noise", n.members.as_slice()));
        let waiting = grouping.waiting.iter().map(|w| ("waiting", w.members.as_slice()));
        let isolated =
            (!grouping.isolated.is_empty()).then_some(("isolated", grouping.isolated.as_slice()));
        clusters.chain(noise).chain(waiting).chain(isolated).collect()
    }

    fn items(&self) -> BTreeMap<&EntryId, &Item> {
        self.entries.iter().map(|item| (&item.id, item)).collect()
    }

    fn json(&self) -> Value {
        let entry = |item: &Item| {
            let (place, reason) = self.place(&item.id);
            json!({
                "id": item.id, "label": item.label, "state": item.state,
                "project": item.project, "standing": place, "reason": reason,
            })
        };
        json!({
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(),
            "links": self.links,
            "clusters": self.grouping.clusters,
            "noise": self.grouping.noise,
            "waiting": self.grouping.waiting,
            "isolated": self.grouping.isolated,
        })
    }

    fn place(&self, id: &EntryId) -> (&'static str, String) {
        match standing(&self.grouping, id) {
            Some(Standing::Clustered(cluster)) => (
                "cluster",
                format!("{} entries, cohesion {:.2}", cluster.members.len(), cluster.cohesion),
            ),
            Some(Standing::Noise(noise)) => {
                ("noise", format!("{} copies of one form", noise.members.len()))
            }
            Some(Standing::Waiting(group)) => ("waiting", group.reason.clone()),
            Some(Standing::Isolated) | None => ("isolated", "no link".into()),
        }
    }
}
