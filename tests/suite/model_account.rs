//! What a request costs and who pays: dry runs, answers that serve a later run, leases, cold
//! starts, limits. Each test is named after the requirement it proves (docs/models.md).

use crate::consolidate::{BERTH, Bench, GOOD, merged};
use crate::support::merging::{BERTH as NOTES, Merging, berth, text};
use crate::support::standin::{Reply, Standin};
use lifecycle::ExitCode;
use lifecycle_phases::State;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn notes(run: &lifecycle::tick::Run) -> String {
    serde_json::to_string(&run.report).unwrap()
}

#[test]
fn a4_any_base_address_needs_only_a_setting() {
    for tail in ["", "/", "/v1", "/v1/"] {
        let mut bench = Bench::new();
        let url = format!("{}{tail}", bench.server.url());
        bench.settings.consolidate.providers.get_mut("m").unwrap().url = Some(url);
        bench.cluster(&BERTH);
        bench.server.replies([Reply::text(merged(GOOD))]);
        assert_eq!(bench.run().code, ExitCode::Success, "{tail}");
        assert_eq!(bench.server.chats()[0].path, "/v1/chat/completions");
    }
}

#[test]
fn a6_every_value_is_printed_with_its_origin() {
    let case = Merging::new("ollama");
    let rows =
        case.home.json(&["--set", "consolidate.call.retries=7", "config", "show", "--origin"]);
    let of = |key: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["key"] == key).cloned();
        row.unwrap_or_else(|| panic!("{key} is not shown"))
    };
    for key in [
        "timeout_seconds",
        "load_seconds",
        "retries",
        "backoff_seconds",
        "max_tokens",
        "max_tokens_limit",
        "temperature",
        "seed",
        "context_tokens",
        "max_prompt_tokens",
        "keep_alive",
        "thinking",
        "per_minute",
        "per_day",
        "max_in_flight",
        "rules_in",
        "schema",
    ] {
        assert!(!of(&format!("consolidate.call.{key}"))["origin"].as_str().unwrap().is_empty());
    }
    assert_eq!(of("consolidate.call.retries")["origin"], "--set");
    assert_eq!(of("consolidate.call.seed")["origin"], "default");
    let file = of("consolidate.call.timeout_seconds")["origin"].to_string();
    assert!(file.contains("config.toml"), "{file}");
}

#[test]
fn a7_an_edited_file_holds_from_the_next_run_on() {
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    case.server.replies(text("no JSON"));
    case.run();
    let file = case.home.path().join("home/.config/lifecycle/config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    let changed =
        settings.replace("[consolidate.call]\n", "[consolidate.call]\ntemperature = 0.5\n");
    std::fs::write(&file, changed).unwrap();
    case.run();
    let temperatures: Vec<Value> =
        case.server.chats().iter().map(|chat| chat.json()["temperature"].clone()).collect();
    assert_eq!(temperatures, [json!(0.0), json!(0.5)]);
}

#[test]
fn a8_ageing_has_a_model_of_its_own_or_the_main_one() {
    for (own, wanted) in [("", "standin"), ("age.model=\"judge\"", "small-judge")] {
        let case = Merging::new("openai-compatible");
        let url = case.server.url();
        let table = format!(
            "[consolidate.providers.judge]\nkind = \"ollama\"\nurl = \"{url}\"\nmodel = \"small-judge\"\n"
        );
        let file = case.home.path().join("home/.config/lifecycle/config.toml");
        let settings = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, settings + &table).unwrap();
        case.add("{\"text\": \"The harbour looks nice in the evening\"}\n");
        let later: String =
            (0..22).map(|i| format!("{{\"text\": \"Crane {i} is repainted\"}}\n")).collect();
        case.add(&later);
        case.server.replies(text("yes"));
        let mut args = vec!["run", "--phase", "buffer", "--phase", "connect", "--phase", "age"];
        if !own.is_empty() {
            args.splice(0..0, ["--set", own]);
        }
        case.home.run(&args);
        let chats = case.server.chats();
        assert!(!chats.is_empty(), "no question was asked");
        assert!(chats.iter().all(|chat| chat.json()["model"] == wanted), "{wanted}");
    }
}

/// `LIFECYCLE_TEST_WAITS=42,194` waits as long as the field report's slow models; by default one
/// second stands for them, since only the setting decides.
#[test]
fn b1_slow_answers_count_where_the_setting_allows_them() {
    let waits = std::env::var("LIFECYCLE_TEST_WAITS").unwrap_or_else(|_| "1".into());
    for seconds in waits.split(',').map(|text| text.parse::<f64>().unwrap()) {
        let mut bench = Bench::new();
        bench.settings.consolidate.call.timeout_seconds = seconds + 20.0;
        bench.cluster(&BERTH);
        let slow = Reply::text(merged(GOOD)).after(Duration::from_secs_f64(seconds));
        bench.server.replies([slow]);
        assert_eq!(bench.run().code, ExitCode::Success, "after {seconds} s");
        let millis: f64 = bench.value("SELECT total_ms FROM call");
        assert!(millis >= seconds * 1000.0, "{millis}");
        println!("an answer after {millis:.0} ms was taken");
    }
}

