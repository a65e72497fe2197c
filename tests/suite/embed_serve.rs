//! The embedding server and its client, with the real small model.

use crate::embed::{models_folder, settings};
use crate::support::Home;
use lifecycle::config::{Layers, Serve};
use lifecycle::embed::onnx::OnnxEmbedder;
use lifecycle::embed::serve::{Health, ServedEmbedder, Serving, serve};
use lifecycle::embed::{Catalog, Descriptor, Embedder, Role, cosine, embed_one, open};
use lifecycle::paths::Paths;
use reqwest::blocking::Client;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

fn paths(folder: &Path) -> Paths {
    Paths { data: folder.join("data"), config_file: folder.join("c.toml"), home: folder.into() }
}

fn local() -> OnnxEmbedder {
    let descriptor = Catalog::shipped().get("all-minilm-l6-v2").unwrap().clone();
    OnnxEmbedder::new(descriptor, &settings(), &models_folder())
}

/// Serves in this process until the test ends.
fn start(paths: &Paths, embedder: Arc<dyn Embedder>, token: Option<&str>) -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    let (paths, token) = (paths.clone(), token.map(Into::into));
    std::thread::spawn(move || {
        let address = "127.0.0.1:0".parse().unwrap();
        let serving = Serving { address, token, idle: Duration::ZERO };
        serve(embedder, &paths, &serving, |address| sender.send(address).unwrap()).unwrap();
    });
    receiver.recv().unwrap()
}

fn client(paths: &Paths, address: SocketAddr) -> ServedEmbedder {
    ServedEmbedder::new(local(), paths, &address.to_string(), Duration::from_secs(60), false)
}

/// A model of another name whose every vector is the same, so that it shows who answered.
struct Fixed(Descriptor);

impl Fixed {
    fn like_the_small_model() -> Arc<Self> {
        Arc::new(Self(local().descriptor().clone()))
    }
}

impl Embedder for Fixed {
    fn descriptor(&self) -> &Descriptor {
        &self.0
    }

    fn embed(&self, texts: &[String], _role: Role) -> Vec<lifecycle::embed::Embedding> {
        let mut vector = vec![0.0; self.0.dimensions];
        vector[0] = 1.0;
        texts.iter().map(|_| Ok(vector.clone())).collect()
    }
}

#[test]
fn the_server_gives_the_vectors_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(folder.path());
    let address = start(&paths, Arc::new(local()), None);
    let client = client(&paths, address);
    let texts: Vec<String> =
        ["a note on the linker", "", "eine Notiz über den Port"].map(Into::into).into();
    let served = client.embed(&texts, Role::Document);
    let alone = local().embed(&texts, Role::Document);
    assert!(client.notes().is_empty());
    assert!(served[1].is_err());
    for at in [0, 2] {
        let cosine = cosine(served[at].as_ref().unwrap(), alone[at].as_ref().unwrap());
        assert!(cosine > 0.999_999);
    }
}

#[test]
fn strangers_get_the_shape_they_know() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(folder.path());
    let address = start(&paths, Fixed::like_the_small_model(), None);
    let url = format!("http://{address}/v1/embeddings");
    let http = Client::builder().no_proxy().build().unwrap();
    let post = |body: Value| http.post(&url).json(&body).send().unwrap();
    let one: Value = post(json!({"input": "a note", "model": "all-minilm-l6-v2"})).json().unwrap();
    assert_eq!(one["object"], "list");
    assert_eq!(one["data"][0]["embedding"].as_array().unwrap().len(), 384);
    assert_eq!(post(json!({"input": "x", "model": "another"})).status(), 404);
    assert_eq!(post(json!({"no": "input"})).status(), 422);
    let foreign = http.post(&url).header("Host", "evil.example").json(&json!({"input": "x"}));
    assert_eq!(foreign.send().unwrap().status(), 403);
    let health: Health =
        http.get(format!("http://{address}/health")).send().unwrap().json().unwrap();
    assert_eq!(health.descriptor, local().descriptor().id());
}

