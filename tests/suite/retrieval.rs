//! Search: by meaning, by words, by both, and what it does when a part cannot work.

use crate::support::{Home, models};
use lifecycle::config::{EmbedSettings, Layers};
use lifecycle::embed::onnx::OnnxEmbedder;
use lifecycle::embed::{Catalog, Embedder, Role, runtime};
use lifecycle::store::{self, Store};
use lifecycle_phases::step::Standing;
use lifecycle_phases::{Actor, Channel, Entry, EntryId, Kind, Source, State, Step};
use serde_json::Value;
use std::time::Duration;

const NOW: i64 = 1_781_049_600_000;

fn open(home: &Home) -> Store {
    std::fs::create_dir_all(home.store()).unwrap();
    Store::open_file(&home.database(), Duration::from_secs(5)).unwrap()
}

fn entry(text: &str, kind: Kind, project: Option<&str>) -> Entry {
    let source = Source::new(Channel::Cli, Actor::User);
    Entry::new(text, kind, project.map(str::to_string), NOW, source)
}

fn perform(store: &mut Store, steps: &[Step]) {
    store
        .write(|tx| steps.iter().try_for_each(|step| store::apply(tx, step, NOW, "test")))
        .unwrap();
}

fn admit(home: &Home, entries: &[Entry]) {
    let steps: Vec<Step> =
        entries.iter().map(|entry| Step::Admit { entry: Box::new(entry.clone()) }).collect();
    perform(&mut open(home), &steps);
}

/// The shipped small model.
fn embedder() -> OnnxEmbedder {
    let mut settings: EmbedSettings = Layers::defaults().settings().unwrap().embed;
    settings.onnxruntime = runtime::installed_library(&models()).display().to_string();
    let descriptor = Catalog::shipped().get("all-minilm-l6-v2").unwrap().clone();
    OnnxEmbedder::new(descriptor, &settings, &models())
}

fn embed(home: &Home, entries: &[Entry]) {
    let embedder = embedder();
    let texts: Vec<String> = entries.iter().map(|entry| entry.text.clone()).collect();
    let vectors = embedder.embed(&texts, Role::Document);
    let steps: Vec<Step> = entries
        .iter()
        .zip(vectors)
        .map(|(entry, vector)| Step::Embed {
            entry: entry.id.clone(),
            descriptor: embedder.descriptor().id(),
            vector: vector.unwrap(),
        })
        .collect();
    perform(&mut open(home), &steps);
}

fn texts(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|hit| hit["text"].as_str().unwrap()).collect()
}

#[test]
fn meaning_finds_what_shares_no_word() {
    let home = Home::new();
    let entries = [
        entry("Pilots board at the outer buoy", Kind::Insight, None),
        entry("The invoice template uses A4 paper", Kind::Insight, None),
        entry("Database backups run every night at two", Kind::Insight, None),
    ];
    admit(&home, &entries);
    embed(&home, &entries);
    let answer = home.json(&["search", "when is data saved to the archive", "--explain"]);
    assert_eq!(answer["mode"], "hybrid");
    assert_eq!(texts(&answer)[0], "Database backups run every night at two");
    let best = &answer["results"][0];
    assert_eq!(best["created"], "2026-06-10T00:00:00Z");
    assert!(best["explanation"]["dense"]["share"].as_f64().unwrap() >= 0.5);
    assert_eq!(answer["notes"], serde_json::json!([]));
}

#[test]
fn without_vectors_words_find_it_and_it_is_said() {
    let home = Home::new();
    admit(&home, &[entry("Pilots board at the outer buoy", Kind::Insight, None)]);
    let outcome = home.run(&["search", "where do pilots board"]).success();
    assert!(outcome.out.contains("outer buoy"));
    assert!(outcome.err.contains("searched by words only"), "{}", outcome.err);
    let answer = home.json(&["search", "where do pilots board"]);
    assert_eq!(answer["mode"], "lexical");
    assert_eq!(answer["not_embedded"], 1);
    assert_eq!(texts(&answer), ["Pilots board at the outer buoy"]);
}

#[test]
fn a_model_that_cannot_be_loaded_leaves_words() {
    let mut home = Home::new();
    let entries = [entry("Pilots board at the outer buoy", Kind::Insight, None)];
    admit(&home, &entries);
    embed(&home, &entries);
    home.set("LIFECYCLE_MODELS", "/nonexistent");
    let answer = home.json(&["search", "pilots"]);
    assert_eq!(answer["mode"], "lexical");
    assert!(answer["notes"][0].as_str().unwrap().contains("not installed"), "{answer}");
    assert_eq!(texts(&answer).len(), 1);
    let unknown = home.json(&["search", "pilots", "--set", "embed.model=nope"]);
    assert_eq!(texts(&unknown).len(), 1);
}

