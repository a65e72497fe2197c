//! Requirements on the use of models that need a server: losses, budgets, pauses, the account.
//! Each test is named after the requirement it proves (docs/models.md lists them).

use crate::consolidate::{BERTH, Bench, GOOD, NOW, merged};
use crate::support::standin::{Reply, Request};
use lifecycle::ExitCode;
use lifecycle_phases::State;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LIMITS: [&str; 3] = [
    "The API limit is 7 per key",
    "The API limit of 7 holds for every route",
    "The API limit is stated in a header",
];

fn ollama(more: &str) -> Bench {
    Bench::of_kind("ollama", more)
}

fn notes(run: &lifecycle::tick::Run) -> String {
    serde_json::to_string(&run.report).unwrap()
}

#[test]
fn a1_a17_one_request_for_each_cluster_without_history() {
    let bench = Bench::new();
    bench.cluster(&BERTH);
    bench.cluster(&LIMITS);
    bench.server.replies([Reply::text("{}")]);
    bench.run();
    let chats = bench.server.chats();
    assert_eq!(chats.len(), 2);
    for chat in &chats {
        assert!(chat.json()["messages"].as_array().unwrap().len() <= 2);
        let prompt = chat.prompt();
        assert_ne!(prompt.contains(BERTH[0]), prompt.contains(LIMITS[0]), "one cluster a prompt");
    }
    let common = chats[0]
        .prompt()
        .bytes()
        .zip(chats[1].prompt().bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(common >= lifecycle::model::MERGE_RULES.len(), "a16: the rules are one common prefix");
}

#[test]
fn a5_no_key_no_header() {
    let bench = Bench::new();
    bench.cluster(&BERTH);
    bench.run();
    assert!(!bench.server.chats()[0].headers.contains_key("authorization"));
}

#[test]
fn a7_a_changed_setting_holds_from_the_next_run_on() {
    let mut bench = Bench::new();
    bench.cluster(&BERTH);
    bench.server.replies([Reply::text("no")]);
    bench.run();
    bench.settings.consolidate.call.temperature = 0.5;
    bench.now += 3_600_000;
    bench.run();
    let chats = bench.server.chats();
    assert_eq!(
        (chats[0].json()["temperature"].clone(), chats[1].json()["temperature"].clone()),
        (json!(0.0), json!(0.5))
    );
}

#[test]
fn a13_without_the_schema_where_the_server_refuses_it() {
    let bench = Bench::new();
    bench.cluster(&BERTH);
    bench.server.replies([Reply::with(|request: &Request| {
        if request.json().get("response_format").is_some() {
            return Reply::json(
                400,
                &json!({"error": {"message": "response_format json_schema is not supported"}}),
            );
        }
        Reply::text(merged(GOOD))
    })]);
    assert_eq!(bench.run().code, ExitCode::Success);
    assert_eq!(bench.server.chats().len(), 2);
    let mode: String = bench.value("SELECT schema_mode FROM call WHERE outcome = 'answered'");
    assert_eq!(mode, "none");
}

#[test]
fn a14_without_the_thinking_field_where_the_server_refuses_it() {
    let bench = ollama("");
    bench.cluster(&BERTH);
    bench.server.replies([
        Reply::json(400, &json!({"error": "\"standin\" does not support thinking"})),
        Reply::text(merged(GOOD)),
    ]);
    assert_eq!(bench.run().code, ExitCode::Success);
    let mode: String = bench.value("SELECT thinking_mode FROM call WHERE outcome = 'answered'");
    assert_eq!(mode, "refused");
}

#[test]
fn b1_b2_b7_a_slow_answer_counts_when_the_setting_allows_it_and_else_the_cluster_waits() {
    let mut bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.settings.consolidate.call.timeout_seconds = 0.2;
    bench.server.replies([Reply::Hang]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Incomplete);
    bench.all_buffered(&ids);
    let balance = bench.balance();
    assert_eq!((balance.sent, balance.timed_out), (1, 1));
    while bench.server.gone() == 0 {
        std::thread::yield_now();
    }
    bench.settings.consolidate.call.timeout_seconds = 60.0;
    bench.now += 3_600_000;
    bench.server.replies([Reply::text(merged(GOOD)).after(Duration::from_millis(300))]);
    assert_eq!(bench.run().code, ExitCode::Success);
    assert_eq!(bench.server.peak(), 1, "a retry never runs beside what it replaces");
}

#[test]
fn b4_b13_one_note_for_all_clusters_and_a_code_of_its_own() {
    let bench = Bench::new();
    bench.cluster(&BERTH);
    bench.cluster(&LIMITS);
    bench.server.replies([Reply::json(401, &json!({"error": {"message": "no"}}))]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Incomplete);
    assert_eq!(bench.server.chats().len(), 1, "a server that refuses the key is not asked again");
    assert!(notes(&run).contains("2 clusters failed: HTTP 401: no"), "{}", notes(&run));
}

#[test]
fn b5_a_killed_run_leaves_an_open_row_that_the_next_one_counts() {
    let bench = Bench::new();
    bench.cluster(&BERTH);
    let mut store = bench.store();
    store
        .write(|tx| {
            tx.execute_batch(
                "INSERT INTO call (purpose, cluster, provider, host, model, prompt_version, schema_mode,
                     thinking_mode, temperature, pid, opened, outcome, bytes_sent)
                 VALUES ('merge', 'c', 'm', 'h', 'x', 'v', 'none', 'off', 0, 4194304, 1, 'open', 9)",
            )?;
            Ok(())
        })
        .unwrap();
    drop(store);
    bench.server.replies([Reply::text(merged(GOOD))]);
    let run = bench.run();
    assert!(notes(&run).contains("1 model requests of a killed run"), "{}", notes(&run));
    let balance = bench.balance();
    assert_eq!(
        (balance.sent, balance.aborted, balance.answered, balance.is_settled()),
        (2, 1, 1, true)
    );
}

