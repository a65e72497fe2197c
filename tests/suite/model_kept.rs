//! What is kept of prompts and replies, and what can be done with it later: replay, recall, pins.
//! Each test is named after the requirement it proves (docs/models.md).

use crate::consolidate::{BERTH, Bench, merged};
use crate::support::fixture;
use crate::support::merging::{BERTH as NOTES, Merging, berth, text};
use crate::support::standin::Reply;
use lifecycle::model::MERGE_RULES;
use lifecycle::store::Store;
use lifecycle::tick::consolidate::Captured;
use lifecycle_phases::consolidate::{self, Decision, Limits, decide, prepare, reply};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

fn store(case: &Merging) -> Store {
    Store::open_file(&case.home.database(), Duration::from_secs(5)).unwrap()
}

#[test]
fn d9_kept_replies_are_read_again_by_a_later_parser() {
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    case.server.replies(text(&berth()));
    case.run();
    let asked = case.server.chats().len();
    // As if the parser of the time had not understood the reply.
    store(&case)
        .write(|tx| Ok(tx.execute("UPDATE call SET reason = 'no_object'", []).map(drop)?))
        .unwrap();
    let found = case.home.json(&["prompt", "replay", "--kept"]);
    assert_eq!((&found["replayed"], case.server.chats().len()), (&json!(1), asked));
    let changed = found["changed"][0].as_str().unwrap();
    assert!(changed.ends_with("was no_object, is accepted"), "{changed}");
}

#[test]
fn d9_keeping_replies_is_bounded_and_can_be_switched_off() {
    for (settings, kept) in [
        ("", true),
        ("[consolidate]\nkeep_replies = false\n", false),
        ("[consolidate]\nreply_bytes = 20\n", true),
    ] {
        let bench = Bench::with(settings);
        bench.cluster(&BERTH);
        bench.server.replies([Reply::text("I would rather talk about ships.")]);
        bench.run();
        let length: i64 = bench.value("SELECT length(reply) FROM call");
        assert_eq!(length > 0, kept, "{settings}");
        assert!(!settings.contains("20") || length == 20);
    }
}