#[test]
fn identifiers_parts_paths_and_flags_are_found() {
    let home = Home::new();
    let notes = [
        "getUserName caches in memory",
        "raise max_links in config/default.toml",
        "pass --no-model to skip it",
        "设置固定端口八千",
    ];
    admit(&home, &notes.map(|text| entry(text, Kind::Insight, None)));
    for (query, at) in [
        ("user name", 0),
        ("GETUSERNAME", 0),
        ("max links", 1),
        ("default.toml", 1),
        ("--no-model", 2),
        ("固定端口", 3),
        ("端口", 3),
        ("固", 3),
    ] {
        let outcome = home.run(&["search", "--only", "words", "--json", "--", query]).success();
        let answer: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!(texts(&answer)[0], notes[at], "{query}");
    }
}

#[test]
fn search_syntax_is_plain_text() {
    let home = Home::new();
    admit(&home, &[entry("alpha NEAR beta", Kind::Insight, None)]);
    for query in [
        "\"alpha",
        "NEAR(",
        "alpha AND",
        "title:alpha",
        "alpha*",
        "'; DROP TABLE entry; --",
        "-alpha",
        "^alpha",
        "(",
        "{a b}: x",
        "%",
        "\u{1}\u{1b}[31m",
    ] {
        home.run(&["search", "--", query]).success();
    }
    assert_eq!(home.texts(&[]).len(), 1);
    home.run(&["search", "  "]).code(8);
}

#[test]
fn filters_act_inside_both_parts() {
    let home = Home::new();
    let mut entries: Vec<Entry> = (0..300)
        .map(|n| entry(&format!("harbor pilot rule number {n}"), Kind::Insight, Some("/a")))
        .collect();
    entries.push(entry("harbor pilot decision", Kind::Decision, Some("/b")));
    admit(&home, &entries);
    embed(&home, &entries[295..]);
    for filter in [["--project", "/b"], ["--kind", "decision"]] {
        let answer = home.json(&["search", "harbor pilot rule number 7", filter[0], filter[1]]);
        assert_eq!(texts(&answer), ["harbor pilot decision"], "{filter:?}");
    }
    let three = home.json(&["search", "harbor pilot", "-k", "3"]);
    assert_eq!(texts(&three).len(), 3);
    home.run(&["search", "x", "--kind", "nope"]).code(8);
}

/// Three notes merged into one proven entry.
fn merged(home: &Home) -> (Entry, Vec<Entry>) {
    let notes: Vec<Entry> = ["first", "second", "third"]
        .iter()
        .map(|word| entry(&format!("{word} word on the berth buffer"), Kind::Insight, None))
        .collect();
    admit(home, &notes);
    let mut proven = entry("The berth buffer is 40 metres", Kind::Insight, None);
    let ids: Vec<EntryId> = notes.iter().map(|note| note.id.clone()).collect();
    proven.id = EntryId::of_merge(None, &proven.content_hash, &ids);
    proven.state = State::Proven;
    proven.generated_by = Some("extractive".into());
    let sources = ids
        .into_iter()
        .map(|entry| Standing { entry, state: State::Buffered, kept: false })
        .collect();
    let merge = Step::Merge {
        cluster: String::new(),
        proven: Box::new(proven.clone()),
        sources,
        links: Vec::new(),
        replaces: Vec::new(),
        descriptor: "other@0".into(),
        vector: vec![1.0],
        calls: Vec::new(),
    };
    perform(&mut open(home), &[merge]);
    (proven, notes)
}

#[test]
fn merged_entries_leave_search_and_name_each_other_with_all() {
    let home = Home::new();
    let (proven, notes) = merged(&home);
    let answer = home.json(&["search", "berth buffer"]);
    assert_eq!(texts(&answer), [proven.text.as_str()]);
    let all = home.json(&["search", "berth buffer", "--all"]);
    assert_eq!(texts(&all).len(), 4);
    for hit in all["results"].as_array().unwrap() {
        if hit["state"] == "merged" {
            assert_eq!(hit["lives_on_in"], proven.id.as_str());
        } else {
            assert_eq!(hit["made_from"].as_array().unwrap().len(), notes.len());
        }
    }
}

#[test]
fn a_merged_entry_without_its_successor_is_found() {
    let home = Home::new();
    let (proven, notes) = merged(&home);
    let delete = format!("DELETE FROM entry WHERE id = '{}'", proven.id);
    open(&home).write(|tx| Ok(tx.execute_batch(&delete)?)).unwrap();
    assert_eq!(texts(&home.json(&["search", "berth buffer"])).len(), notes.len());
}