#[test]
fn b6_latency_counts_those_without_an_answer() {
    let mut bench = Bench::new();
    bench.settings.consolidate.call.timeout_seconds = 0.2;
    bench.settings.consolidate.stop_after_timeouts = 9;
    for i in 0..5 {
        bench.cluster(&[
            &format!("Quay {i} takes 4 ships a day"),
            &format!("Quay {i} takes 4 ships, tankers too"),
            &format!("Quay {i} takes no ships in fog"),
        ]);
    }
    bench.server.replies([Reply::text("x"), Reply::text("x"), Reply::text("x"), Reply::Hang]);
    bench.run();
    let latency = lifecycle::store::latency(bench.store().reader(), 0).unwrap();
    assert_eq!((latency.n, latency.completed, latency.aborted), (5, 3, 2));
    assert!(latency.at_least && latency.p90_ms.unwrap() >= 190.0, "{latency:?}");
}

#[test]
fn b8_no_more_requests_at_once_than_allowed() {
    for (allowed, clusters) in [(1, 4), (3, 7)] {
        let mut bench = Bench::new();
        bench.settings.consolidate.call.max_in_flight = allowed;
        for i in 0..clusters {
            bench.cluster(&[
                &format!("Quay {i} takes 4 ships a day"),
                &format!("Quay {i} takes 4 ships, tankers too"),
                &format!("Quay {i} takes no ships in fog"),
            ]);
        }
        bench.server.replies([Reply::text("no").after(Duration::from_millis(40))]);
        bench.run();
        assert_eq!(bench.server.chats().len(), clusters);
        assert!(bench.server.peak() <= allowed && (allowed == 1 || bench.server.peak() > 1));
    }
}

#[test]
fn b9_a_quota_pauses_and_goes_on_by_itself() {
    let mut bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.cluster(&LIMITS);
    bench.server.replies([
        Reply::Full(
            429,
            vec![("Retry-After".into(), "120".into())],
            b"{\"error\":{\"message\":\"slow down\"}}".to_vec(),
        ),
        Reply::text(merged(GOOD)),
    ]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Success, "a pause is no failure: {}", notes(&run));
    assert!(notes(&run).contains("goes on at"), "{}", notes(&run));
    bench.all_buffered(&ids);
    bench.now += 60_000;
    bench.run();
    assert_eq!(bench.server.chats().len(), 1, "not before the stated time");
    bench.now += 61_000;
    bench.run();
    assert!(bench.server.chats().len() > 1);
    assert_eq!(bench.state(&ids[0]), State::Merged);
}

