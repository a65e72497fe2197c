//! Many clusters against a server that fails at random and a process that is killed at random:
//! every cluster ends merged, each exactly once, and the account balances.
//!
//! `LIFECYCLE_TEST_CLUSTERS` sets how many (60 by default).

use crate::consolidate::{NOW, entry, link};
use crate::support::Home;
use crate::support::standin::{Reply, Request, Standin};
use lifecycle::clock::Clock;
use lifecycle::config::Layers;
use lifecycle::embed::Role;
use lifecycle::paths::Paths;
use lifecycle::store::{self, Store};
use lifecycle::tick::{self, Context, Mode};
use lifecycle_phases::{Phase, PlannedStep, Step};
use serde_json::json;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A number from 0 to 99 that follows from the call's number alone.
fn dice(n: usize) -> u8 {
    let hash = blake3::hash(&n.to_le_bytes());
    u8::try_from(u16::from(hash.as_bytes()[0]) * 100 / 256).unwrap()
}

/// The notes of the prompt as one merge.
fn faithful(request: &Request) -> String {
    let prompt = request.prompt();
    let data = &prompt[prompt.find("BEGIN NOTES").unwrap()..];
    let notes: Vec<&str> = data.lines().filter(|line| line.starts_with("Quay")).collect();
    let number = notes[0].split_whitespace().nth(1).unwrap();
    json!({"entries": [{"kind": "insight", "sources": ["n1", "n2", "n3"], "text": notes.join(". "),
        "title": format!("Quay {number}")}]})
    .to_string()
}

fn server(pid: &Arc<AtomicU32>, kills: &Arc<AtomicUsize>) -> Standin {
    let server = Standin::start();
    let (pid, kills, calls) = (Arc::clone(pid), Arc::clone(kills), AtomicUsize::new(0));
    server.replies([Reply::with(move |request: &Request| {
        match dice(calls.fetch_add(1, Ordering::SeqCst)) {
            0..60 => Reply::text(faithful(request)),
            60..66 => Reply::Raw(500, b"{\"error\":\"x\"}".to_vec()),
            66..72 => Reply::Close,
            72..77 => Reply::Cut(b"{\"choices\"".to_vec()),
            77..83 => Reply::text("no JSON today"),
            83..88 => Reply::json(200, &json!({"choices": []})),
            88..94 => Reply::text(faithful(request).replace("ships", "4711 ships")),
            _ => {
                let pid = pid.swap(0, Ordering::SeqCst);
                if pid > 0 {
                    kills.fetch_add(1, Ordering::SeqCst);
                    let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
                }
                Reply::Hang
            }
        }
    })]);
    server
}

fn fill(home: &Home, url: &str, clusters: usize) -> Paths {
    let paths = Paths {
        data: home.store(),
        config_file: home.path().join("home/.config/lifecycle/config.toml"),
        home: home.path().join("home"),
    };
    std::fs::create_dir_all(paths.config_file.parent().unwrap()).unwrap();
    let settings = format!(
        "[embed]\nurl = \"{url}\"\nurl_model = \"standin\"\n[consolidate]\nmodel = \"m\"\nretry_minutes = 0\n\
         stuck_after = 1000\n[consolidate.call]\nbackoff_seconds = 0.0\ntimeout_seconds = 20.0\n\
         [consolidate.providers.m]\nkind = \"openai-compatible\"\nurl = \"{url}\"\nmodel = \"standin\"\n"
    );
    std::fs::write(&paths.config_file, settings).unwrap();
    let settings = Layers::load(&paths, &[]).unwrap().settings().unwrap();
    let store = Store::open(&paths, &settings).unwrap();
    let embedder = tick::serving::open(store.reader(), &settings, &paths).unwrap();
    let descriptor = embedder.descriptor().id();
    let mut ctx = Context::new(store, &settings, &paths, Clock::Fixed(NOW), Mode::Live, "run");
    for i in 0..clusters {
        let entries: Vec<_> = [
            format!("Quay {i} takes ships of up to {} m", i + 10_000),
            format!("Quay {i} has {} bollards", i + 20_000),
            format!("Quay {i} closes in fog"),
        ]
        .iter()
        .zip(1..)
        .map(|(text, n)| entry(text, NOW + i64::try_from(i).unwrap() * 10 + n))
        .collect();
        let texts: Vec<String> = entries.iter().map(|entry| entry.text.clone()).collect();
        let mut steps = Vec::new();
        for (entry, vector) in entries.iter().zip(embedder.embed(&texts, Role::Document)) {
            steps.push(Step::Admit { entry: Box::new(entry.clone()) });
            let vector = vector.unwrap();
            steps.push(Step::Embed {
                entry: entry.id.clone(),
                descriptor: descriptor.clone(),
                vector,
            });
        }
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            steps.push(link(&entries[a].id, &entries[b].id, &descriptor));
        }
        let steps = steps.into_iter().map(|step| PlannedStep::new(Phase::Connect, step, "test"));
        ctx.perform(steps.collect()).unwrap();
    }
    paths
}

#[test]
fn every_cluster_is_merged_once_whatever_fails_and_whoever_is_killed() {
    let clusters: usize = std::env::var("LIFECYCLE_TEST_CLUSTERS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60);
    let (pid, kills) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicUsize::new(0)));
    let server = server(&pid, &kills);
    let home = Home::new();
    let paths = fill(&home, &server.url(), clusters);
    let settings = Layers::load(&paths, &[]).unwrap().settings().unwrap();
    let mut runs = 0;
    let merged = |sql: &str| -> i64 {
        let store = Store::open(&paths, &settings).unwrap();
        store.reader().query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let wanted = i64::try_from(clusters).unwrap();
    while merged("SELECT count(*) FROM entry WHERE state = 'proven'") < wanted {
        runs += 1;
        if runs == 60 + clusters {
            let store = Store::open(&paths, &settings).unwrap();
            panic!("no end after {runs} runs: {:?}", store::clusters(store.reader()).unwrap());
        }
        // A refused merge is asked again once the prompt or the models change: here, the model's name.
        let name = format!("consolidate.providers.m.model=\"standin{runs}\"");
        let mut command = home.command(&["--set", &name, "run", "--phase", "consolidate"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        pid.store(child.id(), Ordering::SeqCst);
        child.wait().unwrap();
    }
    // The last run may have been killed; one more settles the account.
    home.run(&["run", "--phase", "consolidate"]);
    let balance = store::balance(Store::open(&paths, &settings).unwrap().reader(), None).unwrap();
    println!(
        "{clusters} clusters, {runs} runs, {} kills, {balance:?}",
        kills.load(Ordering::SeqCst)
    );
    assert!(balance.is_settled(), "{balance:?}");
    assert_eq!(merged("SELECT count(*) FROM entry WHERE state = 'merged'"), wanted * 3);
    assert_eq!(merged("SELECT count(*) FROM provenance WHERE active"), wanted * 3);
    assert_eq!(merged("SELECT count(DISTINCT source) FROM provenance WHERE active"), wanted * 3);
    assert_eq!(
        i64::try_from(server.chats().len()).unwrap(),
        balance.sent,
        "each request has its row"
    );
    assert!(kills.load(Ordering::SeqCst) > 0, "the dice never killed");
}