#[test]
fn a_search_changes_no_byte_and_is_the_same_each_time() {
    let home = Home::new();
    let notes: Vec<Entry> =
        (0..30).map(|n| entry(&format!("equal words {n}"), Kind::Insight, None)).collect();
    admit(&home, &notes);
    let before = std::fs::read(home.database()).unwrap();
    let first = home.json(&["search", "equal words", "--all"]);
    for _ in 0..3 {
        assert_eq!(home.json(&["search", "equal words", "--all"]), first);
    }
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
    assert_eq!(home.json(&["history"]).as_array().unwrap().len(), 0);
}

#[test]
fn useless_vectors_take_no_part() {
    let home = Home::new();
    let entries = [
        entry("alpha one", Kind::Insight, None),
        entry("alpha two", Kind::Insight, None),
        entry("alpha three", Kind::Insight, None),
    ];
    admit(&home, &entries);
    embed(&home, &entries);
    let mut store = open(&home);
    let nan: Vec<u8> = [f32::NAN; 384].iter().flat_map(|value| value.to_le_bytes()).collect();
    store
        .write(|tx| {
            tx.execute("UPDATE vector SET data = ?1 WHERE entry = 1", [nan])?;
            tx.execute("UPDATE vector SET data = x'00' WHERE entry = 2", [])?;
            Ok(())
        })
        .unwrap();
    let answer = home.json(&["search", "alpha", "--explain"]);
    assert_eq!(texts(&answer).len(), 3);
    let dense = answer["results"].as_array().unwrap().iter();
    assert_eq!(dense.filter(|hit| hit["explanation"].get("dense").is_some()).count(), 1);
}

#[test]
fn slips_and_starts_of_compounds_are_found_by_words() {
    let home = Home::new();
    let notes = ["The harbor master signs", "Der Funktionsaufruf schlägt fehl", "Tides"];
    admit(&home, &notes.map(|text| entry(text, Kind::Insight, None)));
    for (query, at) in [("harbur", 0), ("harobr", 0), ("masters", 0), ("Funktion", 1)] {
        let answer = home.json(&["search", "--only", "words", query]);
        assert_eq!(texts(&answer), [notes[at]], "{query}");
    }
    assert!(texts(&home.json(&["search", "--only", "words", "zebra"])).is_empty());
}

#[test]
fn of_a_very_long_query_the_beginning_is_looked_for() {
    let home = Home::new();
    admit(&home, &[entry("The harbor master signs", Kind::Insight, None)]);
    let query = format!("harbor {}", "ä word ".repeat(4_000));
    let answer = home.json(&["search", "--only", "words", &query]);
    assert_eq!(texts(&answer), ["The harbor master signs"]);
    assert!(answer["notes"].to_string().contains("2000"), "{answer}");
    let short = home.json(&["search", "--only", "words", "harbor"]);
    assert!(!short["notes"].to_string().contains("2000"), "{short}");
}

#[test]
fn a_candidate_by_words_has_its_cosine_too() {
    let home = Home::new();
    let mut entries: Vec<Entry> = (0..150)
        .map(|n| entry(&format!("Backups of database {n} run at night"), Kind::Insight, None))
        .collect();
    // Far from the query in meaning, so the vectors alone would not bring it.
    entries.push(entry("xylophone 8080", Kind::Insight, None));
    admit(&home, &entries);
    embed(&home, &entries);
    let all = home.json(&["search", "when do backups run at night 8080", "--explain", "-k", "100"]);
    let hit = all["results"].as_array().unwrap().iter().find(|hit| hit["text"] == "xylophone 8080");
    assert!(hit.unwrap()["explanation"]["dense"]["rank"].as_u64().unwrap() > 100, "{hit:?}");
}

#[test]
fn reindex_makes_everything_derived_anew() {
    let home = Home::new();
    let entries = [entry("Pilots board at the outer buoy", Kind::Insight, None)];
    admit(&home, &entries);
    embed(&home, &entries);
    home.run(&["add-text", "# Berths\n\nThe buffer is 40 metres", "--name", "b"]).success();
    let before = home.json(&["search", "where do pilots board", "--explain"]);
    // Words of one text lost, words of none left over, a wrong vector, a piece cut otherwise, and a
    // stale file of the index.
    let mut store = open(&home);
    store
        .write(|tx| {
            tx.execute("DELETE FROM term WHERE rowid = 2", [])?;
            tx.execute("INSERT INTO term (rowid, title, body) VALUES (9998, '', 'ghost')", [])?;
            tx.execute("UPDATE vector SET data = zeroblob(1536)", [])?;
            tx.execute("UPDATE chunk SET text = 'cut otherwise'", [])?;
            Ok(())
        })
        .unwrap();
    drop(store);
    let index = home.store().join("index");
    std::fs::create_dir_all(&index).unwrap();
    std::fs::write(index.join("x.index"), "stale").unwrap();
    assert_ne!(home.json(&["search", "where do pilots board", "--explain"]), before);

    let done = home.json(&["reindex", "--vectors"]);
    assert_eq!(
        (&done["texts"], &done["recut"], &done["vectors"]),
        (&2.into(), &1.into(), &2.into())
    );
    assert_eq!((&done["files"], &done["notes"]), (&1.into(), &serde_json::json!([])));
    assert_eq!(home.json(&["search", "where do pilots board", "--explain"]), before);
    assert!(texts(&home.json(&["search", "--only", "words", "ghost"])).is_empty());
    let found = home.json(&["search", "buffer metres"]);
    assert!(texts(&found)[0].contains("40 metres"), "{found}");
    assert_eq!(home.json(&["reindex"])["recut"], 0);
}

