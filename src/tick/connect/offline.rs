//! The connect phase over texts that lie in no store: for measuring it.

use super::{NEIGHBOURS, scale};
use crate::config::Settings;
use crate::embed::{CHUNK, Embedder, Role};
use crate::error::{Error, Result};
use crate::index::{Exact, Near, Neighbours, nearest};
use lifecycle_phases::cluster::{Edge, Graph, Node};
use lifecycle_phases::connect::{
    Compared, LinkSettings, LinkTable, Newcomer, Profile, Templates, decide, learn, repeats,
    similarity,
};
use lifecycle_phases::{EntryId, Link, Step};
use std::collections::{BTreeMap, HashMap};

/// A text and its project.
#[derive(Clone, Copy, Debug)]
pub struct Note<'a> {
    /// Texts of two projects never link.
    pub project: Option<&'a str>,
    /// The text.
    pub text: &'a str,
}

/// The similarity of each pair, in a store that has learned the templates of all the texts.
pub fn similarities(
    embedder: &dyn Embedder,
    pairs: &[(&str, &str)],
    settings: &Settings,
) -> Result<Vec<f32>> {
    let texts: Vec<&str> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let vectors = vectors(embedder, &texts)?;
    let scale = scale(embedder.descriptor());
    let templates = templates_of(&vectors, &link_settings(embedder, settings))?;
    let profiles: HashMap<&str, Profile> =
        texts.iter().map(|text| (*text, Profile::with(text, &templates))).collect();
    let score = |(a, b): &(&str, &str)| {
        let cosine = crate::embed::cosine(&vectors[a], &vectors[b]);
        similarity(scale, cosine, &profiles[a], &profiles[b])
    };
    Ok(pairs.iter().map(score).collect())
}

/// The templates that these texts teach.
fn templates_of(vectors: &HashMap<&str, Vec<f32>>, settings: &LinkSettings) -> Result<Templates> {
    let mut texts: Vec<&str> = vectors.keys().copied().collect();
    texts.sort_unstable();
    let notes: Vec<Note<'_>> = texts.iter().map(|text| Note { project: None, text }).collect();
    let vectors: Vec<&[f32]> = texts.iter().map(|text| vectors[text].as_slice()).collect();
    let mut templates = Templates::default();
    links(&notes, &vectors, settings, &mut templates)?;
    Ok(templates)
}

