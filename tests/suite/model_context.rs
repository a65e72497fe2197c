//! Context length: where it is learnt, what is done with a prompt that exceeds it, and how each
//! runtime says so. Each test is named after the requirement it proves (docs/models.md).

use crate::consolidate::Bench;
use crate::support::merging::Merging;
use crate::support::standin::{Reply, Request};
use lifecycle::ExitCode;
use lifecycle::model::http::Http;
use lifecycle::model::provider::Provider;
use lifecycle::model::server::{Origin, learn};
use lifecycle_phases::State;
use serde_json::json;

#[test]
fn c2_the_context_is_the_servers_own_word() {
    let bench =
        |kind: &str| Bench::of_kind(kind, "[consolidate.providers.m]\nkey_env = \"PATH\"\n");
    let cases = [
        (
            "llama-server",
            "GET /props",
            json!({"default_generation_settings": {"n_ctx": 3000}, "total_slots": 2}),
            3000,
        ),
        (
            "openai-compatible",
            "GET /api/v0/models",
            json!({"data": [{"id": "standin", "loaded_context_length": 5000}]}),
            5000,
        ),
        (
            "openai-compatible",
            "GET /v1/models",
            json!({"data": [{"id": "standin", "max_model_len": 6000}]}),
            6000,
        ),
        (
            "openrouter",
            "GET /v1/models",
            json!({"data": [{"id": "other", "context_length": 1}, {"id": "standin", "context_length": 7000}]}),
            7000,
        ),
        (
            "groq",
            "GET /v1/models",
            json!({"data": [{"id": "standin", "context_window": 8000}]}),
            8000,
        ),
        ("gemini", "GET /v1beta/models/standin", json!({"inputTokenLimit": 9000}), 9000),
        (
            "ollama",
            "GET /api/tags",
            json!({"models": [{"name": "standin", "details": {"context_length": 2000}}]}),
            2000,
        ),
    ];
    for (kind, route, body, wanted) in cases {
        let bench = bench(kind);
        bench.server.route(route, Reply::json(200, &body));
        let provider = Provider::resolve("m", &bench.settings.consolidate).unwrap();
        let server = learn(&Http::new().unwrap(), &provider).unwrap();
        assert_eq!((server.context, server.origin), (wanted, Origin::Server), "{kind} {route}");
    }
    // Older Ollama: only /api/show tells.
    let old = bench("ollama");
    old.server.route(
        "GET /api/tags",
        Reply::json(200, &json!({"models": [{"name": "standin:latest", "details": {}}]})),
    );
    old.server.route(
        "POST /api/show",
        Reply::json(
            200,
            &json!({"model_info": {"general.architecture": "llama", "llama.context_length": 2500}}),
        ),
    );
    let provider = Provider::resolve("m", &old.settings.consolidate).unwrap();
    let server = learn(&Http::new().unwrap(), &provider).unwrap();
    assert_eq!((server.context, server.origin), (2500, Origin::Server));
    // Nobody tells: a low value, and said to be assumed; a setting is above everything.
    let silent = bench("openai-compatible");
    let provider = Provider::resolve("m", &silent.settings.consolidate).unwrap();
    let server = learn(&Http::new().unwrap(), &provider).unwrap();
    assert_eq!((server.context, server.origin), (4096, Origin::Assumed));
    let set = Provider { context_tokens: 1234, ..provider };
    let server = learn(&Http::new().unwrap(), &set).unwrap();
    assert_eq!((server.context, server.origin), (1234, Origin::Setting));
}

/// A note of about 1,000 bytes whose every word is its own.
fn long_note(n: usize) -> String {
    let rows: Vec<String> = (0..140).map(|i| format!("row{n}x{i}")).collect();
    format!("Quay {n} keeps {}", rows.join(" "))
}

/// The notes of a prompt as one merge.
fn faithful(request: &Request) -> Reply {
    let prompt = request.prompt();
    let data = &prompt[prompt.find("BEGIN NOTES").unwrap()..];
    let notes: Vec<&str> = data.lines().filter(|line| line.starts_with("Quay")).collect();
    let labels: Vec<String> = (1..=notes.len()).map(|n| format!("n{n}")).collect();
    let number = notes[0].split_whitespace().nth(1).unwrap();
    let entry = json!({"kind": "insight", "sources": labels, "text": notes.join(". "), "title": format!("Quay {number}")});
    Reply::text(json!({"entries": [entry]}).to_string())
}

