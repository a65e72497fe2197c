//! Which pairs are linked.
//!
//! A newcomer is compared with its nearest neighbours by cosine. Pairs at or above the link line
//! become links, the strongest first, until either end has as many as it may have; a stronger pair
//! takes the place of the other end's weakest link. So a hub cannot flood the graph, and the links
//! of a set of entries are (up to the neighbours that were looked at) its strongest pairs.

use super::differing::Wording;
use super::sequence::Tokens;
use super::similarity::{Profile, Scale, similarity};
use super::template::{self, Templates};
use crate::entry::{Entry, EntryId};
use crate::step::{Link, Step};
use crate::{Phase, PlannedStep};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// What links must be.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// Name of the descriptor whose vectors are compared.
    pub descriptor: String,
    /// Its scale.
    pub scale: Scale,
    /// The link line.
    pub link_similarity: f32,
    /// Links an entry may have.
    pub max_links: usize,
}

/// An entry to compare with.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The entry.
    pub id: EntryId,
    /// Its text.
    pub text: String,
    /// Its project: entries of two projects never link.
    pub project: Option<String>,
    /// What of the text takes part.
    pub profile: Profile,
    /// What a template sees of the text, once it was looked at.
    tokens: OnceCell<Tokens>,
    /// What of the text can differ from another, once it was looked at.
    wording: OnceCell<Wording>,
}

impl Compared {
    /// An entry as one to compare with, in a store that taught `templates`.
    pub fn new(entry: &Entry, templates: &Templates) -> Self {
        let profile = Profile::with(&entry.text, templates);
        Self::of(entry.id.clone(), &entry.text, entry.project.as_deref(), profile)
    }

    /// A text that lies in no store as one to compare with.
    pub fn of(id: EntryId, text: &str, project: Option<&str>, profile: Profile) -> Self {
        let (text, project) = (text.into(), project.map(Into::into));
        Self { id, text, project, profile, tokens: OnceCell::new(), wording: OnceCell::new() }
    }

    fn tokens(&self) -> &Tokens {
        self.tokens.get_or_init(|| Tokens::of(&self.text))
    }

    fn wording(&self) -> &Wording {
        self.wording.get_or_init(|| Wording::of(&self.text))
    }
}

/// A new entry and the entries near it.
#[derive(Clone, Debug)]
pub struct Newcomer<'a> {
    /// The new entry.
    pub entry: &'a Compared,
    /// Entries with their raw cosines, the nearest first; itself among them does no harm.
    pub neighbours: Vec<(&'a Compared, f32)>,
}

/// The links that entries have, as they change.
#[derive(Clone, Debug, Default)]
pub struct LinkTable(BTreeMap<EntryId, Vec<Link>>);

impl LinkTable {
    /// A table of these links.
    pub fn new(links: impl IntoIterator<Item = Link>) -> Self {
        let mut table = Self::default();
        table.extend(links);
        table
    }

    /// Adds what is known of further entries.
    pub fn extend(&mut self, links: impl IntoIterator<Item = Link>) {
        links.into_iter().for_each(|link| self.insert(link));
    }

    fn insert(&mut self, link: Link) {
        for end in [link.a.clone(), link.b.clone()] {
            let links = self.0.entry(end).or_default();
            links.retain(|known| (&known.a, &known.b) != (&link.a, &link.b));
            links.push(link.clone());
        }
    }

    fn remove(&mut self, link: &Link) {
        for end in [&link.a, &link.b] {
            if let Some(links) = self.0.get_mut(end) {
                links.retain(|known| (&known.a, &known.b) != (&link.a, &link.b));
            }
        }
    }

    fn has(&self, a: &EntryId, b: &EntryId) -> bool {
        self.0.get(a).is_some_and(|links| links.iter().any(|link| link.a == *b || link.b == *b))
    }

    fn weakest(&self, end: &EntryId) -> Option<&Link> {
        self.0.get(end)?.iter().min_by(|x, y| strength(x, y))
    }

    fn count(&self, end: &EntryId) -> usize {
        self.0.get(end).map_or(0, Vec::len)
    }
}

fn strength(x: &Link, y: &Link) -> std::cmp::Ordering {
    x.similarity.total_cmp(&y.similarity).then_with(|| (&y.a, &y.b).cmp(&(&x.a, &x.b)))
}

/// A pair that is alike enough for a link.
struct Alike<'a> {
    other: &'a Compared,
    similarity: f32,
    cosine: f32,
}

fn alike<'a>(
    entry: &Compared,
    other: &'a Compared,
    cosine: f32,
    settings: &LinkSettings,
) -> Option<Alike<'a>> {
    if entry.id == other.id || entry.project != other.project || !cosine.is_finite() {
        return None;
    }
    let similarity = similarity(settings.scale, cosine, &entry.profile, &other.profile);
    (similarity >= settings.link_similarity).then_some(Alike { other, similarity, cosine })
}

