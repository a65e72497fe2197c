//! What `status` and `doctor` say about the use of models, and that nothing of it becomes a memory.
//! Each test is named after the requirement it proves (docs/models.md).

use crate::consolidate::{BERTH, Bench};
use crate::support::Home;
use crate::support::merging::{BERTH as NOTES, Merging, berth, text};
use crate::support::standin::Reply;
use lifecycle::store::{self, QualityRow, Store};
use serde_json::{Value, json};
use std::time::Duration;

fn store_of(home: &Home) -> Store {
    std::fs::create_dir_all(home.store()).unwrap();
    Store::open_file(&home.database(), Duration::from_secs(5)).unwrap()
}

/// Doctor without a call: what is recorded.
fn recorded(case: &Merging) -> (i32, String) {
    let outcome = case.home.run(&["doctor", "--no-call", "--json"]);
    let value: Value = serde_json::from_str(&outcome.out).unwrap();
    (outcome.code, value["findings"].to_string())
}

fn now() -> i64 {
    let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(elapsed.as_millis()).unwrap()
}

/// Judged replies: what was refused, and the lengths of sources and text.
fn judged(case: &Merging, rows: &[(&'static [&'static str], (usize, usize), &str)]) {
    let mut store = store_of(&case.home);
    for (n, (refused, chars, hash)) in rows.iter().enumerate() {
        let cluster = format!("cluster {n}");
        let row = QualityRow {
            at: now(),
            provider: "m",
            model: "standin",
            cluster: &cluster,
            accepted: usize::from(refused.is_empty()),
            refused,
            chars: *chars,
            text_hash: hash,
            ..QualityRow::default()
        };
        store.write(|tx| store::insert_quality(tx, &row)).unwrap();
    }
}

fn with_store() -> Merging {
    let case = Merging::new("openai-compatible");
    case.home.run(&["status"]).success();
    case
}

#[test]
fn b4_g8_a_failure_is_in_status_with_its_beginning_and_what_waits() {
    let mut case = Merging::new("openai-compatible");
    case.home.set("LIFECYCLE_NOW", "2026-06-10T08:00:00Z");
    case.add(NOTES);
    case.server.replies(text("no JSON today"));
    let tick = case.home.run(&["run"]).code(6);
    assert!(tick.said().contains("1 cluster failed: unusable reply: no_object"), "{}", tick.out);
    case.home.variables.clear();
    case.home.set("LIFECYCLE_NOW", "2026-06-11T08:00:00Z");
    case.home.run(&["run"]).code(6);
    let text = case.home.run(&["status"]).success().said();
    assert!(
        text.contains("failing since Wed 2026-06-10") && text.contains("1 clusters wait"),
        "{text}"
    );
    let value = case.home.json(&["status"]);
    assert_eq!(value["consolidation"]["failing_since"], "2026-06-10T08:00:00Z");
    let (code, findings) = recorded(&case);
    assert!(code == 6 && findings.contains("failing since 2026-06-10"), "{findings}");
    // Nothing of it reaches an assistant.
    let event =
        json!({"hook_event_name": "SessionEnd", "session_id": "s", "cwd": case.home.project()});
    let hook = case.home.run_with(&["hook", "claude-code"], event.to_string().as_bytes()).success();
    assert_eq!((hook.out.as_str(), hook.err.as_str()), ("", ""));
    case.home.variables.clear();
    case.home.set("LIFECYCLE_NOW", "2026-06-12T08:00:00Z");
    case.server.replies([Reply::text(berth())]);
    case.home.run(&["run", "--phase", "consolidate"]).success();
    assert_eq!(case.home.json(&["status"])["consolidation"]["failing_since"], Value::Null);
}

#[test]
fn e6_what_the_engine_said_about_itself_is_no_memory() {
    let home = Home::new();
    let banner =
        "<lifecycle-health>\\nconsolidation has been failing since Monday\\n</lifecycle-health>";
    let line = |text: &str| format!("{{\"text\": \"{text}\"}}\n");
    let batch = |notes: &str| {
        let path = home.path().join("batch.jsonl");
        std::fs::write(&path, notes).unwrap();
        let project = home.project();
        let (project, path) = (project.to_str().unwrap(), path.to_str().unwrap());
        home.run(&["add", "--project", project, "--file", path])
    };
    batch(&line(banner));
    assert_eq!(home.texts(&["--all"]), [""; 0], "a batch of nothing but our words gives nothing");
    batch(&(line(banner) + &line(&format!("{banner}\\nThe quay takes 4 ships."))));
    assert_eq!(home.texts(&["--all"]), ["The quay takes 4 ships."]);
    let set = "capture.own_wordings=[\"observer degraded\"]";
    let old = "Warning: Observer degraded since Monday.";
    let project = home.project().display().to_string();
    home.run(&[
        "--set",
        set,
        "add",
        "--project",
        &project,
        &format!("{old}\nCranes stop at 9 Bft."),
    ])
    .success();
    assert!(home.texts(&["--all"]).contains(&"Cranes stop at 9 Bft.".to_string()));
}