/// The graph of `notes`, given in their order of arrival. The id of a node is its place.
pub fn graph(embedder: &dyn Embedder, notes: &[Note<'_>], settings: &Settings) -> Result<Graph> {
    let texts: Vec<&str> = notes.iter().map(|note| note.text).collect();
    let vectors = vectors(embedder, &texts)?;
    let vectors: Vec<&[f32]> = texts.iter().map(|text| vectors[text].as_slice()).collect();
    let mut templates = Templates::default();
    let links = links(notes, &vectors, &link_settings(embedder, settings), &mut templates)?;
    let nodes = notes.iter().enumerate().map(|(place, note)| {
        let form = templates.form(note.text);
        let arrival = i64::try_from(place).unwrap_or(i64::MAX);
        Node { form: form.formal.then_some(form.skeleton), ..Node::new(id(place), arrival) }
    });
    let text = |id: &EntryId| place(id).map_or("", |place| notes[place].text);
    let edge = |link: Link| Edge {
        repeats: link.differing.is_none() && repeats(text(&link.a), text(&link.b)),
        similarity: link.similarity,
        a: link.a,
        b: link.b,
    };
    Ok(Graph::new(nodes, links.into_iter().map(edge)))
}

fn link_settings(embedder: &dyn Embedder, settings: &Settings) -> LinkSettings {
    LinkSettings {
        descriptor: embedder.descriptor().id(),
        scale: scale(embedder.descriptor()),
        link_similarity: settings.connect.link_similarity,
        max_links: settings.connect.max_links,
    }
}

/// The links of `notes` whose unit vectors are given, as one tick would make them; `templates` then
/// has what they taught.
pub fn links(
    notes: &[Note<'_>],
    vectors: &[&[f32]],
    settings: &LinkSettings,
    templates: &mut Templates,
) -> Result<Vec<Link>> {
    let take_apart = |templates: &Templates| -> Vec<Compared> {
        let notes = notes.iter().enumerate();
        notes.map(|(place, note)| compared(place, note, templates)).collect()
    };
    let mut compared = take_apart(templates);
    let mut projects: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (place, note) in notes.iter().enumerate() {
        projects.entry(note.project).or_default().push(place);
    }
    let mut near = Vec::new();
    for places in projects.values() {
        near.push((places, neighbours(places, vectors, settings)?));
    }
    let learned = near.iter().fold(0, |learned, (places, near)| {
        let newcomers = newcomers(places, near, &compared);
        learned + learn(&newcomers, templates).len()
    });
    if learned > 0 {
        compared = take_apart(templates);
    }
    let mut links = BTreeMap::new();
    for (places, near) in &near {
        let newcomers = newcomers(places, near, &compared);
        for planned in decide(&newcomers, &mut LinkTable::default(), settings) {
            match planned.step {
                Step::Link { link } => drop(links.insert((link.a.clone(), link.b.clone()), link)),
                Step::Unlink { link } => drop(links.remove(&(link.a, link.b))),
                _ => {}
            }
        }
    }
    Ok(links.into_values().collect())
}

/// The nearest notes of each of `places` among them.
fn neighbours(
    places: &[usize],
    vectors: &[&[f32]],
    settings: &LinkSettings,
) -> Result<Vec<Vec<Near>>> {
    let dimensions = places.first().map_or(0, |place| vectors[*place].len());
    let mut index = Exact::new(dimensions);
    for place in places {
        let key = i64::try_from(*place).unwrap_or(i64::MAX);
        index
            .add(key, vectors[*place])
            .map_err(|error| Error::input(format!("note {place}: {error}")))?;
    }
    let queries: Vec<&[f32]> = places.iter().map(|place| vectors[*place]).collect();
    let vector = |key: i64| vectors.get(usize::try_from(key).ok()?).map(|v| v.to_vec());
    let floor = settings.scale.candidate_cosine();
    Ok(nearest(&index, &queries, NEIGHBOURS + 1, floor, vector))
}

fn newcomers<'a>(
    places: &[usize],
    near: &[Vec<Near>],
    compared: &'a [Compared],
) -> Vec<Newcomer<'a>> {
    let newcomer = |(place, near): (&usize, &Vec<Near>)| {
        let others = near.iter().filter_map(|near| {
            let other = usize::try_from(near.key).ok()?;
            Some((&compared[other], near.cosine))
        });
        Newcomer { entry: &compared[*place], neighbours: others.collect() }
    };
    places.iter().zip(near).map(newcomer).collect()
}

fn compared(place: usize, note: &Note<'_>, templates: &Templates) -> Compared {
    Compared::of(id(place), note.text, note.project, Profile::with(note.text, templates))
}

/// The id of the note at `place`.
pub fn id(place: usize) -> EntryId {
    EntryId(format!("{place:016x}"))
}

/// The place that an id of [`id`] names.
pub fn place(id: &EntryId) -> Option<usize> {
    usize::from_str_radix(id.as_str(), 16).ok()
}

fn vectors<'a>(embedder: &dyn Embedder, texts: &[&'a str]) -> Result<HashMap<&'a str, Vec<f32>>> {
    let mut distinct = texts.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut vectors = HashMap::with_capacity(distinct.len());
    for chunk in distinct.chunks(CHUNK) {
        let texts: Vec<String> = chunk.iter().map(|text| text.to_string()).collect();
        for (text, result) in chunk.iter().zip(embedder.embed(&texts, Role::Document)) {
            vectors.insert(*text, result.map_err(Error::from)?);
        }
    }
    Ok(vectors)
}