#[test]
fn b12_a_cold_model_gets_the_time_it_takes_to_load() {
    for (running, wanted) in [(json!([]), "answered"), (json!([{"name": "standin"}]), "timed_out")]
    {
        let mut bench = Bench::of_kind("ollama", "");
        bench.settings.consolidate.call.timeout_seconds = 0.2;
        bench.settings.consolidate.call.load_seconds = 20.0;
        bench.cluster(&BERTH);
        bench.server.route("GET /api/ps", Reply::json(200, &json!({"models": running})));
        bench.server.replies([Reply::text(merged(GOOD)).after(Duration::from_millis(700))]);
        bench.run();
        assert_eq!(bench.value::<String>("SELECT outcome FROM call"), wanted);
    }
}

#[test]
fn b14_one_limit_bounds_the_whole_request() {
    let mut bench = Bench::new();
    bench.settings.consolidate.call.timeout_seconds = 0.5;
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::Drip(Duration::from_millis(30))]);
    let started = Instant::now();
    bench.run();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(bench.value::<String>("SELECT outcome FROM call"), "timed_out");
    assert_eq!(bench.server.chats()[0].json()["stream"], false, "replies are never streamed");
    bench.all_buffered(&ids);
}

#[test]
fn b15_two_processes_never_ask_about_the_same_cluster_at_once() {
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    case.connect();
    let slow = Reply::text(berth()).after(Duration::from_secs(2));
    let set = "consolidate.call.timeout_seconds=20.0";
    case.server.replies([slow]);
    let args = ["--set", set, "run", "--phase", "consolidate", "--dry-run"];
    let mut dry = case.home.command(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
    while case.server.chats().is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let live = case.home.run(&["--set", set, "run", "--phase", "consolidate"]);
    assert!(
        live.said().contains("another process is asking about the same cluster"),
        "{}",
        live.out
    );
    assert!(dry.wait().unwrap().success());
    assert_eq!((case.server.chats().len(), case.server.peak()), (1, 1));
    // What the dry run paid for serves the next run.
    case.home.run(&["--set", set, "run", "--phase", "consolidate"]).success();
    assert_eq!(case.server.chats().len(), 1);
    assert_eq!(case.proven().len(), 1);
}

#[test]
fn b15_a_lease_ends_with_its_process_and_after_an_hour() {
    for (pid, age, wanted) in
        [(4_194_304_u32, 0_i64, 1_usize), (std::process::id(), 0, 1), (1, 0, 0), (1, 3_700_000, 1)]
    {
        let bench = Bench::new();
        bench.cluster(&BERTH);
        bench.server.replies([Reply::text(merged(GOOD))]);
        let key = {
            let run = bench.run_as(true);
            let step = run.plan.steps.iter().find_map(|step| match &step.step {
                lifecycle_phases::Step::Merge { cluster, .. } => Some(cluster.clone()),
                _ => None,
            });
            step.unwrap()
        };
        let mut store = bench.store();
        let opened = bench.now - age;
        store
            .write(|tx| {
                tx.execute("UPDATE call SET used = 1", [])?;
                tx.execute(
                    "INSERT INTO call (purpose, cluster, provider, host, model, prompt_version, schema_mode,
                         thinking_mode, temperature, pid, opened, outcome, bytes_sent)
                     VALUES ('merge', ?1, 'm', 'h', 'x', 'v', 'none', 'off', 0, ?2, ?3, 'open', 9)",
                    (&key, pid, opened),
                )?;
                Ok(())
            })
            .unwrap();
        drop(store);
        bench.run();
        assert_eq!(bench.proven().len(), wanted, "pid {pid}, {age} ms old");
    }
}

#[test]
fn a_dry_runs_call_is_in_the_account_and_serves_the_run_that_follows() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text(merged(GOOD))]);
    bench.run_as(true);
    bench.run_as(true);
    assert_eq!(bench.server.chats().len(), 1, "a second dry run asks nobody");
    bench.all_buffered(&ids);
    let run = bench.run();
    assert_eq!(run.code, ExitCode::Success);
    assert!(notes(&run).contains("an earlier run had paid for"), "{}", notes(&run));
    assert_eq!((bench.server.chats().len(), bench.proven().len()), (1, 1));
    let balance = bench.balance();
    assert_eq!((balance.sent, balance.answered, balance.is_settled()), (1, 1, true));
}