#[test]
fn e6_older_entries_lose_our_words_before_the_prompt() {
    let bench = Bench::with("[capture]\nown_wordings = [\"observer degraded\"]\n");
    let first = format!("Observer degraded since Monday\n{}", BERTH[0]);
    bench.cluster(&[&first, BERTH[1], BERTH[2]]);
    bench.server.replies([Reply::text("{}")]);
    bench.run();
    let prompt = bench.server.chats()[0].prompt();
    assert!(prompt.contains(BERTH[0]) && !prompt.contains("degraded"), "{prompt}");
}

#[test]
fn e9_short_merges_warn() {
    let case = with_store();
    judged(&case, &[(&[], (1000, 120), "a"), (&[], (1000, 160), "b")]);
    let (code, findings) = recorded(&case);
    assert!(code == 6 && findings.contains("14 % of the length of their sources"), "{findings}");
}

#[test]
fn c14_each_sign_of_a_useless_context_warns_where_to_look() {
    let words = "context or prompt problem, not model quality";
    let unread: &[&str] = &["no_object"];
    let leaked: &[&str] = &["leaked_rules"];
    let (fine, length): (&[&str], _) = (&[], (100, 90));
    let mut run: Vec<_> = ["a", "b", "c", "d", "e"].map(|hash| (fine, length, hash)).to_vec();
    run.extend(["f", "g", "h", "i", "j"].map(|hash| (unread, length, hash)));
    let cases = [
        (vec![(fine, length, "same"), (fine, length, "same")], "identical for different clusters"),
        (vec![(leaked, length, "a"), (fine, length, "b")], "restate the instructions"),
        (run, "the last 5 replies cannot be read, earlier ones could"),
    ];
    for (rows, sign) in cases {
        let case = with_store();
        judged(&case, &rows);
        let (code, findings) = recorded(&case);
        assert!(
            code == 6 && findings.contains(sign) && findings.contains(words),
            "{sign}: {findings}"
        );
    }
    let case = with_store();
    judged(&case, &[(fine, length, "a"), (fine, length, "b")]);
    calls(&case, 12, 10.0, "refused");
    let (_, findings) = recorded(&case);
    assert!(findings.contains("6.0 attempts a merge") && findings.contains(words), "{findings}");
}

fn calls(case: &Merging, count: usize, queue: f64, outcome: &str) {
    let mut store = store_of(&case.home);
    store
        .write(|tx| {
            for _ in 0..count {
                tx.execute(
                    "INSERT INTO call (purpose, provider, host, model, response_model, prompt_version,
                         schema_mode, thinking_mode, temperature, pid, opened, outcome, bytes_sent,
                         queue_ms, prompt_tokens, completion_tokens)
                     VALUES ('merge', 'm', 'h', 'standin', 'standin', 'v', 'none', 'off', 0, 1, ?1, ?2, 9,
                         ?3, 300, 20)",
                    (now(), outcome, queue),
                )?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn f5_a_long_queue_calls_for_slots_and_not_for_a_smaller_model() {
    let case = with_store();
    calls(&case, 5, 300.0, "answered");
    assert_eq!(recorded(&case).0, 0);
    calls(&case, 9, 2600.0, "answered");
    let (code, findings) = recorded(&case);
    assert_eq!(code, 6);
    for part in
        ["raise the server's parallelism or lower max_in_flight", "a smaller model would not help"]
    {
        assert!(findings.contains(part), "{findings}");
    }
}

#[test]
fn f6_the_engines_own_use_stands_beside_its_quota() {
    let case = with_store();
    calls(&case, 4, 1.0, "answered");
    let set = "consolidate.providers.m.per_day=50";
    let out = case.home.run(&["--set", set, "status"]).success().said();
    assert!(out.contains("m: 4 today of 50 a day, 1280 tokens; 4 in 7 days, 1280 tokens"), "{out}");
    let value: Value =
        serde_json::from_str(&case.home.run(&["--set", set, "status", "--json"]).out).unwrap();
    assert_eq!(
        (&value["calls"][0]["per_day"], &value["calls"][0]["tokens_today"]),
        (&json!(50), &json!(1280))
    );
}

#[test]
fn g2_another_generator_than_the_configured_one_is_told() {
    let case = with_store();
    calls(&case, 3, 1.0, "answered");
    store_of(&case.home)
        .write(|tx| Ok(tx.execute("UPDATE call SET response_model = 'impostor'", []).map(drop)?))
        .unwrap();
    let (code, findings) = recorded(&case);
    assert!(code == 6 && findings.contains("3 answers came from impostor"), "{findings}");
}

#[test]
fn g4_g7_doctor_needs_no_other_program_and_shows_the_machine() {
    let mut case = Merging::new("llama-server");
    case.home.set("PATH", "/nonexistent");
    let props = json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1});
    case.server.route("GET /props", Reply::json(200, &props));
    case.server.replies([Reply::text("ready")]);
    let out = case.home.run(&["doctor"]).success().said();
    assert!(out.contains("machine load "), "{out}");
    assert!(out.contains("run this under your normal load"), "{out}");
    if std::path::Path::new("/proc/meminfo").exists() {
        assert!(out.contains("MiB free"), "{out}");
    }
    assert!(include_str!("../../docs/models.md").contains("Run it under your normal load"));
}

#[test]
fn h2_more_requests_than_slots_are_told() {
    let case = Merging::new("llama-server");
    let props = json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1});
    case.server.route("GET /props", Reply::json(200, &props));
    case.server.replies([Reply::text("ready")]);
    let outcome = case.home.run(&["--set", "consolidate.call.max_in_flight=3", "doctor"]).code(6);
    assert!(
        outcome.said().contains("max_in_flight is 3 but the server has 1 slots"),
        "{}",
        outcome.out
    );
}