#[test]
fn b10_budgets_are_kept_before_anything_is_sent() {
    let mut bench = Bench::with("[consolidate.call]\nper_minute = 1\nper_day = 2\n");
    for i in 0..4 {
        bench.cluster(&[
            &format!("Quay {i} takes 4 ships a day"),
            &format!("Quay {i} takes 4 ships, tankers too"),
            &format!("Quay {i} takes no ships in fog"),
        ]);
    }
    bench.server.replies([Reply::text("no")]);
    for minutes in [0, 1, 2, 3, 30] {
        bench.now = NOW + minutes * 61_000;
        bench.run();
    }
    assert_eq!(bench.server.chats().len(), 2);
    assert!(bench.clusters().iter().any(|row| row.outcome.as_str() == "paused"));
    bench.now = NOW + 86_400_000 + 120_000;
    bench.run();
    assert_eq!(bench.server.chats().len(), 3, "the next day goes on by itself");
}

#[test]
fn b11_a_fallback_is_recorded_and_shown() {
    let bench = Bench::with(
        "[consolidate]\nmodel = [\"first\", \"m\"]\n[consolidate.providers.first]\nkind = \"ollama\"\nurl = \"http://127.0.0.1:9\"\nmodel = \"gone\"\n",
    );
    bench.cluster(&BERTH);
    bench.server.replies([Reply::text(merged(GOOD))]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Success);
    assert!(notes(&run).contains("first: 127.0.0.1:9 does not answer"), "{}", notes(&run));
    assert!(notes(&run).contains("m was taken instead"));
    let provider: String = bench.value("SELECT provider FROM call");
    assert_eq!(provider, "m");
}

#[test]
fn b12_a_model_that_is_loading_is_waited_for() {
    let mut bench = Bench::new();
    bench.settings.consolidate.call.load_seconds = 5.0;
    bench.cluster(&BERTH);
    let loading =
        json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}});
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&asked);
    bench.server.route(
        "GET /props",
        Reply::with(move |_| {
            if seen.fetch_add(1, Ordering::SeqCst) == 0 {
                Reply::json(503, &loading)
            } else {
                Reply::json(
                    200,
                    &json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1}),
                )
            }
        }),
    );
    bench.server.replies([Reply::text(merged(GOOD))]);
    assert_eq!(bench.run().code, ExitCode::Success);
    assert!(asked.load(Ordering::SeqCst) >= 2);
    assert_eq!(bench.balance().refused, 0);
}

#[test]
fn c1_c5_a_prompt_that_does_not_fit_is_refused_with_its_numbers() {
    let bench = Bench::with("[consolidate.call]\ncontext_tokens = 4096\n");
    let long: Vec<String> =
        (0..3).map(|i| format!("Log {i}: {}", format!("item {i} value ").repeat(1100))).collect();
    let texts: Vec<&str> = long.iter().map(String::as_str).collect();
    let ids = bench.cluster(&texts);
    let run = bench.run();
    assert_eq!(bench.server.chats().len(), 0, "nothing is sent");
    assert!(
        notes(&run).contains("prompt_too_long") && notes(&run).contains("4096"),
        "{}",
        notes(&run)
    );
    bench.all_buffered(&ids);
}

#[test]
fn c1_c2_llama_servers_own_tokenizer_and_context() {
    let bench = Bench::new();
    bench.cluster(&BERTH);
    bench.server.route(
        "GET /props",
        Reply::json(
            200,
            &json!({"default_generation_settings": {"n_ctx": 2048}, "total_slots": 4}),
        ),
    );
    bench.server.route(
        "POST /v1/chat/completions/input_tokens",
        Reply::json(200, &json!({"input_tokens": 2000})),
    );
    let run = bench.run();
    assert!(notes(&run).contains("2000 tokens + 1056 reserved > context 2048"), "{}", notes(&run));
    assert_eq!(
        bench.server.requests().iter().filter(|r| r.path == "/v1/chat/completions").count(),
        0
    );
}