#[test]
fn reindex_mends_a_damaged_word_table_and_works_without_a_model() {
    let mut home = Home::new();
    admit(&home, &[entry("Pilots board at the outer buoy", Kind::Insight, None)]);
    let mut store = open(&home);
    store
        .write(|tx| Ok(tx.execute_batch("UPDATE term_data SET block = x'00ff' WHERE id > 10")?))
        .unwrap();
    drop(store);
    home.run(&["reindex"]).success();
    assert_eq!(texts(&home.json(&["search", "--only", "words", "buoy"])).len(), 1);
    home.set("LIFECYCLE_MODELS", "/nonexistent");
    home.run(&["add-text", "Tides come twice"]).success();
    let outcome = home.run(&["reindex"]).code(6);
    assert!(outcome.err.contains("not embedded"), "{}", outcome.err);
    assert_eq!(texts(&home.json(&["search", "tides"])).len(), 1);
}

#[test]
fn an_unknown_word_names_those_there_are() {
    let home = Home::new();
    for args in [["list", "--state", "foo"], ["list", "--kind", "foo"]] {
        let outcome = home.run(&args).code(8);
        assert!(outcome.err.contains("hint: known:"), "{}", outcome.err);
    }
    let outcome = home.run(&["search", "x", "--state", "foo"]).code(8);
    assert!(outcome.err.contains("buffered, proven"), "{}", outcome.err);
}

#[test]
fn own_sources_are_not_listed_as_links() {
    let home = Home::new();
    let (proven, notes) = merged(&home);
    let linked =
        "INSERT INTO link (a, b, descriptor, similarity, cosine) VALUES (1, 4, 'd', 0.9, 0.9)";
    open(&home).write(|tx| Ok(tx.execute_batch(linked)?)).unwrap();
    let shown = home.json(&["show", proven.id.as_str()]);
    assert_eq!(shown["sources"].as_array().unwrap().len(), notes.len());
    assert_eq!(shown["links"], serde_json::json!([]));
    let source = home.json(&["show", notes[0].id.as_str()]);
    assert_eq!(source["links"], serde_json::json!([]));
    assert_eq!(source["proven"]["id"], proven.id.as_str());
}

#[test]
fn expired_texts_do_not_crowd_out_the_others() {
    let home = Home::new();
    let entries: Vec<Entry> =
        (0..243).map(|n| entry(&format!("note {n}"), Kind::Insight, None)).collect();
    admit(&home, &entries);
    let embedder = embedder();
    let [near, far] = ["harbor pilot", "invoice paper"]
        .map(|text| embedder.embed(&[text.to_string()], Role::Query).pop().unwrap().unwrap());
    let steps: Vec<Step> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| Step::Embed {
            entry: entry.id.clone(),
            descriptor: embedder.descriptor().id(),
            vector: if at < 3 { far.clone() } else { near.clone() },
        })
        .collect();
    perform(&mut open(&home), &steps);
    let expire = "UPDATE entry SET state = 'expired' WHERE seq > 3";
    open(&home).write(|tx| Ok(tx.execute_batch(expire)?)).unwrap();
    let answer = home.json(&["search", "--only", "meaning", "harbor pilot"]);
    assert_eq!(texts(&answer), ["note 2", "note 1", "note 0"]);
    let all = home.json(&["search", "--only", "meaning", "harbor pilot", "--all", "-k", "3"]);
    assert_eq!(texts(&all), ["note 242", "note 241", "note 240"]);
    // Beside a hit, those at zero are left out.
    let revive = "UPDATE entry SET state = 'buffered' WHERE seq = 4";
    open(&home).write(|tx| Ok(tx.execute_batch(revive)?)).unwrap();
    let answer = home.json(&["search", "--only", "meaning", "harbor pilot"]);
    assert_eq!(texts(&answer), ["note 3"]);
}