#[test]
fn c2_a_model_loaded_with_another_context_is_told() {
    let case = Merging::new("ollama");
    let tags = json!({"models": [{"name": "standin", "details": {"context_length": 8192}}]});
    case.server.route("GET /api/tags", Reply::json(200, &tags));
    let running = json!({"models": [{"name": "standin", "context_length": 4096}]});
    case.server.route("GET /api/ps", Reply::json(200, &running));
    case.server.replies([Reply::text("ready")]);
    let outcome = case.home.run(&["doctor"]).code(6);
    assert!(outcome.said().contains("loaded with a context of 4096 tokens"), "{}", outcome.out);
}

#[test]
fn h4_postponed_runs_are_counted() {
    if !std::path::Path::new("/proc/loadavg").exists() {
        println!("skipped: the machine does not tell its load");
        return;
    }
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    case.connect();
    let busy = "consolidate.max_load=0.0000001";
    let mut postponed = 0;
    for _ in 0..2 {
        let out = case.home.run(&["--set", busy, "run", "--phase", "consolidate"]).said();
        postponed += usize::from(out.contains("load average"));
    }
    assert_eq!(case.home.json(&["status"])["consolidation"]["postponed"], postponed);
}

#[test]
fn a_model_that_is_not_set_up_is_told_before_anything_runs() {
    let case = Merging::new("openai-compatible");
    case.add(NOTES);
    for (set, message, hint) in [
        (
            "consolidate.model=\"nobody\"",
            "`nobody`, which is no provider",
            "known: extractive, none, m",
        ),
        (
            "age.model=\"nobody\"",
            "`nobody`, which is no provider",
            "[consolidate.providers.nobody]",
        ),
        ("consolidate.model=[\"m\",\"nobody\"]", "`nobody`, which is no provider", "known:"),
        ("consolidate.providers.m.kind=\"lama\"", "`kind` is `lama`", "llama-server"),
        (
            "consolidate.providers.m.rules_in=\"head\"",
            "rules_in is `head`",
            "system, user, modelfile",
        ),
        ("consolidate.call.thinking=\"hard\"", "thinking is `hard`", "omit"),
        ("consolidate.providers.m.url=\"here\"", "`here` is no address", "http://"),
        ("consolidate.providers.m.model=\"\"", "`model` is missing", "as the server names it"),
        (
            "consolidate.providers.m.url=\"http://192.0.2.7\"",
            "not on this machine",
            "local_only = false",
        ),
        (
            "consolidate.providers.x.url=\"http://127.0.0.1:1\"",
            "`kind` is missing",
            "openai-compatible",
        ),
    ] {
        for command in [["run"].as_slice(), &["list"], &["run", "--dry-run"]] {
            let mut args = vec!["--set", set];
            args.extend(command);
            let outcome = case.home.run(&args).code(3);
            assert!(outcome.complained().contains(message), "{set}: {}", outcome.err);
            assert!(
                outcome.complained().contains("hint:") && outcome.complained().contains(hint),
                "{}",
                outcome.err
            );
        }
    }
    assert!(case.server.chats().is_empty());
    let hook = case.home.run_with(&["--set", "consolidate.model=\"nobody\"", "hook"], b"{}");
    assert_eq!(hook.out, "");
}
