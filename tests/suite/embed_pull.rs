//! Fetching a model from a hub: stand-ins on 127.0.0.1 that send ranges or none, stop half-way, cut
//! the connection, redirect, refuse a range, or send another one.

use crate::embed::models_folder;
use crate::support::{Home, Outcome};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};

pub const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3-tiny");

#[derive(Clone, Default)]
struct Hub {
    /// Bytes sent of each answer at most.
    limit: Option<usize>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Hub {
    fn start(&self) -> (String, tokio::runtime::Runtime) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let app = Router::new()
            .route("/owner/tiny/resolve/rev/{*path}", get(file))
            .with_state(self.clone());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        (url, runtime)
    }
}

async fn file(
    State(hub): State<Hub>,
    axum::extract::Path(path): axum::extract::Path<String>,
    headers: HeaderMap,
) -> (StatusCode, Vec<u8>) {
    let range = headers.get(header::RANGE).map(|value| value.to_str().unwrap().to_string());
    hub.asked.lock().unwrap().push(format!("{path} {}", range.clone().unwrap_or_default()));
    let bytes = std::fs::read(format!("{TINY}/{}", path.trim_start_matches("onnx/"))).unwrap();
    let start = range.map_or(0, |range| {
        range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap()
    });
    let end = hub.limit.map_or(bytes.len(), |limit| bytes.len().min(start + limit));
    let status = if start > 0 { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    (status, bytes[start..end].to_vec())
}

fn sum(name: &str) -> (usize, String) {
    let bytes = std::fs::read(format!("{TINY}/{name}")).unwrap();
    let digest = Sha256::digest(&bytes);
    (bytes.len(), digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A home that knows the tiny model, with a models folder of its own.
pub fn home(graph_sum: Option<&str>) -> Home {
    let mut home = Home::new();
    let models = home.path().join("models");
    std::fs::create_dir_all(&models).unwrap();
    std::os::unix::fs::symlink(models_folder().join("onnxruntime"), models.join("onnxruntime"))
        .unwrap();
    home.set("LIFECYCLE_MODELS", models.to_str().unwrap());
    let file = |name: &str, member: &str, sum: (usize, String)| {
        format!(
            "[[files]]\nname = '{name}'\nbytes = {}\nsha256 = '{}'\n[files.origin]\n\
             hub = 'owner/tiny'\nrevision = 'rev'\nmember = '{member}'\n",
            sum.0, sum.1
        )
    };
    let mut graph = sum("model.onnx");
    if let Some(other) = graph_sum {
        graph.1 = other.into();
    }
    let text = format!(
        "name = 'tiny'\nlicence = 'MIT'\ndtype = 'f32'\ndimensions = 64\nmax_tokens = 256\n\
         pooling = 'last-token'\npadding = 'none'\nbatch_invariant = false\neos_id = 509\n{}{}\
         [[golden]]\na = 'one note'\nb = 'one note'\ncosine = 1.0\ntolerance = 0.001\n",
        file("model.onnx", "onnx/model.onnx", graph),
        file("tokenizer.json", "tokenizer.json", sum("tokenizer.json")),
    );
    std::fs::write(models.join("tiny.toml"), text).unwrap();
    home
}

fn pull(home: &Home, url: &str) -> Outcome {
    home.run(&["model", "pull", "tiny", "--set", &format!("embed.hub={url}")])
}

#[test]
fn a_pull_goes_on_where_it_stopped_and_then_has_nothing_to_do() {
    let home = home(None);
    let hub = Hub { limit: Some(300_000), ..Hub::default() };
    let (url, _runtime) = hub.start();
    let first = pull(&home, &url);
    assert_eq!(first.code, 9, "{}", first.err);
    let folder = home.path().join("models/tiny");
    assert!(!folder.join("model.onnx").exists(), "never a half file in place");
    assert!(folder.join("model.onnx.part").exists());
    let second = pull(&home, &url).success();
    assert!(second.out.contains("1 golden pairs agree"), "{}", second.out);
    assert!(hub.asked.lock().unwrap()[1].ends_with("bytes=300000-"));
    assert!(!folder.join("model.onnx.part").exists());
    let asked = hub.asked.lock().unwrap().len();
    assert!(pull(&home, &url).success().out.contains("nothing to do"));
    assert_eq!(hub.asked.lock().unwrap().len(), asked);
}

#[test]
fn another_file_than_pinned_is_refused_and_removed() {
    let home = home(Some(&"0".repeat(64)));
    let (url, _runtime) = Hub::default().start();
    let outcome = pull(&home, &url);
    assert_eq!(outcome.code, 7, "{}", outcome.err);
    let left: Vec<_> = std::fs::read_dir(home.path().join("models/tiny")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn files_from_a_folder_need_no_network() {
    let home = home(None);
    let outcome = home.run(&["model", "pull", "tiny", "--from", TINY]).success();
    assert!(outcome.out.contains("installed"));
    home.run(&["model", "use", "tiny"]).success();
    let shown = home.run(&["config", "show", "--origin"]).success();
    assert!(shown.out.contains("embed.model = \"tiny\""), "{}", shown.out);
    let listed = home.json(&["model", "list"]);
    let tiny = listed.as_array().unwrap().iter().find(|model| model["name"] == "tiny").unwrap();
    assert_eq!((&tiny["chosen"], &tiny["installed"]), (&true.into(), &true.into()));
}

#[test]
fn a_model_that_is_not_installed_cannot_be_chosen() {
    let home = home(None);
    let outcome = home.run(&["model", "use", "tiny"]).code(9);
    assert!(outcome.err.contains("lifecycle model pull tiny"), "{}", outcome.err);
    let outcome = home.run(&["model", "use", "nonsense"]).code(3);
    assert!(outcome.err.contains("known:"), "{}", outcome.err);
}

/// How a stand-in answers, byte for byte.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Promises the whole file, sends half of what is asked, and cuts the line.
    Cuts,
    /// Knows no ranges.
    Whole,
    /// Refuses every range: 416.
    Refuses,
    /// Sends the range that starts ten bytes later than asked.
    Shifts,
    /// Answers with the page of an error, as a success.
    Page,
    /// Fails: 503.
    Fails,
}

/// A server of raw bytes; its thread ends with the test's process.
fn raw_hub(manner: Manner) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), manner);
        }
    });
    url
}

