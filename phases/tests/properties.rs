//! What holds for every phase, whatever it is given: the same input gives the same steps, the order
//! in which things arrive does not matter, no entry is lost or used twice, and what a step did is
//! taken back by its inverse. Buffer and clusters have the like beside their code.

#![allow(clippy::unwrap_used, missing_docs)]

use lifecycle_phases::age::{self, Candidate as Loner, Limits as AgeLimits};
use lifecycle_phases::connect::{
    self, Compared, LinkSettings, LinkTable, Newcomer, Scale, Templates,
};
use lifecycle_phases::consolidate::{self, Cluster, Limits, decide_extractive, prepare};
use lifecycle_phases::route::{Block, Candidate, Place, Query, Ranker};
use lifecycle_phases::{
    Actor, Channel, Entry, EntryId, Kind, Phase, Plan, PlannedStep, Source, State, Step,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

fn entry(text: &str, created: i64) -> Entry {
    let source = Source::new(Channel::Cli, Actor::User);
    Entry::new(text, Kind::Insight, Some("/p".into()), created, source)
}

/// Sentences about few subjects, so that some of them belong together.
fn sentence() -> impl Strategy<Value = String> {
    let subject =
        prop::sample::select(vec!["berth buffer", "crane hoist", "mail relay", "`init_pool`"]);
    let verb = prop::sample::select(vec!["is", "shrinks to", "was raised to", "must stay at"]);
    let place = prop::sample::select(vec!["", " in winter", " for tankers", " on port 5432"]);
    (subject, verb, 1u32..60, place).prop_map(|(a, b, n, c)| format!("The {a} {b} {n} m{c}"))
}

fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let mut order: Vec<(u64, T)> = items
        .iter()
        .enumerate()
        .map(|(n, item)| ((n as u64 + 1).wrapping_mul(seed | 1).rotate_left(17), item.clone()))
        .collect();
    order.sort_by_key(|(key, _)| *key);
    order.into_iter().map(|(_, item)| item).collect()
}

fn loners() -> impl Strategy<Value = Vec<Loner>> {
    let texts = prop_oneof![
        sentence(),
        Just("ok, done for now".to_string()),
        Just("Observation about the lamp in the hall".to_string()),
        ".{0,40}",
    ];
    let one = (texts, 0u64..40, 0u32..5, any::<bool>(), any::<bool>());
    prop::collection::vec(one, 0..30).prop_map(|all| {
        let numbered = all.into_iter().enumerate();
        numbered
            .map(|(n, (text, newer, reprieves, protected, connected))| Loner {
                entry: entry(&format!("{n} {text}"), 1).id,
                text,
                state: State::Buffered,
                reprieves,
                newer,
                protected,
                connected,
                then: 0,
                copies: None,
            })
            .collect()
    })
}

const AGE: AgeLimits = AgeLimits {
    newer_entries: 20,
    growth: 2,
    max_reprieves: 3,
    max_expire_share: 0.25,
    max_expire_free: 3,
};

fn settings() -> LinkSettings {
    LinkSettings {
        descriptor: "d".into(),
        scale: Scale::IDENTITY,
        link_similarity: 0.75,
        max_links: 3,
    }
}

fn cluster(texts: &[String]) -> Cluster {
    let unique: BTreeSet<&String> = texts.iter().collect();
    let members = unique.into_iter().zip(1..).map(|(text, day)| entry(text, day * 86_400_000));
    Cluster { members: members.collect(), ..Cluster::default() }
}

/// Vectors that follow from the text alone.
fn vectors(cluster: &Cluster) -> HashMap<String, Vec<f32>> {
    let prepared = prepare(cluster);
    let texts = prepared.sentence_texts();
    texts.into_iter().map(|text| (text.clone(), vector(&text))).collect()
}

fn vector(text: &str) -> Vec<f32> {
    let mut sums = [0.1f32; 4];
    text.bytes().enumerate().for_each(|(n, byte)| sums[n % 4] += f32::from(byte));
    let norm = sums.iter().map(|x| x * x).sum::<f32>().sqrt();
    sums.iter().map(|x| x / norm).collect()
}

