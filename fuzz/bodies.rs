//! What each fuzzer does with its bytes: one function a kind of input, which fails by a panic.
//!
//! The fuzzers of `cargo fuzz` call them with bytes that coverage led to; the suite calls the same
//! with mutations of the corpus, so that every machine that runs the tests runs them.

use lifecycle::capture::transcript::{self, Cursor, Limits};
use lifecycle::capture::{Assistant, hook, object};
use lifecycle::config::{Layers, Origin};
use lifecycle::model::provider::Provider;
use lifecycle::model::wire::{self, HttpReply, Wire};
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle::targets::{self, Change, Format, LineOp, Moved};
use lifecycle_phases::consolidate::reply;
use lifecycle_phases::{Plan, age};
use std::io::Write;

/// A name and its function.
pub type Body = (&'static str, fn(&[u8]));

/// All of them, by the name of their corpus.
pub const ALL: &[Body] = &[
    ("hook", hook_json),
    ("transcript", transcript_lines),
    ("reply", model_reply),
    ("plan", plan_file),
    ("markdown", markdown),
    ("toml", toml),
    ("yaml", yaml),
    ("json", json),
    ("config", config),
    ("embeddings", embeddings),
];

/// The JSON that a hook is given: any field may be missing or of another type.
pub fn hook_json(bytes: &[u8]) {
    let paths = Paths { data: "/d".into(), config_file: "/c".into(), home: "/h".into() };
    let object = object::first_object(bytes, 1 << 20);
    for assistant in [Assistant::ClaudeCode, Assistant::Codex] {
        let told = hook::announcement(assistant, bytes, &paths, 7);
        assert_eq!(told, hook::announcement(assistant, bytes, &paths, 7));
        if let Some(object) = &object {
            assert!(object.len() <= bytes.len());
            let _ = hook::announcement(assistant, object, &paths, 7);
        }
    }
}

/// Lines of a conversation: read in two steps they are what they are in one.
pub fn transcript_lines(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("written");
    let read = |cursor: &Cursor| {
        let mut said = 0;
        let reading = transcript::read(file.path(), cursor, Limits::default(), &mut |part, _| {
            said += part.len();
        });
        (reading.expect("nothing in a file is an error"), said)
    };
    let (whole, _) = read(&Cursor::default());
    assert!(whole.read <= bytes.len() as u64);
    let (again, said) = read(&whole.cursor);
    assert_eq!((again.read, said, again.restarted), (0, 0, false));
}

/// What a model answers, as text and as the body of each dialect.
pub fn model_reply(bytes: &[u8]) {
    if let Ok(found) = reply::parse(bytes) {
        assert!(found.entries.iter().all(|entry| !entry.text.trim().is_empty()));
        assert!(found.entries.iter().all(|entry| !entry.text.contains(['\0', '\u{202e}'])));
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = age::answer(&text);
    let _ = reply::without_reasoning(&text);
    for provider in providers() {
        let wire = Wire {
            rules: "r",
            data: "d",
            schema: None,
            strict_schema: None,
            max_tokens: 100,
            context: 4096,
            thinking: false,
        };
        for status in [200, 400, 429, 500] {
            let answer =
                HttpReply { status, retry_after: None, body: bytes.to_vec(), wall_ms: 1.0 };
            let (_, _, result) = wire::read(provider, &wire, &answer, 7);
            assert!(status == 200 || result.is_err());
        }
    }
}

/// One provider of each dialect.
fn providers() -> &'static [Provider] {
    static PROVIDERS: std::sync::LazyLock<Vec<Provider>> = std::sync::LazyLock::new(|| {
        let kinds = ["ollama", "llama-server", "openai-compatible", "gemini"];
        let mut layers = Layers::defaults();
        let text: String = kinds
            .iter()
            .map(|kind| {
                format!(
                    "[consolidate.providers.{kind}]\nkind = \"{kind}\"\nmodel = \"m\"\n\
                     url = \"http://127.0.0.1:9\"\n"
                )
            })
            .collect();
        layers.merge_text(&text, Origin::Flag).expect("settings");
        let settings = layers.settings().expect("settings").consolidate;
        kinds.iter().filter_map(|kind| Provider::resolve(kind, &settings).ok()).collect()
    });
    &PROVIDERS
}

/// A plan file: what parses is the same when written and read again, and each of its steps either
/// applies to a store or is refused.
pub fn plan_file(bytes: &[u8]) {
    let Ok(plan) = serde_json::from_slice::<Plan>(bytes) else { return };
    let text = serde_json::to_string(&plan).expect("a plan can be written");
    let again: Plan = serde_json::from_str(&text).expect("and read");
    assert_eq!(serde_json::to_string(&again).expect("and written"), text);
    let mut store = Store::in_memory().expect("a store");
    for planned in &plan.steps {
        for requirement in &planned.requirements {
            let _ = store::check(store.reader(), requirement);
        }
        // What a step does half is taken back with its transaction.
        let done = store.write(|tx| store::apply(tx, &planned.step, plan.now, &planned.reason));
        if let (Ok(()), Some(inverse)) = (done, planned.step.inverse()) {
            let _ = store.write(|tx| store::apply(tx, &inverse, plan.now, "undo"));
        }
    }
    let broken: i64 = store
        .reader()
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(broken, 0);
}

/// Markdown files with a line of ours.
pub fn markdown(bytes: &[u8]) {
    target(Format::Markdown, bytes, &[]);
    target(Format::Markdown, bytes, &["Tests"]);
}

/// TOML files with a line of ours.
pub fn toml(bytes: &[u8]) {
    target(Format::Toml, bytes, &["rules"]);
    target(Format::Toml, bytes, &["tool", "notes"]);
}

/// YAML files with a line of ours.
pub fn yaml(bytes: &[u8]) {
    target(Format::Yaml, bytes, &["rules"]);
    target(Format::Yaml, bytes, &["tool", "notes"]);
}

/// JSON files with a line of ours.
pub fn json(bytes: &[u8]) {
    target(Format::Json, bytes, &["rules"]);
    target(Format::Json, bytes, &["tool", "notes"]);
}

const LINE: &str = "Deploys: `v1` \"quoted\" # and @home, 100 %";

/// A line is added, is not added again, and leaves; every other line stays as it was.
fn target(format: Format, base: &[u8], section: &[&str]) {
    let section: Vec<String> = section.iter().map(ToString::to_string).collect();
    let op = |change| LineOp { section: section.clone(), line: LINE.to_string(), change };
    let _ = targets::survey(format, base, &section);
    let Ok(added) = targets::render(format, base, &[op(Change::Add)]) else { return };
    let again = targets::render(format, &added, &[op(Change::Add)]).expect("it was right before");
    assert_eq!(
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(&added),
        "added a second time"
    );
    let gone = targets::render(format, &added, &[op(Change::Withdraw)]).expect("it stands there");
    let had = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(targets::BEGIN);
    // Blocks that stood there before may be folded into one.
    if format == Format::Markdown && !had(base) && !String::from_utf8_lossy(base).contains(LINE) {
        assert_eq!(
            String::from_utf8_lossy(&gone),
            String::from_utf8_lossy(base),
            "taken out again"
        );
    }
    let _ = targets::strip(format, &added, &section, &[LINE.to_string()]);
}

/// A settings file.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut layers = Layers::defaults();
    if layers.merge_text(text, Origin::Flag).is_ok()
        && let Ok(settings) = layers.settings()
    {
        let names = settings.consolidate.model.list();
        for name in names {
            let _ = Provider::resolve(name, &settings.consolidate);
        }
        let _ = targets::Targets::load(&settings.route.targets, &Moved::default());
        let _ = lifecycle::schedule::Expression::parse(&settings.schedule.cron);
        let _ = lifecycle::redact::Redactor::new(&settings.redact.patterns);
    }
}

/// The answer of an embedding server: as many vectors as texts, whatever it holds.
pub fn embeddings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for count in [0, 1, 3] {
        if let Some(vectors) = lifecycle::embed::http::read_answer(&text, count) {
            assert_eq!(vectors.len(), count);
            for vector in vectors {
                let length = vector.len();
                if let Ok(unit) = lifecycle::embed::unit(vector, length) {
                    assert!(unit.iter().all(|number| number.is_finite()));
                }
            }
        }
    }
}