#[test]
fn a_plan_with_a_models_answer_is_applied_without_asking_again() {
    let case = Merging::new("llama-server");
    case.add(NOTES);
    case.connect();
    case.server.replies(text(&berth()));
    let plan = case.home.path().join("plan.json").display().to_string();
    case.home.run(&["run", "--phase", "consolidate", "--dry-run", "--plan", &plan]).success();
    case.home.run(&["apply", &plan]).success();
    assert_eq!((case.server.chats().len(), case.proven().len()), (1, 1));
    case.run();
    assert_eq!(case.server.chats().len(), 1);
}

#[test]
fn b10_a_dry_run_spends_the_budget_of_the_day() {
    let bench = Bench::with("[consolidate.call]\nper_day = 1\n");
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text("no JSON today")]);
    bench.run_as(true);
    // The unusable answer is judged again without a request; a new one would exceed the budget.
    bench.run();
    bench.run();
    assert_eq!(bench.server.chats().len(), 1);
    bench.all_buffered(&ids);
}

#[test]
fn an_unusable_answer_of_a_dry_run_is_counted_once_and_then_asked_anew() {
    let mut bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::text("no JSON today"), Reply::text(merged(GOOD))]);
    bench.run_as(true);
    assert_eq!(bench.run().code, ExitCode::Incomplete);
    bench.all_buffered(&ids);
    bench.now += 3_600_000;
    assert_eq!(bench.run().code, ExitCode::Success);
    assert_eq!((bench.server.chats().len(), bench.state(&ids[0])), (2, State::Merged));
}

#[test]
fn an_answer_whose_merge_could_not_be_embedded_is_kept() {
    let bench = Bench::new();
    let ids = bench.cluster(&BERTH);
    bench.server.replies([Reply::with(|_| Reply::text(merged(GOOD)))]);
    bench.server.embed_status(500);
    assert_eq!(bench.run().code, ExitCode::Incomplete);
    bench.all_buffered(&ids);
    bench.server.embed_status(200);
    assert_eq!(bench.run().code, ExitCode::Success);
    assert_eq!((bench.server.chats().len(), bench.proven().len()), (1, 1));
}

#[test]
fn f7_no_proxy_gets_what_is_meant_for_this_machine() {
    let mut case = Merging::new("openai-compatible");
    let proxy = Standin::start();
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"] {
        case.home.set(name, &proxy.url());
    }
    case.add(NOTES);
    case.server.replies(text(&berth()));
    assert_eq!(case.run(), 0);
    assert!(proxy.requests().is_empty(), "{:?}", proxy.requests());
}

#[test]
fn f8_a_key_is_in_no_log_error_row_or_setting_that_is_shown() {
    let case = Merging::new("openai-compatible");
    let key = case.home.path().join("key");
    std::fs::write(&key, "very-private-0451\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, mode).unwrap();
    let set = format!("consolidate.providers.m.key_file=\"{}\"", key.display());
    let kept = "consolidate.keep_prompts=true";
    case.add(NOTES);
    let refusal = json!({"error": {"message": "invalid key"}});
    case.server.replies([Reply::json(401, &refusal), Reply::text(berth())]);
    let mut said = String::new();
    for args in [["run", "-vv"], ["run", "-vv"], ["config", "show"], ["status", "--json"]] {
        let mut all = vec!["--set", &set, "--set", kept];
        all.extend(args);
        let outcome = case.home.run(&all);
        said += &outcome.out;
        said += &outcome.err;
    }
    let sent = case.server.chats();
    assert_eq!(sent[0].headers["authorization"], "Bearer very-private-0451");
    assert!(!said.contains("0451"), "{said}");
    for file in walkdir::WalkDir::new(case.home.store()).into_iter().flatten() {
        if file.file_type().is_file() {
            let bytes = std::fs::read(file.path()).unwrap();
            let found = bytes.windows(4).any(|part| part == b"0451");
            assert!(!found, "{}", file.path().display());
        }
    }
}

#[test]
fn f2_what_the_answer_depends_on_is_in_its_row() {
    let bench = Bench::with("[consolidate.call]\ntemperature = 0.25\n");
    bench.cluster(&BERTH);
    bench.server.replies([Reply::text(merged(GOOD))]);
    let run = bench.run();
    let row: String = bench.value(
        "SELECT json_array(provider, host LIKE '127.0.0.1:%', length(prompt_version), schema_mode,
             thinking_mode, temperature) FROM call",
    );
    assert_eq!(row, r#"["m",1,8,"json_schema","off",0.25]"#);
    let id: i64 = bench.value("SELECT id FROM call");
    let named = run.plan.steps.iter().any(
        |step| matches!(&step.step, lifecycle_phases::Step::Merge { calls, .. } if calls == &[id]),
    );
    assert!(named, "the merge names the request it came from");
}
