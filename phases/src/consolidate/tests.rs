//! The phase as a whole, on ten clusters as developers leave them.

mod updates;

use super::extractive::Vectors;
use super::*;
use crate::entry::{Actor, Channel, Entry, Kind, Source, State};
use crate::step::ClusterOutcome;
use regex::RegexBuilder;
use std::collections::BTreeSet;

const RULES: &str = include_str!("../../../config/prompts/merge.md");

fn entry(text: &str, created: i64) -> Entry {
    Entry::new(
        text,
        Kind::Insight,
        Some("/p".into()),
        created,
        Source::new(Channel::Cli, Actor::Assistant),
    )
}

pub(super) fn cluster(texts: &[&str]) -> Cluster {
    let day = 86_400_000;
    let members = texts.iter().zip(1..).map(|(text, i)| entry(text, i * day)).collect();
    Cluster { members, ..Cluster::default() }
}

fn berth() -> Cluster {
    cluster(&[
        "Berth buffer is 25 m",
        "Berth buffer of 25 m applies to tankers too",
        "Berth buffer shrinks to 15 m in winter",
    ])
}

fn reply(title: &str, text: &str, sources: &[&str]) -> Result<Reply, ReplyError> {
    let value = serde_json::json!({"entries": [{"title": title, "text": text, "kind": "insight", "sources": sources}]});
    reply::parse(value.to_string().as_bytes())
}

pub(super) fn judge(cluster: &Cluster, title: &str, text: &str) -> Decision {
    let prepared = prepare(cluster);
    let labels: Vec<&str> = prepared.notes.iter().map(|note| note.label.as_str()).collect();
    decide(
        &prepared,
        &reply(title, text, &labels),
        RULES,
        &Limits::default(),
        "test",
        &BTreeSet::new(),
    )
}

#[track_caller]
pub(super) fn refused_for(decision: &Decision, name: &str) {
    assert!(decision.drafts.is_empty(), "{decision:?}");
    assert!(decision.measures.refused.contains(&name), "{:?}", decision.rejection);
    assert_eq!(decision.rejection.as_ref().map(|r| r.outcome), Some(ClusterOutcome::Refused));
}

#[derive(serde::Deserialize)]
struct Bench {
    id: String,
    notes: Vec<String>,
    must: Vec<String>,
}

fn bench() -> Vec<Bench> {
    serde_json::from_str(include_str!("../../../tests/fixtures/consolidation/clusters.json"))
        .expect("the file is JSON")
}

#[test]
fn extractive_keeps_what_matters_and_shortens_what_repeats() {
    let (mut made, mut given) = (0, 0);
    for case in bench() {
        let texts: Vec<&str> = case.notes.iter().map(String::as_str).collect();
        let prepared = prepare(&cluster(&texts));
        let decision =
            decide_extractive(&prepared, &Vectors::new(), &Limits::default(), &BTreeSet::new());
        let draft = decision.drafts.first().unwrap_or_else(|| panic!("{}: {decision:?}", case.id));
        for must in &case.must {
            let pattern =
                RegexBuilder::new(must).case_insensitive(true).build().expect("a pattern");
            assert!(
                pattern.is_match(&draft.entry.text),
                "{}: {must} in {}",
                case.id,
                draft.entry.text
            );
        }
        if case.id.starts_with("c09") {
            assert!(!draft.entry.text.contains("60 requests"), "{}", draft.entry.text);
        }
        println!(
            "{}: {} of {} sentences\n  {:?}\n  {}",
            case.id,
            super::sentences::sentences(&draft.entry.text).len(),
            prepared.sentence_texts().len(),
            draft.entry.title,
            draft.entry.text
        );
        assert_eq!(draft.sources.len(), case.notes.len());
        made += draft.entry.text.len();
        given += case.notes.iter().map(String::len).sum::<usize>();
    }
    println!("{made} of {given} bytes: {} %", made * 100 / given);
}