#[test]
fn e13_real_prompts_are_kept_redacted_and_replayed() {
    let case = Merging::new("openai-compatible");
    let file = case.home.path().join("home/.config/lifecycle/config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    case.add(NOTES);
    case.server.replies(text(&berth()));
    case.connect();
    // The pattern is younger than the entries: only the kept prompt can still be redacted.
    let more = "[redact.patterns]\nship = \"tankers\"\n";
    let kept = settings.replace("retry_minutes = 0\n", "retry_minutes = 0\nkeep_prompts = true\n");
    assert_ne!(kept, settings);
    std::fs::write(&file, kept + more).unwrap();
    case.home.run(&["run", "--phase", "consolidate"]);
    let exported = case.home.run(&["prompt", "export"]).success().out;
    assert_eq!(exported.lines().count(), 1);
    assert!(
        exported.contains("[redacted:ship]") && !exported.contains("tankers too"),
        "{exported}"
    );
    let line: Captured = serde_json::from_str(&exported).unwrap();
    assert_eq!((line.cluster.members.len(), line.model.as_str()), (3, "standin"));
    let path = case.home.path().join("prompts.jsonl").display().to_string();
    std::fs::write(&path, &exported).unwrap();
    let asked = case.server.chats().len();
    let good = berth().replace("tankers included", "[redacted:ship] included");
    case.server.replies(text(&good));
    let found = case.home.json(&["prompt", "replay", &path]);
    assert_eq!(case.server.chats().len(), asked + 1);
    assert_eq!((&found["replayed"], &found["models"][0]["accepted"]), (&json!(1), &json!(1.0)));
    let purpose: String = store(&case)
        .reader()
        .query_row("SELECT purpose FROM call ORDER BY id DESC LIMIT 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(purpose, "replay", "a replay is in the account");
    let table = case.home.run(&["prompt", "replay", "--kept", &path]).success().out;
    assert!(table.contains("invented") && table.contains("standin"), "{table}");
}

#[test]
fn e13_without_opt_in_no_prompt_is_kept() {
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    case.server.replies(text(&berth()));
    case.run();
    let outcome = case.home.run(&["prompt", "export"]).code(8);
    assert!(outcome.complained().contains("keep_prompts"), "{}", outcome.err);
}

/// Prompts and replies in the form of `prompt export`, of three real models (135M, 0.5B, 1.5B) on ten
/// clusters: what `scripts/test-live measure` leaves.
fn captured() -> Vec<Captured> {
    let text = std::fs::read_to_string(fixture("consolidation/captured.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn judged(line: &Captured) -> Decision {
    let reply = reply::parse(line.reply.as_deref().unwrap_or("").as_bytes());
    let limits = Limits::default();
    decide(&prepare(&line.cluster), &reply, MERGE_RULES, &limits, &line.model, &BTreeSet::new())
}

#[test]
fn e13_e1_the_rules_on_captured_prompts() {
    let lines = captured();
    assert!(lines.len() >= 20, "{} captured prompts", lines.len());
    let models: BTreeSet<&str> = lines.iter().map(|line| line.model.as_str()).collect();
    assert!(models.len() >= 3, "{models:?}");
    assert!(lines.iter().all(|line| line.reply.is_some()));
    for line in &lines {
        let prepared = prepare(&line.cluster);
        let data = prepared.question(MERGE_RULES).data;
        for note in &prepared.notes {
            let head = format!(
                "id={} date={} actor={} kind=",
                note.label, note.day, note.entry.source.actor
            );
            assert!(data.contains(&head), "{head} in {data}");
        }
    }
}

#[test]
fn e3_e4_e5_nothing_accepted_of_captured_replies_is_invented_or_stale() {
    let number = regex::Regex::new(r"\d+(?:[.,]\d+)*").unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for line in captured() {
        let decision = judged(&line);
        let sources: String =
            line.cluster.members.iter().map(|entry| format!("{}\n", entry.text)).collect();
        for draft in &decision.drafts {
            accepted += 1;
            for found in number.find_iter(&draft.entry.text) {
                assert!(
                    sources.contains(found.as_str()),
                    "{}: {}",
                    found.as_str(),
                    draft.entry.text
                );
            }
            for name in draft.entry.text.split(|ch: char| !(ch.is_alphanumeric() || ch == '_')) {
                let is_code = name.contains('_') || name.chars().skip(1).any(char::is_uppercase);
                assert!(!is_code || sources.contains(name), "{name}: {}", draft.entry.text);
            }
        }
        refused += usize::from(decision.drafts.is_empty());
    }
    println!("{accepted} entries accepted, {refused} replies refused");
    assert!(accepted > 0 && refused > 0);
}

#[test]
fn e12_recall_over_merges_is_compared_with_recall_over_sources() {
    let case = Merging::new("openai-compatible");
    case.home.run(&["eval", "recall"]).code(8);
    case.add(NOTES);
    case.server.replies(text(&berth()));
    case.run();
    let found = case.home.json(&["eval", "recall", "--k", "5"]);
    assert_eq!(found["standin: probes"], 3, "{found}");
    assert_eq!(found["standin: recall@5 over sources"], 1.0);
    assert_eq!(found["standin: recall@5 over merged"], 1.0);
    // A merge that lost a fact loses its probe.
    let mut store = store(&case);
    store
        .write(|tx| {
            let sql = "UPDATE entry SET text = 'The berth buffer is 25 m.' WHERE state = 'proven'";
            Ok(tx.execute(sql, []).map(drop)?)
        })
        .unwrap();
    let found = case.home.json(&["eval", "recall"]);
    let merged = found["standin: recall@5 over merged"].as_f64().unwrap();
    assert!((merged - 2.0 / 3.0).abs() < 0.01, "{found}");
}

#[test]
fn e15_a_changed_model_or_runtime_warns_until_it_is_pinned_anew() {
    let case = Merging::new("llama-server");
    let weights = case.home.path().join("small-Q4_K_M.gguf");
    std::fs::write(&weights, b"weights").unwrap();
    let props = |build: &str| {
        Reply::json(
            200,
            &json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1,
                "model_path": weights, "model_alias": "standin", "build_info": build}),
        )
    };
    case.server.route("GET /props", props("b1"));
    case.server.replies([Reply::text("ready")]);
    let pinned: Value =
        serde_json::from_str(&case.home.run(&["doctor", "--pin", "--json"]).success().out).unwrap();
    let identity = &pinned["pinned"]["identity"];
    assert_eq!(
        (&identity["quantisation"], &identity["runtime"]),
        (&json!("Q4_K_M"), &json!("llama.cpp b1"))
    );
    assert!(identity["digest"].as_str().unwrap().starts_with("blake3:"));
    assert_eq!(pinned["pinned"]["prompt"].as_str().unwrap().len(), 8);
    case.home.run(&["doctor"]).success();
    std::fs::write(&weights, b"other weights").unwrap();
    case.server.route("GET /props", props("b2"));
    let outcome = case.home.run(&["doctor"]).code(6);
    for part in
        ["pinned digest was", "pinned runtime was llama.cpp b1", "prompt replay", "doctor --pin"]
    {
        assert!(outcome.said().contains(part), "{part} in {}", outcome.out);
    }
    case.add(NOTES);
    case.server.replies(text(&berth()));
    let tick = case.home.run(&[
        "run",
        "--phase",
        "buffer",
        "--phase",
        "connect",
        "--phase",
        "consolidate",
    ]);
    assert!(tick.said().contains("pinned runtime was llama.cpp b1"), "{}", tick.out);
    case.server.replies([Reply::text("ready")]);
    case.home.run(&["doctor", "--pin"]).success();
}

#[test]
fn e10_reasons_are_asked_for_and_counted() {
    let rules = MERGE_RULES.to_lowercase();
    assert!(rules.contains("why a decision was made") && rules.contains("reason"));
    let notes = [
        "The quay wall is checked weekly because salt eats the joints",
        "The quay wall check takes 40 minutes",
        "The quay wall check is logged in wall.csv",
    ];
    let kept = "The quay wall is checked weekly because salt eats the joints; it takes 40 minutes and is logged in wall.csv.";
    let lost = "The quay wall is checked weekly, salt eats the joints; it takes 40 minutes and is logged in wall.csv.";
    for (merge, wanted) in [(kept, 1.0), (lost, 0.0)] {
        let bench = Bench::new();
        bench.cluster(&notes);
        bench
            .server
            .replies([Reply::text(merged(merge).replace("Berth buffer", "Quay wall check"))]);
        bench.run();
        let line = lifecycle::store::quality(bench.store().reader(), 800, false).unwrap().remove(0);
        assert_eq!((line.kept_reason, line.accepted), (Some(wanted), 1.0), "{merge}");
    }
}

#[test]
fn e11_a_merge_is_undone_and_its_sources_are_as_before() {
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    case.server.replies(text(&berth()));
    case.run();
    assert_eq!(case.proven().len(), 1);
    let sources = case.states();
    assert_eq!(sources.iter().filter(|(_, state)| state == "merged").count(), 3);
    case.home.run(&["undo"]).success();
    assert!(case.proven().is_empty());
    assert_eq!(case.states().iter().filter(|(_, state)| state == "buffered").count(), 3);
}

#[test]
fn e14_the_table_of_quality_on_the_command_line() {
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    case.server.replies(text(&berth()));
    case.run();
    let found = case.home.json(&["report", "quality", "--by-model", "--last", "800"]);
    let line = &found["models"][0];
    for name in [
        "bad_kind",
        "bad_attribution",
        "duplicate_title",
        "length",
        "no_file",
        "invented_fact",
        "lossy",
    ] {
        assert!(line[name].is_number(), "{name} in {line}");
    }
    let days = case.home.json(&["report", "quality", "--by-model", "--by-day"]);
    assert!(days["models"][0]["day"].is_string());
}

#[test]
fn a12_the_model_file_and_the_prompt_have_one_text() {
    let case = Merging::new("ollama");
    let file = case.home.run(&["model-file"]).success().out;
    let prompt = case.home.run(&["prompt", "show"]).success().out;
    assert!(file.contains(prompt.trim()), "{file}");
    assert_eq!(prompt.trim(), consolidate::prompt::fixed(MERGE_RULES).trim());
    case.add(NOTES);
    case.server.replies(text(&berth()));
    case.run();
    assert!(case.server.chats()[0].prompt().starts_with(prompt.trim()));
}
