//! Requests byte for byte, and replies as the servers' own documentation and sources show them.

use super::*;
use crate::config::{Layers, Origin};
use serde_json::json;

fn provider(kind: &str, more: &str) -> Provider {
    // A hosted kind at a loopback address needs no opt-in, only its key.
    let text = format!(
        "[consolidate.providers.m]\nkind = \"{kind}\"\nurl = \"http://127.0.0.1:11435\"\nmodel = \"small\"\nkey_env = \"PATH\"\n{more}"
    );
    let mut layers = Layers::defaults();
    layers.merge_text(&text, Origin::Flag).expect("known keys");
    Provider::resolve("m", &layers.settings().expect("valid").consolidate).expect("valid")
}

fn wire(schema: &Value) -> Wire<'_> {
    Wire {
        rules: "RULES",
        data: "NOTES",
        schema: Some(schema),
        strict_schema: Some(schema),
        max_tokens: 1024,
        context: 8192,
        thinking: true,
    }
}

fn sent(kind: &str, more: &str) -> (String, String) {
    let schema = json!({"type": "object"});
    let (address, body) = request(&provider(kind, more), &wire(&schema));
    (address, body.to_string())
}

/// The samples in docs/models.md are these bytes.
#[test]
fn a2_each_body_byte_for_byte() {
    let docs = include_str!("../../../docs/models.md");
    for (kind, path) in [
        ("ollama", "/api/chat"),
        ("llama-server", "/v1/chat/completions"),
        ("openai-compatible", "/v1/chat/completions"),
        ("gemini", "/v1beta/models/small:generateContent"),
        ("openrouter", "/v1/chat/completions"),
        ("groq", "/v1/chat/completions"),
    ] {
        let (address, body) = sent(kind, "");
        assert_eq!(address, format!("http://127.0.0.1:11435{path}"));
        assert!(docs.contains(&format!("\n{body}\n")), "docs/models.md lacks, for {kind}:\n{body}");
    }
}

#[test]
fn c3_c4_h1_ollama_always_gets_context_truncation_and_keep_alive() {
    let (_, body) = sent("ollama", "keep_alive = \"5m\"\n");
    for part in
        ["\"num_ctx\":8192", "\"truncate\":false", "\"keep_alive\":\"5m\"", "\"num_predict\":1024"]
    {
        assert!(body.contains(part), "{body}");
    }
}