fn answer(mut stream: std::net::TcpStream, manner: Manner) {
    use std::io::{BufRead, BufReader, Write};
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    let asked = lines.next().unwrap();
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let range = head.iter().find_map(|line| {
        line.to_lowercase().strip_prefix("range: bytes=")?.trim_end_matches('-').parse().ok()
    });
    let name = asked.split_whitespace().nth(1).unwrap().rsplit('/').next().unwrap();
    let file = std::fs::read(format!("{TINY}/{name}")).unwrap();
    let (status, more, length, body) = match (manner, range) {
        (Manner::Refuses, Some(_)) => ("416 Range Not Satisfiable", String::new(), 0, &[][..]),
        (Manner::Fails, _) => ("503 Service Unavailable", String::new(), 0, &[][..]),
        (Manner::Page, _) => ("200 OK", String::new(), 13, &b"<html></html>"[..]),
        (Manner::Whole | Manner::Refuses, _) | (_, None) => {
            ("200 OK", String::new(), file.len(), &file[..])
        }
        (_, Some(start)) => {
            let start: usize = if manner == Manner::Shifts { start + 10 } else { start };
            let more = format!("Content-Range: bytes {start}-{}/{0}\r\n", file.len() - 1);
            ("206 Partial Content", more, file.len() - start, &file[start..])
        }
    };
    let sent = if manner == Manner::Cuts { &body[..body.len().div_ceil(2)] } else { body };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n");
    // A client that has had enough goes away.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(sent));
}

/// The files of the tiny model that are in place, all of them whole.
fn in_place(home: &Home) -> Vec<String> {
    let folder = home.path().join("models/tiny");
    let listing = std::fs::read_dir(&folder).into_iter().flatten();
    let names = listing.map(|item| item.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with(".part")).collect();
    names.sort();
    for name in &names {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        assert_eq!(bytes, std::fs::read(format!("{TINY}/{name}")).unwrap(), "{name} is whole");
    }
    names
}

/// Puts the first half of the graph where an interrupted download leaves it.
fn half_a_download(home: &Home) {
    let folder = home.path().join("models/tiny");
    std::fs::create_dir_all(&folder).unwrap();
    let graph = std::fs::read(format!("{TINY}/model.onnx")).unwrap();
    std::fs::write(folder.join("model.onnx.part"), &graph[..graph.len() / 2]).unwrap();
}