#[test]
fn c2_c3_ollamas_context_is_the_trained_one_and_constant() {
    let bench = ollama("");
    bench.cluster(&BERTH);
    bench.cluster(&LIMITS);
    bench.server.route(
        "GET /api/tags",
        Reply::json(
            200,
            &json!({"models": [{"name": "standin:latest", "details": {"context_length": 6000}}]}),
        ),
    );
    bench.server.replies([Reply::text("no")]);
    bench.run();
    let contexts: Vec<Value> =
        bench.server.chats().iter().map(|chat| chat.json()["options"]["num_ctx"].clone()).collect();
    assert_eq!(contexts, [json!(6000), json!(6000)]);
}

#[test]
fn c6_an_overflow_answer_is_never_sent_again() {
    let bench = ollama("");
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::json(400, &json!({"error": "{\"error\":{\"code\":400,\"message\":\"request (1256 tokens) exceeds the available context size (512 tokens)\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":1256,\"n_ctx\":512}}"}))]);
    let run = bench.run();
    assert!(notes(&run).contains("prompt_too_long: 1256 tokens"), "{}", notes(&run));
    assert_eq!(bench.server.chats().len(), 1);
    bench.all_buffered(&ids);
}

#[test]
fn c7_a_reply_to_a_prompt_that_was_cut_is_refused() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.route(
        "GET /props",
        Reply::json(200, &json!({"default_generation_settings": {"n_ctx": 8192}})),
    );
    bench.server.route(
        "POST /v1/chat/completions/input_tokens",
        Reply::json(200, &json!({"input_tokens": 1256})),
    );
    let body = json!({"choices": [{"finish_reason": "stop", "message": {"content": merged(GOOD)}}], "usage": {"prompt_tokens": 258, "completion_tokens": 9}});
    bench.server.replies([Reply::json(200, &body)]);
    let run = bench.run();
    assert!(
        notes(&run).contains("suspected_truncation: about 1256 tokens sent, 258 seen"),
        "{}",
        notes(&run)
    );
    bench.all_buffered(&ids);
    let tokens: i64 = bench.value("SELECT prompt_tokens FROM call");
    assert_eq!(tokens, 258);
}

#[test]
fn c11_a_cut_reply_is_tried_with_a_larger_budget() {
    let bench = ollama("[consolidate.call]\nmax_tokens = 100\nmax_tokens_limit = 400\n");
    bench.cluster(&BERTH);
    let cut = json!({"model": "standin", "message": {"content": "{\"entries\":[{\"te"}, "done": true, "done_reason": "length"});
    bench.server.replies([
        Reply::json(200, &cut),
        Reply::json(200, &cut),
        Reply::text(merged(GOOD)),
    ]);
    assert_eq!(bench.run().code, ExitCode::Success);
    let budgets: Vec<Value> = bench
        .server
        .chats()
        .iter()
        .map(|chat| chat.json()["options"]["num_predict"].clone())
        .collect();
    assert_eq!(budgets, [json!(100), json!(200), json!(400)]);
    let cut: i64 = bench.value("SELECT count(*) FROM call WHERE reason = 'output_truncated'");
    assert_eq!(cut, 2);
}

#[test]
fn d4_d9_what_yields_nothing_is_kept_and_counted() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text("I would rather talk about ships.")]);
    bench.run();
    bench.all_buffered(&ids);
    let (reason, reply): (String, String) =
        (bench.value("SELECT reason FROM call"), bench.value("SELECT reply FROM call"));
    assert_eq!(reason, "no_object");
    assert!(reply.contains("talk about ships"));
    let refused: String = bench.value("SELECT refused FROM quality");
    assert_eq!(refused, "[\"no_object\"]");
}