#[test]
fn a10_the_rules_go_where_the_settings_say() {
    let (_, user) = sent("ollama", "");
    assert!(user.contains(r#"[{"content":"RULES\n\nNOTES","role":"user"}]"#), "{user}");
    let (_, system) = sent("ollama", "rules_in = \"system\"\n");
    assert!(
        system
            .contains(r#"[{"content":"RULES","role":"system"},{"content":"NOTES","role":"user"}]"#)
    );
    let (_, none) = sent("ollama", "rules_in = \"modelfile\"\n");
    assert!(none.contains(r#"[{"content":"NOTES","role":"user"}]"#));
    let (_, gemini) = sent("gemini", "rules_in = \"system\"\n");
    assert!(gemini.contains(r#""systemInstruction":{"parts":[{"text":"RULES"}]}"#));
}

#[test]
fn a14_thinking_is_switched_explicitly() {
    for (kind, mode, part) in [
        ("ollama", "off", r#""think":false"#),
        ("ollama", "on", r#""think":true"#),
        ("ollama", "low", r#""think":"low""#),
        ("llama-server", "off", r#""chat_template_kwargs":{"enable_thinking":false}"#),
        ("openai-compatible", "on", r#""chat_template_kwargs":{"enable_thinking":true}"#),
        ("openrouter", "off", r#""reasoning":{"enabled":false}"#),
        ("groq", "off", r#""reasoning_effort":"none""#),
        ("gemini", "off", r#""thinkingConfig":{"includeThoughts":false,"thinkingBudget":0}"#),
        ("gemini", "on", r#""thinkingBudget":-1"#),
    ] {
        let (_, body) = sent(kind, &format!("thinking = \"{mode}\"\n"));
        assert!(body.contains(part), "{kind} {mode}: {body}");
    }
    let (_, silent) = sent("ollama", "thinking = \"omit\"\n");
    assert!(!silent.contains("think"));
}

#[test]
fn a15_temperature_seed_and_budget_are_always_stated() {
    for kind in ["ollama", "llama-server", "openai-compatible", "openrouter", "groq"] {
        let (_, body) = sent(kind, "temperature = 0.25\nseed = 11\n");
        assert!(body.contains("\"temperature\":0.25") && body.contains("\"seed\":11"), "{body}");
        assert!(body.contains(":1024"), "{body}");
    }
}

#[test]
fn f8_the_key_is_a_header_and_never_in_address_or_body() {
    let secret = std::env::var("PATH").expect("a path");
    for (kind, name) in [("gemini", "x-goog-api-key"), ("groq", "authorization")] {
        let provider = provider(kind, "");
        let (header, value) = key_header(&provider).expect("a key");
        assert_eq!(header, name);
        assert!(value.ends_with(secret.trim()));
        let (address, body) = sent(kind, "");
        assert!(!address.contains(&secret) && !body.contains(&secret));
    }
}

fn got(
    kind: &str,
    status: u16,
    body: &str,
) -> (Usage, Option<String>, std::result::Result<Parsed, Failure>) {
    let schema = json!({"type": "object"});
    let reply =
        HttpReply { status, retry_after: None, body: body.as_bytes().to_vec(), wall_ms: 1000.0 };
    read(&provider(kind, ""), &wire(&schema), &reply, 0)
}

#[test]
fn f4_ollama_queue_wait_is_what_the_other_times_leave() {
    let body = r#"{"model":"smolt","created_at":"x","message":{"role":"assistant","content":"I'm ready"},"done":true,"done_reason":"stop","total_duration":9504141739,"load_duration":7995317460,"prompt_eval_count":33,"prompt_eval_duration":497827000,"eval_count":8,"eval_duration":997944000}"#;
    let (usage, model, parsed) = got("ollama", 200, body);
    assert_eq!(parsed.expect("an answer").text, "I'm ready");
    assert_eq!(
        (model.as_deref(), usage.prompt_tokens, usage.completion_tokens),
        (Some("smolt"), Some(33), Some(8))
    );
    let queue = usage.queue_ms.expect("known");
    assert!((queue - 13.053).abs() < 0.01, "{queue}");
    assert!(usage.load_ms.is_some_and(|ms| ms > 7995.0));
}

#[test]
fn f4_queue_wait_of_the_others() {
    let llama = r#"{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"x"}}],"model":"ALIAS","usage":{"completion_tokens":8,"prompt_tokens":32,"prompt_tokens_details":{"cached_tokens":20}},"timings":{"cache_n":20,"prompt_n":12,"prompt_ms":300.0,"predicted_ms":500.0}}"#;
    let (usage, model, _) = got("llama-server", 200, llama);
    assert_eq!(
        (usage.queue_ms, usage.cached_tokens, model.as_deref()),
        (Some(200.0), Some(20), Some("ALIAS"))
    );
    let groq = r#"{"choices":[{"finish_reason":"stop","message":{"content":"x"}}],"usage":{"prompt_tokens":9,"queue_time":0.25,"prompt_time":0.1,"completion_time":0.2,"total_time":0.3}}"#;
    assert_eq!(got("groq", 200, groq).0.queue_ms, Some(250.0));
    let other = r#"{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]}"#;
    assert_eq!(got("openai-compatible", 200, other).0.queue_ms, None);
}

#[test]
fn d3_reasoning_fields_are_no_answer_and_are_counted() {
    let thinking = r#"{"model":"s","message":{"role":"assistant","content":"","thinking":"{\"entries\":[]} and more"},"done":true}"#;
    let (usage, _, parsed) = got("ollama", 200, thinking);
    assert!(matches!(parsed, Err(Failure::Empty(_))));
    assert!(usage.reasoning_tokens.is_some_and(|tokens| tokens > 0));
    for field in ["reasoning_content", "reasoning"] {
        let body = format!(
            r#"{{"choices":[{{"finish_reason":"stop","message":{{"content":null,"{field}":"hm hm hm"}}}}]}}"#
        );
        let (usage, _, parsed) = got("llama-server", 200, &body);
        assert!(matches!(parsed, Err(Failure::Empty(_))));
        assert_eq!(usage.reasoning_tokens, Some(2));
    }
    let parts = r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"yes"}]},"finishReason":"STOP"}],"usageMetadata":{"thoughtsTokenCount":5},"modelVersion":"g-1"}"#;
    let (usage, model, parsed) = got("gemini", 200, parts);
    assert_eq!(
        (parsed.map(|parsed| parsed.text), usage.reasoning_tokens),
        (Ok("yes".into()), Some(5))
    );
    assert_eq!(model.as_deref(), Some("g-1"));
}

#[test]
fn c11_a_cut_reply_is_never_an_answer() {
    for (kind, body) in [
        ("ollama", r#"{"message":{"content":"{\"entr"},"done":true,"done_reason":"length"}"#),
        ("ollama", r#"{"message":{"content":"{\"entr"},"done":false}"#),
        (
            "llama-server",
            r#"{"choices":[{"finish_reason":"length","message":{"content":"{\"e"}}]}"#,
        ),
        (
            "gemini",
            r#"{"candidates":[{"content":{"parts":[{"text":"{"}]},"finishReason":"MAX_TOKENS"}]}"#,
        ),
        ("gemini", r#"{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}]}"#),
    ] {
        assert_eq!(got(kind, 200, body).2, Err(Failure::OutputTruncated(1024)), "{body}");
    }
}

#[test]
fn d5_a_200_without_content_has_its_own_reason() {
    for (kind, body, name) in [
        ("ollama", r#"{"message":{"content":" "},"done":true}"#, "empty_reply"),
        ("openrouter", r#"{"choices":[]}"#, "empty_reply"),
        (
            "openrouter",
            r#"{"error":{"code":502,"message":"Provider returned error"}}"#,
            "server_error",
        ),
        (
            "openrouter",
            r#"{"choices":[{"finish_reason":"error","message":{"content":"x"}}]}"#,
            "server_error",
        ),
        ("gemini", r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#, "blocked"),
        ("gemini", r#"{"candidates":[{"finishReason":"SAFETY"}]}"#, "blocked"),
        ("gemini", "{}", "empty_reply"),
        ("gemini", r#"{"candidates":[{"finishReason":"SOMETHING_NEW"}]}"#, "empty_reply"),
        (
            "openai-compatible",
            r#"{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}"#,
            "blocked",
        ),
        ("openai-compatible", "<html>hello</html>", "broken"),
        ("openai-compatible", "", "broken"),
    ] {
        let failure = got(kind, 200, body).2.expect_err("no answer");
        assert_eq!(failure.name(), name, "{body}");
    }
}

#[test]
fn errors_are_sorted_by_what_can_be_done_about_them() {
    for (kind, status, body, name) in [
        (
            "llama-server",
            503,
            r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#,
            "loading",
        ),
        (
            "ollama",
            503,
            r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#,
            "server_error",
        ),
        ("ollama", 404, r#"{"error":"model 'nope' not found"}"#, "rejected"),
        (
            "ollama",
            500,
            r#"{"error":"option \"num_ctx\" must be of type integer"}"#,
            "server_error",
        ),
        ("ollama", 400, r#"{"error":"\"smolt\" does not support thinking"}"#, "thinking_refused"),
        (
            "groq",
            400,
            r#"{"error":{"message":"`reasoning_effort` is not supported with this model"}}"#,
            "thinking_refused",
        ),
        (
            "ollama",
            500,
            r#"{"error":"invalid format: \"yaml\"; expected \"json\" or a valid JSON Schema object"}"#,
            "schema_refused",
        ),
        (
            "llama-server",
            400,
            r#"{"error":{"code":400,"message":"JSON schema conversion failed:\nUnrecognized schema: {}"}}"#,
            "schema_refused",
        ),
        (
            "gemini",
            400,
            r#"{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"responseJsonSchema\"","status":"INVALID_ARGUMENT"}}"#,
            "schema_refused",
        ),
        (
            "openrouter",
            401,
            r#"{"error":{"code":401,"message":"No auth credentials found"}}"#,
            "rejected",
        ),
        ("openrouter", 402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#, "paused"),
        ("openrouter", 200, r#"{"error":{"code":429,"message":"Rate limited"}}"#, "paused"),
        (
            "openrouter",
            403,
            r#"{"error":{"code":403,"message":"Your input was flagged"}}"#,
            "blocked",
        ),
        (
            "groq",
            429,
            r#"{"error":{"message":"Rate limit reached. Please try again in 5.289s.","code":"rate_limit_exceeded"}}"#,
            "paused",
        ),
        (
            "gemini",
            429,
            r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"22s"}]}}]"#,
            "paused",
        ),
        ("gemini", 503, r#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#, "server_error"),
        ("openai-compatible", 500, "oops", "server_error"),
    ] {
        let failure = got(kind, status, body).2.expect_err("no answer");
        assert_eq!(failure.name(), name, "{kind} {status} {body}");
    }
}