#[test]
fn a_faithful_reply_is_taken_with_all_its_sources() {
    let decision = judge(
        &berth(),
        "Berth buffer",
        "The berth buffer is 25 m, tankers included; 15 m in winter.",
    );
    let draft = &decision.drafts[0];
    assert_eq!(
        (draft.sources.len(), draft.entry.state, draft.quoted),
        (3, State::Proven, 0),
        "{draft:?}"
    );
    assert!(decision.rejection.is_none());
}

#[test]
fn what_the_model_left_out_is_quoted() {
    let decision = judge(
        &berth(),
        "Berth buffer",
        "The berth buffer is 25 m and applies to tankers; it shrinks in winter.",
    );
    let draft = decision.drafts.first().unwrap_or_else(|| panic!("{decision:?}"));
    assert!(
        draft.entry.text.ends_with("Berth buffer shrinks to 15 m in winter"),
        "{}",
        draft.entry.text
    );
}

#[test]
fn a_not_that_one_of_two_like_clauses_keeps_is_not_lost() {
    let notes = cluster(&[
        "Never commit to main directly, open a pull request",
        "Commits go through pull requests, never directly to main",
        "No direct commits on main: always open a PR",
        "All changes need a pull request, main is protected from direct commits",
    ]);
    let decision =
        decide_extractive(&prepare(&notes), &Vectors::new(), &Limits::default(), &BTreeSet::new());
    assert_eq!(decision.drafts.len(), 1, "{:?}", decision.rejection);
    let text = decision.drafts[0].entry.text.to_lowercase();
    assert!(text.contains("never") || text.contains("no direct commits"), "{text}");
}

#[test]
fn e3_invented_facts_are_refused() {
    for text in [
        "The berth buffer is 30 m, for tankers too; 15 m in winter.",
        "The berth buffer is 25 m, for tankers too; 15 m in winter, see docs/berth.md.",
        "The berth buffer is 25 m, for tankers too; 15 m in winter, says Rotterdam.",
        "The berth buffer is 25 km, for tankers too; 15 m in winter.",
        "The berth buffer is 25 m, for tankers too; 15 m in winter (commit 4be19d2).",
        "The berth buffer is 25 m, for tankers too; 15 m in winter. Set `harbour`.",
        "The berth buffer is 25 m, for seven tankers too; 15 m in winter.",
    ] {
        refused_for(&judge(&berth(), "Berth buffer", text), "invented_fact");
    }
}

#[test]
fn e4_a_text_about_something_else_is_lossy() {
    refused_for(
        &judge(&berth(), "Berth", "Combining things keeps the knowledge short."),
        "lossy_merge",
    );
}

#[test]
fn e5_the_newest_value_is_stated_and_the_former_one_is_not() {
    let limits = cluster(&[
        "2026-05-01 The API rate limit is 60 requests per minute per key.",
        "2026-06-15 Rate limit raised to 120 requests per minute per key; header X-RateLimit-Remaining is returned.",
        "2026-06-20 On 429 the client must wait for Retry-After seconds; our client src/http/client.ts ignores it today.",
    ]);
    let tail = "The header X-RateLimit-Remaining is returned. On 429 the client must wait for Retry-After seconds; src/http/client.ts ignores it today.";
    refused_for(
        &judge(
            &limits,
            "Rate limit",
            &format!("The rate limit is 60 requests per minute per key. {tail}"),
        ),
        "stale_value",
    );
    refused_for(
        &judge(&limits, "Rate limit", &format!("There is a rate limit per minute per key. {tail}")),
        "newest_missing",
    );
    for good in [
        "The rate limit is 120 requests per minute per key.",
        "The rate limit is 120 requests per minute per key, formerly 60.",
    ] {
        let decision = judge(&limits, "Rate limit", &format!("{good} {tail}"));
        assert_eq!(decision.drafts.len(), 1, "{decision:?}");
    }
}