/// An order over steps that does not depend on where they stand.
fn set_of(steps: &[PlannedStep]) -> BTreeSet<String> {
    steps.iter().map(|planned| serde_json::to_string(&planned.step).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn age_judges_each_entry_once_in_any_order(
        loners in loners(), seed: u64, active in 0usize..200, yes: bool, knows: bool,
    ) {
        let answers: BTreeMap<EntryId, bool> =
            age::ask(&loners, &AGE).iter().map(|loner| (loner.entry.clone(), knows)).collect();
        let decision = age::decide(&loners, &answers, active, &AGE, yes);
        prop_assert_eq!(&decision, &age::decide(&loners, &answers, active, &AGE, yes));
        let other = age::decide(&shuffled(&loners, seed), &answers, active, &AGE, yes);
        prop_assert_eq!(set_of(&decision.steps), set_of(&other.steps));
        prop_assert_eq!(decision.brake, other.brake);
        let judged: Vec<&EntryId> =
            decision.steps.iter().filter_map(|step| step.step.entry()).chain(&decision.unanswered).collect();
        let unique: BTreeSet<&EntryId> = judged.iter().copied().collect();
        prop_assert_eq!(judged.len(), unique.len());
        let held = decision.brake.map_or(0, |brake| brake.would_expire);
        let due = loners
            .iter()
            .filter(|loner| loner.connected && !loner.protected && loner.newer >= AGE.newer_entries)
            .count();
        prop_assert_eq!(judged.len() + held, due);
    }

    #[test]
    fn connect_links_the_same_whatever_the_order_of_neighbours(
        texts in prop::collection::vec(sentence(), 2..10),
        cosines in prop::collection::vec(0.3f32..1.0, 10),
        seed: u64,
    ) {
        let entries: Vec<Compared> = texts.iter().zip(1..).map(|(text, n)| Compared::new(&entry(text, n), &Templates::default())).collect();
        let near: Vec<(&Compared, f32)> = entries[1..].iter().zip(cosines).collect();
        let link = |neighbours: Vec<(&Compared, f32)>| {
            let mut table = LinkTable::default();
            // A text that comes twice is one entry.
            connect::decide(&[Newcomer { entry: &entries[0], neighbours }], &mut table, &settings())
        };
        let unique: BTreeSet<&EntryId> = entries.iter().map(|one| &one.id).collect();
        prop_assume!(unique.len() == entries.len());
        let steps = link(near.clone());
        prop_assert_eq!(&steps, &link(near.clone()));
        prop_assert_eq!(&steps, &link(shuffled(&near, seed)));
        let pairs: Vec<String> = steps.iter().filter(|s| matches!(s.step, Step::Link { .. })).map(|s| serde_json::to_string(&s.step).unwrap()).collect();
        let distinct: BTreeSet<&String> = pairs.iter().collect();
        prop_assert_eq!(pairs.len(), distinct.len(), "no pair is linked twice");
        prop_assert!(pairs.len() <= settings().max_links);
    }

    #[test]
    fn consolidate_uses_each_source_at_most_once_and_loses_none(
        texts in prop::collection::vec(sentence(), 1..7), seed: u64,
    ) {
        let one = cluster(&texts);
        let vectors = vectors(&one);
        let decide = |cluster: &Cluster| {
            decide_extractive(&prepare(cluster), &vectors, &Limits::default(), &BTreeSet::new())
        };
        let decision = decide(&one);
        prop_assert_eq!(&decision, &decide(&one));
        let turned = Cluster { members: shuffled(&one.members, seed), ..one.clone() };
        prop_assert_eq!(&decision, &decide(&turned), "the order of members does not matter");
        prop_assert_eq!(one.key(), turned.key());
        let used: Vec<&EntryId> =
            decision.drafts.iter().flat_map(|draft| &draft.sources).map(|source| &source.entry).collect();
        let unique: BTreeSet<&EntryId> = used.iter().copied().collect();
        prop_assert_eq!(used.len(), unique.len(), "no source in two drafts");
        let members: BTreeSet<&EntryId> = one.members.iter().map(|member| &member.id).collect();
        prop_assert!(unique.is_subset(&members));
        if unique.len() < members.len() {
            prop_assert!(decision.rejection.is_some() || !prepare(&one).conflicts.is_empty(), "what stays has a reason");
        }
        // Word for word: each sentence of a draft is one of a source.
        for draft in &decision.drafts {
            for sentence in draft.entry.text.split(". ") {
                let sentence = sentence.trim_end_matches('.');
                prop_assert!(one.members.iter().any(|member| member.text.contains(sentence)), "{}", sentence);
            }
        }
    }

    #[test]
    fn route_ranks_the_same_files_the_same_in_any_order(
        files in prop::collection::vec(prop::collection::vec(sentence(), 1..4), 1..6),
        text in sentence(),
        seed: u64,
    ) {
        let candidates: Vec<Candidate> = files
            .iter()
            .enumerate()
            .map(|(n, lines)| Candidate {
                relative: format!("docs/{n}.md"),
                places: vec![Place::default()],
                blocks: lines
                    .iter()
                    .map(|line| Block { place: 0, text: line.clone(), vector: vector(line), ours: false })
                    .collect(),
                ..Candidate::default()
            })
            .collect();
        let query = Query { text: text.clone(), files: Vec::new(), vector: vector(&text) };
        let named = |candidates: &[Candidate]| -> BTreeMap<String, i64> {
            let ranking = Ranker::new(candidates).rank(&query);
            let sum: f32 = ranking.files.iter().map(|ranked| ranked.score).sum();
            assert!((sum - 1.0).abs() < 1e-3, "{sum}");
            assert!(ranking.files.windows(2).all(|pair| pair[0].score >= pair[1].score));
            let score = |ranked: &lifecycle_phases::route::Ranked| (f64::from(ranked.score) * 1e4).round() as i64;
            ranking.files.iter().map(|ranked| (candidates[ranked.file].relative.clone(), score(ranked))).collect()
        };
        let straight = named(&candidates);
        prop_assert_eq!(&straight, &named(&candidates));
        let turned = named(&shuffled(&candidates, seed));
        prop_assert_eq!(straight.len(), candidates.len(), "no file is lost");
        for (name, score) in straight {
            prop_assert!((score - turned[&name]).abs() <= 1, "{}: {} and {}", name, score, turned[&name]);
        }
    }

    #[test]
    fn what_a_step_did_is_taken_back_and_made_again(text in sentence(), from in 0u32..9, to in 0u32..9) {
        let entry = entry(&text, 7);
        let id = entry.id.clone();
        let steps = [
            Step::Admit { entry: Box::new(entry) },
            Step::Recall { entry: id.clone(), from, to },
            Step::Reprieve { entry: id.clone(), from, to },
            Step::Protect { entry: id.clone(), from: from % 2 == 0, to: to % 2 == 0 },
            Step::SetState { entry: id.clone(), from: State::Proven, to: State::Routed },
        ];
        for step in &steps {
            let back = step.inverse().unwrap();
            prop_assert_eq!(&back.inverse().unwrap(), step);
        }
        let expire = Step::Expire { entry: id, from: State::Buffered };
        let there = matches!(expire.inverse(), Some(Step::SetState { to: State::Buffered, .. }));
        prop_assert!(there);
        let planned = steps.into_iter().map(|step| PlannedStep::new(Phase::Buffer, step, "why"));
        let plan = Plan { version: Plan::VERSION, now: 7, base: "b".into(), steps: planned.collect(), receipts: Vec::new() };
        let read: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        prop_assert_eq!(read, plan);
    }

    #[test]
    fn a_reply_of_any_shape_never_uses_a_source_twice(
        texts in prop::collection::vec(sentence(), 3..6),
        picks in prop::collection::vec(prop::collection::vec(0usize..7, 1..5), 1..4),
    ) {
        let one = cluster(&texts);
        let prepared = prepare(&one);
        let entries: Vec<serde_json::Value> = picks
            .iter()
            .map(|pick| {
                let labels: Vec<String> = pick.iter().map(|n| format!("n{}", n + 1)).collect();
                let said = pick.iter().filter_map(|n| one.members.get(*n)).map(|member| member.text.clone());
                serde_json::json!({"title": "T", "text": said.collect::<Vec<_>>().join(". "), "kind": "insight", "sources": labels})
            })
            .collect();
        let text = serde_json::json!({ "entries": entries }).to_string();
        let reply = consolidate::reply::parse(text.as_bytes());
        let decision = consolidate::decide(&prepared, &reply, "", &Limits::default(), "m", &BTreeSet::new());
        let used: Vec<&EntryId> =
            decision.drafts.iter().flat_map(|draft| &draft.sources).map(|source| &source.entry).collect();
        let unique: BTreeSet<&EntryId> = used.iter().copied().collect();
        prop_assert_eq!(used.len(), unique.len());
    }
}