#[test]
fn usage_counts_the_tokens_that_the_model_got() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(folder.path());
    let address = start(&paths, Arc::new(local()), None);
    let http = Client::builder().no_proxy().build().unwrap();
    let usage = |input: Value| {
        let url = format!("http://{address}/v1/embeddings");
        let body: Value =
            http.post(&url).json(&json!({"input": input})).send().unwrap().json().unwrap();
        (body["usage"]["prompt_tokens"].as_u64(), body["usage"]["total_tokens"].as_u64())
    };
    // [CLS] a note [SEP], and the same with one word more.
    assert_eq!(usage(json!("a note")), (Some(4), Some(4)));
    assert_eq!(usage(json!(["a note", "a short note"])), (Some(9), Some(9)));
    let long = local().count_tokens(&["harbour ".repeat(700)], Role::Document);
    assert_eq!(long, [700 + 3 * 2], "three windows, each with its marks");
}

#[test]
fn requests_at_the_same_time_are_all_answered() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(folder.path());
    let address = start(&paths, Arc::new(local()), None);
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let client = client(&paths, address);
            std::thread::spawn(move || embed_one(&client, &format!("note {n}"), Role::Query))
        })
        .collect();
    for (n, thread) in threads.into_iter().enumerate() {
        let served = thread.join().unwrap().unwrap();
        let alone = embed_one(&local(), &format!("note {n}"), Role::Query).unwrap();
        assert!(cosine(&served, &alone) > 0.999_999);
    }
}

#[test]
fn a_server_of_another_user_gets_no_text_and_is_said_once() {
    let ours = tempfile::tempdir().unwrap();
    let theirs = tempfile::tempdir().unwrap();
    let address = start(&paths(theirs.path()), Fixed::like_the_small_model(), None);
    // A token of our own exists, as it would after an earlier server of ours.
    start(&paths(ours.path()), Fixed::like_the_small_model(), None);
    let client = client(&paths(ours.path()), address);
    let vector = embed_one(&client, "a note", Role::Document).unwrap();
    assert!(vector[0] < 0.9, "it was embedded in process");
    embed_one(&client, "another note", Role::Document).unwrap();
    let notes = client.notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("token"), "{notes:?}");
}

#[test]
fn another_model_behind_the_port_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let paths = paths(folder.path());
    let mut descriptor = local().descriptor().clone();
    descriptor.dtype = "f32".into();
    let address = start(&paths, Arc::new(Fixed(descriptor)), None);
    let client = client(&paths, address);
    assert!(embed_one(&client, "a note", Role::Document).unwrap()[0] < 0.9);
    assert!(client.notes()[0].contains("it serves all-minilm-l6-v2@"));
}

#[test]
fn no_server_is_no_news() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Layers::defaults().settings().unwrap();
    settings.embed = crate::embed::settings();
    settings.embed.serve = Serve::Use;
    settings.embed.serve_address = "127.0.0.1:9".into();
    let mut paths = paths(folder.path());
    paths.data = folder.path().join("data");
    std::fs::create_dir_all(&paths.data).unwrap();
    std::os::unix::fs::symlink(models_folder(), paths.data.join("models")).unwrap();
    let embedder = open(&settings, &paths).unwrap();
    embed_one(&*embedder, "a note", Role::Document).unwrap();
    assert!(embedder.notes().is_empty());
    assert!(!paths.data.join("serve.token").exists(), "a client writes nothing");
}