#[test]
fn negations_are_kept() {
    let retries = cluster(&[
        "Do NOT retry on 409: the provider returns 409 when the key is being processed.",
        "Retry at most 3 attempts on 502 and timeouts.",
        "The provider returns 502 under load.",
    ]);
    refused_for(
        &judge(
            &retries,
            "Retry policy",
            "Retry on 409: the provider returns 409 when the key is being processed. Retry at most 3 attempts on 502 and timeouts; the provider returns 502 under load.",
        ),
        "negation_lost",
    );
    refused_for(
        &judge(
            &retries,
            "Retry policy",
            "Do not retry on 409: the provider returns 409 when the key is being processed. Do not retry at most 3 attempts on 502 and timeouts. The provider returns 502 under load.",
        ),
        "negation_added",
    );
    let good = judge(
        &retries,
        "Retry policy",
        "Never retry on 409: the provider returns 409 when the key is being processed. Retry at most 3 attempts on 502 and timeouts; the provider returns 502 under load.",
    );
    assert_eq!(good.drafts.len(), 1, "{good:?}");
}

#[test]
fn e7_generic_titles_are_refused() {
    let good = "The berth buffer is 25 m, tankers included; 15 m in winter.";
    refused_for(&judge(&berth(), "Merge Notes", good), "generic_title");
    refused_for(&judge(&berth(), "Session Recap", good), "generic_title");
}

#[test]
fn leaked_instructions_are_refused() {
    let good = "The berth buffer is 25 m, tankers included; 15 m in winter.";
    refused_for(
        &judge(
            &berth(),
            "Berth",
            &format!("{good} Write in the language of the notes, in plain full sentences."),
        ),
        "leaked_rules",
    );
    refused_for(&judge(&berth(), "Berth", &format!("These notes say: {good}")), "leaked_rules");
    refused_for(&judge(&berth(), "Berth", &format!("{good} ```")), "markup");
}

#[test]
fn an_echo_of_the_prompt_is_refused() {
    let echo = "Each number with its unit, name, file path. Name an older value.";
    let decision = judge(&berth(), "Berth buffer", echo);
    assert!(decision.drafts.is_empty(), "{decision:?}");
    let good = "The berth buffer is 25 m, tankers included; 15 m in winter.";
    refused_for(&judge(&berth(), "File path", good), "echo_of_prompt");
    assert_eq!(judge(&berth(), "Berth buffer", good).drafts.len(), 1);
}

/// What stands beside a note in the prompt is explained in its rules, whoever it comes from.
#[test]
fn e1_the_rules_explain_every_actor_origin_and_kind() {
    use crate::entry::Origin;
    for actor in Actor::ALL {
        for origin in Origin::ALL {
            let mut said = berth();
            for member in &mut said.members {
                member.source = Source::new(Channel::Scan, *actor).with_origin(*origin);
            }
            let data = prepare(&said).question(RULES).data;
            let shown = data.split("actor=").nth(1).and_then(|rest| rest.split(' ').next());
            let shown = shown.expect("a note names its actor");
            let explained = RULES.split("whose words they are:").nth(1).expect("the rules say so");
            let explained = explained.split('.').next().unwrap_or_default();
            assert!(explained.contains(shown), "{actor} {origin}: {shown} is not explained");
        }
    }
    for kind in schema::KINDS {
        assert!(RULES.contains(kind.as_str()), "{kind}");
    }
}

#[test]
fn e2_nothing_is_put_into_the_mouth_of_the_user() {
    let text = "The user set the berth buffer to 25 m, tankers included; 15 m in winter.";
    refused_for(&judge(&berth(), "Berth buffer", text), "bad_attribution");
    let mut spoken = berth();
    spoken.members[0].source.actor = Actor::User;
    assert_eq!(judge(&spoken, "Berth buffer", text).drafts.len(), 1);
}

#[test]
fn e7_a_title_that_exists_is_made_distinct() {
    let prepared = prepare(&berth());
    let taken = BTreeSet::from(["berth buffer".to_string()]);
    let reply = reply(
        "Berth buffer",
        "The berth buffer is 25 m, tankers included; 15 m in winter.",
        &["n1", "n2", "n3"],
    );
    let decision = decide(&prepared, &reply, RULES, &Limits::default(), "test", &taken);
    assert_eq!(decision.drafts[0].entry.title.as_deref(), Some("Berth buffer (25)"));
    assert!(decision.measures.duplicate_title);
}