#[test]
fn c5_a_cluster_that_is_too_long_goes_in_parts_and_no_note_is_cut() {
    let bench = Bench::with("[consolidate.call]\ncontext_tokens = 4096\n");
    let texts: Vec<String> = (0..9).map(long_note).collect();
    let ids = bench.cluster(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    bench.server.replies([Reply::with(faithful)]);
    let run = bench.run();
    let said = serde_json::to_string(&run.report).unwrap();
    assert_eq!(run.code, ExitCode::Success, "{said}");
    assert!(said.contains("go in parts"), "{said}");
    let prompts: Vec<String> = bench.server.chats().iter().map(Request::prompt).collect();
    assert!(prompts.len() > 1);
    for text in &texts {
        assert_eq!(prompts.iter().filter(|prompt| prompt.contains(text)).count(), 1);
    }
    assert!(ids.iter().all(|id| bench.state(id) == State::Merged));
    assert_eq!(bench.proven().len(), prompts.len());
}

#[test]
fn c5_what_cannot_be_cut_is_refused_with_its_numbers() {
    let bench = Bench::with("[consolidate.call]\ncontext_tokens = 2400\n");
    let texts: Vec<String> = (0..4).map(long_note).collect();
    let ids = bench.cluster(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let run = bench.run();
    let said = serde_json::to_string(&run.report).unwrap();
    assert!(said.contains("prompt_too_long") && said.contains("2400"), "{said}");
    assert!(bench.server.chats().is_empty());
    bench.all_buffered(&ids);
}

#[test]
fn c11_a_reply_that_stays_cut_is_tried_with_smaller_parts() {
    let bench = Bench::with("[consolidate.call]\nmax_tokens = 100\nmax_tokens_limit = 100\n");
    let texts: Vec<String> =
        (0..6).map(|n| format!("Quay {n} keeps row{n}a row{n}b row{n}c")).collect();
    let ids = bench.cluster(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let cut = json!({"choices": [{"finish_reason": "length", "message": {"content": "{\"entr"}}]});
    bench.server.replies([Reply::with(move |request: &Request| {
        let notes = request.prompt().lines().filter(|line| line.starts_with("Quay")).count();
        if notes > 3 { Reply::json(200, &cut) } else { faithful(request) }
    })]);
    assert_eq!(bench.run().code, ExitCode::Success);
    assert_eq!(bench.server.chats().len(), 3);
    assert!(ids.iter().all(|id| bench.state(id) == State::Merged));
}

/// One row of the table in docs/models.md each.
#[test]
fn c13_each_row_of_the_table_of_runtimes() {
    let docs = include_str!("../../docs/models.md");
    let nested = "{\"error\":{\"code\":400,\"message\":\"request (1256 tokens) exceeds the available context size (512 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":1256,\"n_ctx\":512}}";
    let rows = [
        ("Ollama `/api/chat`", "ollama", 400, json!({ "error": nested })),
        (
            "llama-server",
            "llama-server",
            400,
            json!({"error": {"code": 400, "message": "request (12030 tokens) exceeds the available context size (8192 tokens)", "type": "exceed_context_size_error", "n_prompt_tokens": 12030, "n_ctx": 8192}}),
        ),
        (
            "vLLM",
            "openai-compatible",
            400,
            json!({"object": "error", "message": "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens", "type": "BadRequestError", "code": 400}),
        ),
        (
            "LM Studio",
            "openai-compatible",
            400,
            json!({"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}),
        ),
        (
            "OpenRouter, Groq",
            "groq",
            400,
            json!({"error": {"message": "too long", "code": "context_length_exceeded"}}),
        ),
        (
            "Gemini",
            "gemini",
            400,
            json!({"error": {"code": 400, "message": "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}),
        ),
    ];
    for (row, kind, status, body) in rows {
        assert!(docs.contains(&format!("| {row} |")), "docs/models.md has no row {row}");
        let bench = Bench::of_kind(kind, "[consolidate.providers.m]\nkey_env = \"PATH\"\n");
        let ids = bench.cluster(&crate::consolidate::BERTH);
        bench.server.replies([Reply::json(status, &body)]);
        bench.run();
        let reason: String = bench.value("SELECT reason FROM call");
        assert_eq!((reason.as_str(), bench.server.chats().len()), ("prompt_too_long", 1), "{row}");
        bench.all_buffered(&ids);
    }
    // Ollama's other route says nothing: only the count of its reply tells.
    assert!(docs.contains("| Ollama `/v1` |"));
    let bench = Bench::with("[consolidate.call]\ncontext_tokens = 16000\n");
    let long: Vec<String> =
        (0..3).map(|n| format!("Quay {n} {}", "keeps its own rows ".repeat(150))).collect();
    let ids = bench.cluster(&long.iter().map(String::as_str).collect::<Vec<_>>());
    let body = json!({"choices": [{"finish_reason": "stop", "message": {"content": "{}"}}], "usage": {"prompt_tokens": 258, "completion_tokens": 9}});
    bench.server.replies([Reply::json(200, &body)]);
    bench.run();
    let reason: String = bench.value("SELECT reason FROM call");
    assert_eq!(reason, "suspected_truncation");
    bench.all_buffered(&ids);
}

#[test]
fn c12_the_memory_arithmetic_is_printed_and_documented() {
    let case = Merging::new("llama-server");
    let props = json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 3});
    case.server.route("GET /props", Reply::json(200, &props));
    case.server.replies([Reply::text("ready")]);
    let out = case.home.run(&["doctor"]).said();
    for part in ["slots x context = 24576 tokens", "q8_0 halves it", "q4_0", "flash attention"] {
        assert!(out.contains(part), "{part} in {out}");
    }
    let docs = include_str!("../../docs/models.md");
    for part in
        ["parallel slots × context", "OLLAMA_KV_CACHE_TYPE=q8_0", "OLLAMA_FLASH_ATTENTION=1"]
    {
        assert!(docs.contains(part), "{part}");
    }
}

#[test]
fn h5_the_checklist_says_what_the_engine_does_itself() {
    let docs = include_str!("../../docs/models.md");
    for part in [
        "Tokenise the prompt",
        "State the context explicitly",
        "cuts or refuses",
        "Split what does not fit",
        "Keep state on disk",
        "Log the prompt tokens",
        "Quantise the KV cache",
        "truncating input prompt",
    ] {
        let row = docs.lines().find(|line| line.starts_with('|') && line.contains(part));
        assert!(row.is_some_and(|row| row.contains("the engine") || row.contains("you")), "{part}");
    }
}