#[test]
fn never_two_and_never_open_to_others_without_a_token() {
    let mut home = Home::new();
    home.set("LIFECYCLE_MODELS", models_folder().to_str().unwrap());
    let refused = home.run(&["serve", "--address", "0.0.0.0:0"]);
    assert_eq!(refused.code, 7, "{}", refused.err);
    assert!(refused.err.contains("--token-env"));
    let mut first = home
        .command(&["serve", "--address", "127.0.0.1:0"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = first.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    assert!(line.contains("http://127.0.0.1:"), "{line}");
    let second = home.run(&["serve", "--address", "127.0.0.1:0"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.code, 5, "{}", second.err);
    let stopped = home.run(&["serve", "--address", "127.0.0.1:0", "--idle", "1"]);
    assert_eq!(stopped.code, 0, "the lock died with its holder, and an idle server ends");
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A home whose settings ask for a server on a port of its own that ends after two idle seconds.
fn home_with_server(serve: &str) -> (Home, u16) {
    let mut home = Home::new();
    home.set("LIFECYCLE_MODELS", models_folder().to_str().unwrap());
    let port = free_port();
    let file = home.path().join("home/.config/lifecycle/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = format!(
        "[embed]\nserve = \"{serve}\"\nserve_address = \"127.0.0.1:{port}\"\n\
         serve_idle_seconds = 2\n"
    );
    std::fs::write(file, text).unwrap();
    (home, port)
}

/// The server's process once it answers; the tries bound the wait, not the clock.
fn pid_at(port: u16) -> Option<u32> {
    let http = Client::builder().no_proxy().build().unwrap();
    for _ in 0..600 {
        let answer = http.get(format!("http://127.0.0.1:{port}/health")).send();
        if let Ok(health) = answer.and_then(|answer| answer.json::<Health>()) {
            return Some(health.pid);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    None
}

fn serve_lock_is_free(home: &Home) -> bool {
    let opened = std::fs::OpenOptions::new().write(true).open(home.store().join("serve.lock"));
    opened.is_ok_and(|file| file.try_lock().is_ok())
}

fn ends_by_itself(home: &Home) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        serve_lock_is_free(home)
    })
}

const BEGINS: &[u8] = br#"{"session_id":"s","hook_event_name":"SessionStart","cwd":"/p"}"#;

#[test]
fn a_conversation_that_begins_starts_one_server() {
    let (home, port) = home_with_server("start");
    let home = Arc::new(home);
    let hooks: Vec<_> = (0..4)
        .map(|_| {
            let home = Arc::clone(&home);
            std::thread::spawn(move || home.run_with(&["hook", "claude-code"], BEGINS))
        })
        .collect();
    for hook in hooks {
        let told = hook.join().unwrap().success();
        assert_eq!((told.out.as_str(), told.err.as_str()), ("", ""), "a hook is silent");
    }
    let first = pid_at(port).expect("the server runs");
    home.run_with(&["hook", "claude-code"], BEGINS).success();
    assert_eq!(pid_at(port), Some(first), "never two");
    let stop = br#"{"session_id":"s","hook_event_name":"Stop","cwd":"/p"}"#;
    home.run_with(&["hook", "claude-code"], stop).success();
    assert!(ends_by_itself(&home), "an idle server ends");
}

#[test]
fn no_server_is_started_where_none_is_wanted() {
    let (unwanted, _) = home_with_server("use");
    unwanted.run_with(&["hook", "claude-code"], BEGINS).success();
    assert!(!unwanted.store().join("serve.lock").exists());
    // Asked for, but its model is not installed: the process that was started ends at once.
    let (mut bare, _) = home_with_server("start");
    let empty = bare.path().join("no-models");
    bare.set("LIFECYCLE_MODELS", empty.to_str().unwrap());
    bare.run(&["serve", "--if-wanted"]).success();
    assert!(!bare.store().join("serve.lock").exists());
}

#[test]
fn the_first_tick_that_embeds_starts_the_server() {
    let (home, port) = home_with_server("start");
    home.run(&["run"]).success();
    assert!(!home.store().join("serve.lock").exists(), "there was nothing to embed");
    home.run(&["add", "Migrations run in CI only"]).success();
    let run = home.run(&["run"]).success();
    assert!(!run.out.contains("embedding server"), "no news: {}", run.out);
    assert!(pid_at(port).is_some());
    assert!(ends_by_itself(&home));
}