#[test]
fn d6_what_was_declined_is_not_asked_again_until_it_changes() {
    let mut bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench
        .server
        .replies([Reply::text("{\"entries\":[],\"skip\":true,\"reason\":\"three subjects\"}")]);
    assert_eq!(bench.run().code, ExitCode::Success);
    bench.now += 86_400_000;
    bench.run();
    assert_eq!(bench.server.chats().len(), 1);
    bench.all_buffered(&ids);
    assert_eq!(bench.clusters()[0].outcome.as_str(), "declined");
}

#[test]
fn e3_e11_an_invented_number_leaves_the_sources_as_they_were() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text(merged(
        "The berth buffer is 30 m, tankers included; 15 m in winter.",
    ))]);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Incomplete);
    assert!(notes(&run).contains("invented_fact: \\\"30\\\" is in no source"), "{}", notes(&run));
    bench.all_buffered(&ids);
}

#[test]
fn f1_f3_the_row_of_a_request_holds_what_the_server_said() {
    let bench = ollama("");
    bench.cluster(&BERTH);
    let body = json!({"model": "other:3b", "message": {"content": merged(GOOD)}, "done": true, "done_reason": "stop",
        "total_duration": 3_000_000_000_u64, "load_duration": 500_000_000, "prompt_eval_count": 400,
        "prompt_eval_cached_count": 300, "prompt_eval_duration": 1_000_000_000, "eval_count": 50, "eval_duration": 1_000_000_000});
    bench.server.replies([Reply::json(200, &body)]);
    assert_eq!(bench.run().code, ExitCode::Success);
    assert_eq!(bench.proven()[0].generated_by.as_deref(), Some("other:3b"));
    let row: String = bench.value(
        "SELECT json_array(model, response_model, provider, schema_mode, thinking_mode, http_status, prompt_tokens,
             cached_tokens, completion_tokens, total_ms, load_ms, prompt_ms, generation_ms, queue_ms) FROM call",
    );
    assert_eq!(
        row,
        r#"["standin","other:3b","m","json_schema","off",200,400,300,50,3000.0,500.0,1000.0,1000.0,500.0]"#
    );
}

#[test]
fn f7_a_redirect_is_not_followed() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::Full(
        307,
        vec![("Location".into(), "http://192.0.2.1/".into())],
        Vec::new(),
    )]);
    let run = bench.run();
    assert!(notes(&run).contains("HTTP 307"), "{}", notes(&run));
    bench.all_buffered(&ids);
}

#[test]
fn every_server_failure_leaves_the_sources_and_a_settled_account() {
    for reply in [
        Reply::Close,
        Reply::Cut(b"{\"choices\"".to_vec()),
        Reply::Raw(200, Vec::new()),
        Reply::Raw(200, b"<html>".to_vec()),
        Reply::Raw(200, vec![0xff, 0xfe, 0x00]),
        Reply::Raw(500, b"oops".to_vec()),
        Reply::json(200, &json!({"choices": []})),
        Reply::json(200, &json!({"error": {"code": 502, "message": "upstream"}})),
        Reply::json(404, &json!({"error": "model 'standin' not found"})),
        Reply::json(503, &json!({"error": "server busy"})),
        Reply::text("<think>never ends"),
        Reply::text("{\"entries\":[{\"title\":\"a\""),
    ] {
        let bench = Bench::new();
        let ids = bench.cluster(&BERTH);
        bench.server.replies([reply]);
        assert_eq!(bench.run().code, ExitCode::Incomplete);
        bench.all_buffered(&ids);
        let balance = bench.balance();
        assert!(balance.is_settled() && balance.sent >= 1, "{balance:?}");
    }
}

#[test]
fn c10_the_rules_are_short() {
    let words = lifecycle::model::MERGE_RULES.len() / 3;
    assert!(words < 2000, "{words} tokens by the high estimate");
}

#[test]
fn c15_the_prompt_has_one_goal() {
    let rules = lifecycle::model::MERGE_RULES.to_lowercase();
    for other in
        ["expire", "route", "claude.md", "substance", "similarity", "embedding", "transcript"]
    {
        assert!(!rules.contains(other), "the merge prompt speaks of `{other}`");
    }
}
