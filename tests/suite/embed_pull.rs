//! Fetching a model from a hub: a stand-in on 127.0.0.1 that sends ranges, and stops half-way.

use crate::embed::models_folder;
use crate::support::{Home, Outcome};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3-tiny");

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
fn home(graph_sum: Option<&str>) -> Home {
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
