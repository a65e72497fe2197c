//! The observer on a real llama-server: what its observations are worth.
//!
//! `LIFECYCLE_TEST_GGUF` names a model file and `LIFECYCLE_TEST_LLAMA_SERVER` the server program;
//! without them the test says so and ends. `LIFECYCLE_TEST_BATCHES` bounds the batches. The table it
//! prints is that of the field report on observing with local models. It never fails on a model's
//! wording, only on what is guaranteed: no batch is lost, the account balances, every kept fact stands
//! in its batch, files come from the events, nothing is routed.

use crate::live::Server;
use crate::support::{Home, fixture};
use rusqlite::Connection;
use std::fs;
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn number(database: &Connection, sql: &str) -> f64 {
    database.query_row(sql, [], |row| row.get::<_, Option<f64>>(0)).unwrap().unwrap_or(f64::NAN)
}

fn texts(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn home(port: u16) -> Home {
    let mut home = Home::new();
    let folder = home.path().join("home/.claude/projects/-home-robin");
    fs::create_dir_all(&folder).unwrap();
    for file in fs::read_dir(fixture("observe")).unwrap() {
        let file = file.unwrap().path();
        fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    let config = home.path().join("home/.config/lifecycle");
    fs::create_dir_all(&config).unwrap();
    let settings = format!(
        "[capture]\nsettle_seconds = 0\n[observe]\nenabled = true\nmodel = \"m\"\nper_tick = 100\n\
         [consolidate.call]\ntimeout_seconds = 600.0\nload_seconds = 120.0\nmax_tokens = 400\n\
         max_tokens_limit = 400\nretries = 0\n[consolidate.providers.m]\nkind = \"llama-server\"\n\
         url = \"http://127.0.0.1:{port}\"\nmodel = \"live\"\n"
    );
    fs::write(config.join("config.toml"), settings).unwrap();
    home.set("LIFECYCLE_CAPTURE__SCAN_DAYS", "36500");
    home
}

#[test]
fn the_sessions_are_cut_into_one_batch_a_task() {
    let mut home = home(9);
    home.set("LIFECYCLE_OBSERVE__PER_TICK", "0");
    home.run(&["run", "--phase", "buffer"]);
    let database = Connection::open(home.database()).unwrap();
    assert_eq!(number(&database, "SELECT count(*) FROM batch WHERE state = 'waiting'"), 24.0);
}

#[test]
fn a_real_model_observes() {
    let (Ok(model), Ok(program)) =
        (std::env::var("LIFECYCLE_TEST_GGUF"), std::env::var("LIFECYCLE_TEST_LLAMA_SERVER"))
    else {
        println!(
            "skipped: LIFECYCLE_TEST_GGUF and LIFECYCLE_TEST_LLAMA_SERVER name no model and server"
        );
        return;
    };
    let limit = std::env::var("LIFECYCLE_TEST_BATCHES").unwrap_or_else(|_| "24".into());
    let server = Server::start(&program, &model);
    let home = home(server.port);
    while TcpStream::connect(("127.0.0.1", server.port)).is_err() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let started = Instant::now();
    let run = home.run(&["observe", "--limit", &limit]);
    let wall = started.elapsed().as_secs_f64();
    let database = Connection::open(home.database()).unwrap();
    let count = |sql: &str| number(&database, sql);
    let replies = count("SELECT count(*) FROM quality");
    let share = |condition: &str| {
        100.0 * count(&format!("SELECT count(*) FROM quality WHERE {condition}")) / replies
    };
    println!("{}", run.out);
    println!("{model}: {replies} replies of {limit} batches");
    println!(
        "  valid JSON in the wanted shape   {:5.1} %",
        share(
            "refused NOT LIKE '%wrong_shape%' AND refused NOT LIKE '%truncated%' AND refused NOT LIKE '%no_object%' AND refused NOT LIKE '%empty%'"
        )
    );
    println!("  with a kept observation          {:5.1} %", share("accepted > 0"));
    println!(
        "  refused for an invented fact     {:5.1} %",
        share("refused LIKE '%\"invented_fact\"%'")
    );
    println!("  declined                         {:5.1} %", share("refused LIKE '%declined%'"));
    println!("  bad kind                         {:5.1} %", share("bad_kinds > 0"));
    println!("  wrong attribution to the user    {:5.1} %", share("bad_attribution"));
    println!("  duplicate title                  {:5.1} %", share("duplicate_title"));
    println!("  kept without a file              {:5.1} %", share("accepted > 0 AND no_file"));
    println!(
        "  mean narrative                   {:5.0} characters",
        count("SELECT avg(chars_out) FROM quality WHERE chars_out > 0")
    );
    println!(
        "  seconds a call, median           {:5.1}",
        count(
            "SELECT total_ms / 1000.0 FROM call WHERE purpose = 'observe' ORDER BY total_ms LIMIT 1 OFFSET (SELECT count(*) / 2 FROM call WHERE purpose = 'observe')"
        )
    );
    println!(
        "  CPU seconds a call               {:5.1}",
        server.cpu_seconds() / count("SELECT count(*) FROM call WHERE purpose = 'observe'")
    );
    println!("  wall                             {wall:5.0} s");
    for line in texts(
        &database,
        "SELECT kind || ' | ' || coalesce(origin, actor) || ' | ' || title || ' | ' || replace(text, char(10), ' ') || ' | ' || files FROM entry WHERE title IS NOT NULL",
    ) {
        println!("  - {line}");
    }
    assert_eq!(count("SELECT count(*) FROM call WHERE outcome = 'open'"), 0.0);
    assert_eq!(count("SELECT count(*) FROM batch WHERE state = 'leased'"), 0.0);
    assert_eq!(count("SELECT count(*) FROM batch WHERE state <> 'halved'"), 24.0, "none is lost");
    let files = texts(
        &database,
        "SELECT DISTINCT value FROM entry, json_each(files) WHERE title IS NOT NULL",
    );
    let all: String = fs::read_dir(fixture("observe"))
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    for file in files {
        assert!(all.contains(&file), "{file} stands in no event");
    }
    assert_eq!(count("SELECT count(*) FROM route"), 0.0);
}
