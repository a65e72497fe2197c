//! How many notes ended as they should.

use super::{Gold, share};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the engine made of a note: its state, and the group it stands in.
type Fate = (&'static str, Option<String>);

/// Live at the end.
const LIVE: &[&str] = &["consolidated", "linked", "kept", "reprieved"];

/// Shares of notes with a fate that is right, by class and over all, and the rates of harm.
pub fn score(gold: &[Gold], fates: &[Fate]) -> Value {
    let mut classes: BTreeMap<&str, (usize, usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for (gold, (state, _)) in gold.iter().zip(fates) {
        let class = classes.entry(&gold.class).or_default();
        class.0 += usize::from(gold.accept.iter().any(|accepted| accepted == state));
        class.1 += 1;
        *class.2.entry(state).or_default() += 1;
    }
    let right: usize = classes.values().map(|class| class.0).sum();
    let shares: f64 = classes.values().map(|(right, all, _)| *right as f64 / *all as f64).sum();
    let per_class: BTreeMap<&str, Value> = classes
        .iter()
        .map(|(class, (right, all, states))| {
            (*class, json!({"right": share(*right, *all), "of": all, "states": states}))
        })
        .collect();
    let rate = |classes: &[&str], states: &[&str]| {
        let rows =
            || gold.iter().zip(fates).filter(|(gold, _)| classes.contains(&gold.class.as_str()));
        share(rows().filter(|(_, fate)| states.contains(&fate.0)).count(), rows().count())
    };
    let (found, topics, purity) = groups(gold, fates);
    json!({
        "notes": gold.len(),
        "accepted": share(right, gold.len()),
        "macro": shares / classes.len().max(1) as f64,
        "per_class": per_class,
        "lost_knowledge": rate(&["topic", "pair", "loner"], &["expired"]),
        "protected_harmed": rate(&["protected"], &["expired", "consolidated", "deduplicated"]),
        "noise_consolidated": rate(&["structural", "trivial"], &["consolidated"]),
        "clutter": rate(&["structural", "trivial"], LIVE),
        "dup_stored": rate(&["dup-exact", "dup-near"], &["linked", "kept", "reprieved"]),
        "topic_found": share(found, topics),
        "group_purity": purity,
    })
}

/// Topics of which 80 % stand in one consolidated entry that is 80 % theirs, all topics of three
/// and more, and the mean share of the main topic in groups of three and more.
fn groups(gold: &[Gold], fates: &[Fate]) -> (usize, usize, f64) {
    let mut topics: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: BTreeMap<&str, BTreeMap<String, (usize, usize)>> = BTreeMap::new();
    for (place, (gold, (state, group))) in gold.iter().zip(fates).enumerate() {
        if gold.class.starts_with("dup") {
            continue;
        }
        let topic =
            gold.topic.as_deref().filter(|_| ["topic", "pair"].contains(&gold.class.as_str()));
        let wanted = gold.class == "topic" && gold.accept == ["consolidated"];
        if let (true, Some(topic)) = (wanted, topic) {
            *topics.entry(topic).or_default() += 1;
        }
        if let Some(group) = group.as_deref().filter(|_| *state != "expired") {
            let label = topic.map_or_else(|| format!("~{place}"), str::to_string);
            let counts = groups.entry(group).or_default().entry(label).or_default();
            counts.0 += 1;
            counts.1 += usize::from(wanted && *state == "consolidated");
        }
    }
    let found = |(topic, notes): (&&str, &usize)| {
        groups.values().any(|group| {
            let all: usize = group.values().map(|counts| counts.0).sum();
            group.get(*topic).is_some_and(|(inside, merged)| {
                *merged as f64 >= 0.8 * *notes as f64 && *inside as f64 >= 0.8 * all as f64
            })
        })
    };
    let topics: BTreeMap<&str, usize> =
        topics.into_iter().filter(|(_, notes)| *notes >= 3).collect();
    let hits = topics.iter().filter(|topic| found(*topic)).count();
    let mut purity = Vec::new();
    for group in groups.values() {
        let all: usize = group.values().map(|counts| counts.0).sum();
        let most = group.values().map(|counts| counts.0).max().unwrap_or(0);
        if all >= 3 {
            purity.push(most as f64 / all as f64);
        }
    }
    let mean = purity.iter().sum::<f64>() / purity.len().max(1) as f64;
    (hits, topics.len(), mean)
}