impl Alike<'_> {
    /// Its link; how the two differ is not looked at yet, since few of the pairs are taken.
    fn link(&self, entry: &Compared, settings: &LinkSettings) -> Link {
        let (a, b) = Link::pair(entry.id.clone(), self.other.id.clone());
        let (similarity, cosine) = (self.similarity, self.cosine);
        Link { a, b, similarity, cosine, descriptor: settings.descriptor.clone(), differing: None }
    }
}

/// The links of `newcomers`, in their order, given the links that they and their neighbours have;
/// `table` then has the new ones. A link that gives way to a stronger one is taken back by a step of its own.
pub fn decide(
    newcomers: &[Newcomer<'_>],
    table: &mut LinkTable,
    settings: &LinkSettings,
) -> Vec<PlannedStep> {
    let mut steps = Vec::new();
    for newcomer in newcomers {
        let entry = newcomer.entry;
        let mut found: Vec<Alike<'_>> = newcomer
            .neighbours
            .iter()
            .filter_map(|(other, cosine)| alike(entry, other, *cosine, settings))
            .filter(|alike| !table.has(&entry.id, &alike.other.id))
            .collect();
        // The order of their links' strength.
        found.sort_by(|x, y| {
            y.similarity.total_cmp(&x.similarity).then_with(|| x.other.id.cmp(&y.other.id))
        });
        found.truncate(settings.max_links);
        for alike in found {
            let mut link = alike.link(entry, settings);
            if let Some(leaving) = leaving(&link, table, settings) {
                link.differing = entry.wording().differing(alike.other.wording());
                take(link, leaving, table, settings, &mut steps);
            }
        }
    }
    steps
}

/// Learns what templates the newcomers and the entries near them are copies of. Returns the new
/// ones; profiles made before then are out of date.
pub fn learn(newcomers: &[Newcomer<'_>], templates: &mut Templates) -> Vec<String> {
    let mut learned = Vec::new();
    for newcomer in newcomers.iter().filter(|new| !new.entry.profile.form.formal) {
        let near: Vec<&Compared> = newcomer
            .neighbours
            .iter()
            .map(|(other, _)| *other)
            .filter(|other| other.id != newcomer.entry.id)
            .take(template::NEAR)
            .collect();
        if near.len() + 1 >= template::COPIES {
            let tokens: Vec<&Tokens> = near.iter().map(|other| other.tokens()).collect();
            learned.extend(templates.learn(newcomer.entry.tokens(), &tokens));
        }
    }
    learned
}

/// Takes back links between `entries` that a template learned since shows to be links of form only.
pub fn reconsider(
    entries: &[&Compared],
    table: &mut LinkTable,
    settings: &LinkSettings,
) -> Vec<PlannedStep> {
    let known: BTreeMap<&EntryId, &Compared> =
        entries.iter().map(|entry| (&entry.id, *entry)).collect();
    let of_form_only = |link: &&Link| {
        known.get(&link.a).zip(known.get(&link.b)).is_some_and(|(a, b)| {
            similarity(settings.scale, link.cosine, &a.profile, &b.profile)
                < settings.link_similarity
        })
    };
    let mut leaving: Vec<Link> = entries
        .iter()
        .filter(|entry| entry.profile.form.learned)
        .flat_map(|entry| table.0.get(&entry.id).into_iter().flatten().filter(of_form_only))
        .cloned()
        .collect();
    leaving.sort_by(|x, y| (&x.a, &x.b).cmp(&(&y.a, &y.b)));
    leaving.dedup_by(|x, y| (&x.a, &x.b) == (&y.a, &y.b));
    let step = |link: Link| {
        table.remove(&link);
        let reason = "copies of one form, which was learned since";
        PlannedStep::new(Phase::Connect, Step::Unlink { link }, reason)
    };
    leaving.into_iter().map(step).collect()
}

/// The links that give way to `link`; `None` where it is too weak for either end.
fn leaving(link: &Link, table: &LinkTable, settings: &LinkSettings) -> Option<Vec<Link>> {
    let full = [&link.a, &link.b].into_iter().filter(|end| table.count(end) >= settings.max_links);
    full.map(|end| table.weakest(end).filter(|weakest| strength(weakest, link).is_lt()).cloned())
        .collect()
}

fn take(
    link: Link,
    leaving: Vec<Link>,
    table: &mut LinkTable,
    settings: &LinkSettings,
    steps: &mut Vec<PlannedStep>,
) {
    for old in leaving {
        table.remove(&old);
        let reason = format!("stronger links took its place ({} each at most)", settings.max_links);
        steps.push(PlannedStep::new(Phase::Connect, Step::Unlink { link: old }, reason));
    }
    let reason = reason(&link);
    table.insert(link.clone());
    steps.push(PlannedStep::new(Phase::Connect, Step::Link { link }, reason));
}

fn reason(link: &Link) -> String {
    let differing = link.differing.map(|how| format!(", but another {how}")).unwrap_or_default();
    format!("similarity {:.2} (cosine {:.2}){differing}", link.similarity, link.cosine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Channel, Kind, Source};
    use proptest::prelude::*;

    fn compared(text: &str, project: Option<&str>) -> Compared {
        let source = Source::new(Channel::Cli, Actor::User);
        let entry = Entry::new(text, Kind::Insight, project.map(Into::into), 0, source);
        Compared::new(&entry, &Templates::default())
    }

    fn settings(max_links: usize) -> LinkSettings {
        LinkSettings {
            descriptor: "test".into(),
            scale: Scale::IDENTITY,
            link_similarity: 0.75,
            max_links,
        }
    }

    #[test]
    fn projects_and_no_project_do_not_mix() {
        let (a, b) = (compared("the quay gate", Some("/p")), compared("the quay door", None));
        assert!(alike(&a, &b, 0.95, &settings(4)).is_none());
        let (a, b) = (compared("the quay gate", None), compared("the quay door", None));
        assert!(alike(&a, &b, 0.95, &settings(4)).is_some());
        assert!(alike(&a, &a, 1.0, &settings(4)).is_none());
        assert!(alike(&a, &b, f32::NAN, &settings(4)).is_none());
    }

    #[test]
    fn a_learned_template_takes_back_the_links_of_its_copies() {
        let lines: Vec<Compared> = ["billing-api", "ledger-sync", "webhooks", "imgproxy", "authz"]
            .iter()
            .map(|name| {
                compared(&format!("kestrel finished rollout of {name} onto sapphire"), None)
            })
            .collect();
        let (mut table, mut templates) = (LinkTable::default(), Templates::default());
        let newcomer = |place: usize| Newcomer {
            entry: &lines[place],
            neighbours: lines[..place].iter().map(|line| (line, 0.9)).collect(),
        };
        let four: Vec<Newcomer<'_>> = (0..4).map(newcomer).collect();
        assert!(learn(&four, &mut templates).is_empty());
        assert_eq!(decide(&four, &mut table, &settings(8)).len(), 6);
        assert_eq!(learn(&[newcomer(4)], &mut templates).len(), 1);
        let again = |line: &Compared| {
            let profile = Profile::with(&line.text, &templates);
            Compared::of(line.id.clone(), &line.text, None, profile)
        };
        let again: Vec<Compared> = lines.iter().map(again).collect();
        let all: Vec<&Compared> = again.iter().collect();
        assert_eq!(reconsider(&all, &mut table, &settings(8)).len(), 6);
        let last = Newcomer {
            entry: &again[4],
            neighbours: again[..4].iter().map(|line| (line, 0.9)).collect(),
        };
        assert!(decide(&[last], &mut table, &settings(8)).is_empty());
    }

    #[test]
    fn chatter_does_not_link() {
        for (a, b) in [("ok, go on", "ok, importer done"), ("done for now", "ok, go on")] {
            assert!(alike(&compared(a, None), &compared(b, None), 0.95, &settings(4)).is_none());
        }
    }

    proptest! {
        #[test]
        fn no_entry_has_more_links_than_it_may(
            cosines in prop::collection::vec(0.6f32..1.0, 66), max in 1usize..5,
        ) {
            let entries: Vec<Compared> =
                (0..12).map(|n| compared(&format!("zeta{n} omega{n}"), None)).collect();
            let mut at = 0;
            let mut newcomers = Vec::new();
            for (place, entry) in entries.iter().enumerate() {
                let neighbours = (0..place).map(|other| {
                    at += 1;
                    (&entries[other], cosines[at - 1])
                });
                newcomers.push(Newcomer { entry, neighbours: neighbours.collect() });
            }
            let mut counts: BTreeMap<EntryId, i32> = BTreeMap::new();
            for planned in decide(&newcomers, &mut LinkTable::default(), &settings(max)) {
                let (link, change) = match planned.step {
                    Step::Link { link } => (link, 1),
                    Step::Unlink { link } => (link, -1),
                    _ => continue,
                };
                *counts.entry(link.a).or_default() += change;
                *counts.entry(link.b).or_default() += change;
            }
            prop_assert!(counts.values().all(|count| (0..=max as i32).contains(count)));
        }
    }
}