#[test]
fn a_line_that_is_cut_again_and_again_still_gets_there() {
    let home = home(None);
    let url = raw_hub(Manner::Cuts);
    let mut tries = 0;
    while pull(&home, &url).code != 0 {
        assert!(in_place(&home).len() < 2);
        tries += 1;
        assert!(tries < 60, "each try gets half of what is left");
    }
    assert!(tries > 4, "{tries}");
    assert_eq!(in_place(&home), ["model.onnx", "tokenizer.json"]);
}

#[test]
fn a_hub_without_the_range_that_was_asked_sends_the_whole() {
    for manner in [Manner::Whole, Manner::Refuses, Manner::Shifts] {
        let home = home(None);
        half_a_download(&home);
        pull(&home, &raw_hub(manner)).success();
        assert_eq!(in_place(&home), ["model.onnx", "tokenizer.json"]);
    }
}

#[test]
fn what_is_no_model_file_is_never_put_in_place() {
    for manner in [Manner::Page, Manner::Fails] {
        let home = home(None);
        let outcome = pull(&home, &raw_hub(manner));
        assert_ne!(outcome.code, 0, "{}", outcome.out);
        assert!(outcome.err.contains("127.0.0.1"), "{}", outcome.err);
        assert!(in_place(&home).is_empty());
        // And it is no hindrance to a sound hub.
        pull(&home, &raw_hub(Manner::Whole)).success();
    }
}

#[test]
fn a_part_longer_than_the_file_is_begun_anew() {
    let home = home(None);
    half_a_download(&home);
    let part = home.path().join("models/tiny/model.onnx.part");
    std::fs::write(&part, vec![7; 500_000]).unwrap();
    pull(&home, &raw_hub(Manner::Cuts)).code(9);
    pull(&home, &raw_hub(Manner::Whole)).success();
    assert_eq!(in_place(&home), ["model.onnx", "tokenizer.json"]);
}

#[test]
fn a_redirection_is_followed_with_its_range() {
    let home = home(None);
    half_a_download(&home);
    let hub = Hub::default();
    let (store, _store_runtime) = hub.start();
    let app = Router::new().route(
        "/owner/tiny/resolve/rev/{*path}",
        get(async move |axum::extract::Path(path): axum::extract::Path<String>| {
            let place = format!("{store}/owner/tiny/resolve/rev/{path}");
            (StatusCode::FOUND, [(header::LOCATION, place)])
        }),
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, app).await });
    pull(&home, &url).success();
    assert!(hub.asked.lock().unwrap()[0].contains("bytes=221099-"), "{:?}", hub.asked);
    assert_eq!(in_place(&home), ["model.onnx", "tokenizer.json"]);
}

/// The small model with the weights of one layer spoilt, pinned as if they were meant.
#[test]
fn a_broken_quantisation_is_noticed_at_the_pull_and_cannot_be_chosen() {
    let home = home(None);
    let from = tempfile::tempdir().unwrap();
    let sound = models_folder().join("all-minilm-l6-v2");
    let mut graph = std::fs::read(sound.join("model.onnx")).unwrap();
    // Inside the weights of the first three layers: each byte loses its low five bits.
    for start in [12_800_000, 13_400_000, 14_600_000, 15_200_000] {
        graph[start..start + 500_000].iter_mut().for_each(|byte| *byte &= 0xe0);
    }
    std::fs::write(from.path().join("model.onnx"), &graph).unwrap();
    std::fs::copy(sound.join("tokenizer.json"), from.path().join("tokenizer.json")).unwrap();
    let shipped = include_str!("../../config/models/all-minilm-l6-v2.toml");
    let digest = Sha256::digest(&graph);
    let sum: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = shipped
        .replace("name = \"all-minilm-l6-v2\"", "name = \"spoilt\"")
        .replace("8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6", &sum);
    std::fs::write(home.path().join("models/spoilt.toml"), text).unwrap();
    let from = from.path().to_str().unwrap();
    let pulled = home.run(&["model", "pull", "spoilt", "--from", from]).code(7);
    assert!(pulled.err.contains("the reference says"), "{}", pulled.err);
    home.run(&["model", "use", "spoilt"]).code(7);
    assert!(!home.run(&["config", "show"]).success().out.contains("spoilt"));
}