#[test]
fn e8_files_are_the_union_of_the_sources() {
    let mut files = berth();
    files.members[0].source.files = vec!["b.rs".into()];
    files.members[2].text = "Berth buffer shrinks to 15 m in winter, see docs/berth.md".into();
    let decision = judge(
        &files,
        "Berth buffer",
        "The berth buffer is 25 m, tankers included; 15 m in winter.",
    );
    assert_eq!(decision.drafts[0].entry.source.files, ["b.rs", "docs/berth.md"]);
}

#[test]
fn contradictions_are_set_aside_for_people() {
    let same = [
        ("The build timeout is 30 s", 1),
        ("The build timeout is 45 s", 1),
        ("The build runs on arm64", 1),
    ];
    let members = same.iter().map(|(text, at)| entry(text, *at)).collect();
    let prepared = prepare(&Cluster { members, ..Cluster::default() });
    assert!(!prepared.is_mergeable(&Limits::default()));
    assert_eq!(prepared.conflict().map(|c| c.outcome), Some(ClusterOutcome::Conflict));
}

#[test]
fn decisions_and_thoughts_are_quoted_and_protection_never_weakens() {
    let mut decided = berth();
    decided.members[0].kind = Kind::Decision;
    decided.members[1].protected = true;
    let decision = judge(
        &decided,
        "Berth buffer",
        "The buffer at the berth is 25 m, tankers included; 15 m in winter.",
    );
    let entry = &decision.drafts[0].entry;
    assert!(entry.text.contains("Berth buffer is 25 m") && entry.protected, "{}", entry.text);
    assert_eq!(entry.kind, Kind::Decision);
}

#[test]
fn several_subjects_become_several_entries_and_the_rest_stays() {
    let mixed = cluster(&[
        "Berth buffer is 25 m",
        "Berth buffer of 25 m applies to tankers too",
        "CI requires cargo fmt",
        "CI requires clippy -D warnings",
        "The harbour master retires in 2031",
    ]);
    let prepared = prepare(&mixed);
    let value = serde_json::json!({"entries": [
        {"title": "Berth buffer", "text": "The berth buffer is 25 m, also for tankers.", "kind": "insight", "sources": ["n1", "n2"]},
        {"title": "CI checks", "text": "CI requires cargo fmt and clippy -D warnings.", "kind": "banana", "sources": ["3", "n4"]}
    ]});
    let reply = reply::parse(value.to_string().as_bytes());
    let decision = decide(&prepared, &reply, RULES, &Limits::default(), "test", &BTreeSet::new());
    assert_eq!(decision.drafts.len(), 2, "{decision:?}");
    let retired: Vec<_> = decision.drafts.iter().flat_map(|draft| &draft.sources).collect();
    assert_eq!(retired.len(), 4);
    assert!(retired.iter().all(|source| source.entry != mixed.members[4].id));
    assert_eq!(decision.measures.bad_kinds, 1);
}

#[test]
fn a_re_consolidation_must_hold_every_original() {
    let mut again = berth();
    for member in &mut again.members[..2] {
        member.state = State::Merged;
    }
    let mut old = entry("The berth buffer is 25 m, tankers included.", 1);
    old.state = State::Proven;
    again.replaces = vec![old];
    let decision = judge(
        &again,
        "Berth buffer",
        "The berth buffer is 25 m, tankers included; 15 m in winter.",
    );
    assert_eq!(decision.drafts[0].replaces.len(), 1);
}

#[test]
fn a_changed_fact_replaces_the_old_one() {
    let npm = cluster(&[
        "Install packages with npm",
        "npm ci is what the pipeline runs",
        "We moved from npm to pnpm; npm is no longer used",
    ]);
    let prepared = prepare(&npm);
    let decision =
        decide_extractive(&prepared, &Vectors::new(), &Limits::default(), &BTreeSet::new());
    let draft = &decision.drafts[0];
    assert_eq!(draft.entry.text, "We moved from npm to pnpm; npm is no longer used");
    assert_eq!(draft.sources.len(), 3);
    let reply =
        judge(&npm, "Package manager", "Packages are installed with pnpm (npm was given up).");
    assert_eq!(reply.drafts.len(), 1, "{reply:?}");
}
