//! Embedding through a server: a stand-in on 127.0.0.1 that answers as each test says.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use lifecycle::config::Layers;
use lifecycle::embed::{EmbedError, Embedder, Role, VectorProblem, open};
use lifecycle::paths::Paths;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

type Answer = dyn Fn(&[String]) -> (u16, String) + Send + Sync;

/// A server on a free port; ends with the test.
pub struct StandIn {
    pub url: String,
    asked: Arc<Mutex<Vec<Vec<String>>>>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Shared {
    answer: Arc<Answer>,
    asked: Arc<Mutex<Vec<Vec<String>>>>,
}

impl StandIn {
    pub fn new(answer: impl Fn(&[String]) -> (u16, String) + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared { answer: Arc::new(answer), asked: asked.clone() };
        let app = Router::new().route("/v1/embeddings", post(handle)).with_state(shared);
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, asked, _runtime: runtime }
    }

    pub fn requests(&self) -> Vec<Vec<String>> {
        self.asked.lock().unwrap().clone()
    }

    fn embedder(&self) -> Box<dyn Embedder> {
        self.embedder_with(1)
    }

    fn embedder_with(&self, parallel: usize) -> Box<dyn Embedder> {
        let mut settings = Layers::defaults().settings().unwrap();
        settings.embed.url = self.url.clone();
        settings.embed.url_parallel = parallel;
        let folder = std::path::PathBuf::from("/nonexistent");
        let paths =
            Paths { data: folder.clone(), config_file: folder.join("c.toml"), home: folder };
        open(&settings, &paths).unwrap()
    }
}

async fn handle(State(shared): State<Shared>, Json(body): Json<Value>) -> impl IntoResponse {
    let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
    shared.asked.lock().unwrap().push(texts.clone());
    let (status, body) = tokio::task::block_in_place(|| (shared.answer)(&texts));
    (StatusCode::from_u16(status).unwrap(), body)
}

/// A sound answer in reverse order: `index` is what counts.
pub fn sound(texts: &[String], vector: impl Fn(&str) -> Value) -> (u16, String) {
    let items: Vec<Value> = texts
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| json!({"index": index, "embedding": vector(text)}))
        .collect();
    (200, json!({"data": items}).to_string())
}

fn ascii(text: &str) -> Value {
    json!([text.len() as f32, 1.0, 2.0])
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[test]
fn vectors_come_in_the_order_of_the_texts_and_of_unit_length() {
    let server = StandIn::new(|texts| sound(texts, ascii));
    let results = server.embedder().embed(&texts(&["a", "", "a longer one"]), Role::Document);
    let first = results[0].as_ref().unwrap();
    let last = results[2].as_ref().unwrap();
    assert_eq!(results[1], Err(EmbedError::Blank));
    assert!(last[0] > first[0]);
    assert!((first.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
}

#[test]
fn one_refused_text_costs_its_neighbours_nothing() {
    let server = StandIn::new(|texts| {
        if texts.iter().any(|text| text.contains("poison")) {
            return (400, "no".into());
        }
        sound(texts, ascii)
    });
    let notes = texts(&["one", "two", "poison", "four", "five"]);
    let results = server.embedder().embed(&notes, Role::Document);
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 4);
    assert!(matches!(&results[2], Err(EmbedError::Refused(why)) if why.contains("400")));
    assert!(!results[2].as_ref().unwrap_err().is_transient());
    assert!(server.requests().len() <= 7, "halving, not one by one and again");
}

#[test]
fn useless_vectors_are_each_texts_own() {
    let server = StandIn::new(|texts| {
        if texts.len() == 1 {
            return sound(texts, ascii);
        }
        let body = r#"{"data":[{"index":0,"embedding":[1,2,3]},{"index":1,"embedding":[0,0,0]},
            {"index":2,"embedding":[NaN,1,2]},{"index":3,"embedding":[1,2]},
            {"index":5,"embedding":[1,1,1]}]}"#;
        (200, body.into())
    });
    let notes = texts(&["a", "b", "c", "d", "e", "f"]);
    let results = server.embedder().embed(&notes, Role::Document);
    let problem = |at: usize| results[at].clone().unwrap_err();
    assert!(results[0].is_ok() && results[5].is_ok());
    assert_eq!(problem(1), EmbedError::Vector(VectorProblem::Zero));
    assert_eq!(problem(2), EmbedError::Vector(VectorProblem::NotFinite));
    assert_eq!(problem(3), EmbedError::Vector(VectorProblem::Length { got: 2, want: 3 }));
    assert_eq!(problem(4), EmbedError::Vector(VectorProblem::Missing));
}

#[test]
fn a_server_that_is_never_right_is_to_blame_and_no_text_is() {
    for body in [
        r#"{"data":[{"index":0,"embedding":[0,0]}]}"#,
        r#"{"data":[{"index":0,"embedding":[]}]}"#,
        r#"{"data":[]}"#,
        "<html>hello</html>",
    ] {
        let server = StandIn::new(move |_| (200, body.into()));
        let results = server.embedder().embed(&texts(&["a note"]), Role::Document);
        assert!(results[0].as_ref().unwrap_err().is_transient(), "{body}: {results:?}");
    }
}

#[test]
fn a_failing_server_is_asked_once_and_blamed() {
    let server = StandIn::new(|_| (503, "loading".into()));
    let notes: Vec<String> = (0..100).map(|n| format!("note {n}")).collect();
    let results = server.embedder().embed(&notes, Role::Document);
    assert!(results.iter().all(|result| result.as_ref().unwrap_err().is_transient()));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn nothing_listening_is_transient() {
    let server = StandIn::new(|texts| sound(texts, ascii));
    let embedder = server.embedder();
    drop(server);
    let results = embedder.embed(&texts(&["a"]), Role::Document);
    assert!(matches!(&results[0], Err(EmbedError::Server(why)) if why.contains("listens")));
}

#[test]
fn a_text_too_long_goes_in_windows_and_the_limit_is_learned() {
    let limit = |texts: &[String]| texts.iter().any(|text| text.chars().count() > 2000);
    let server =
        StandIn::new(
            move |texts| {
                if limit(texts) { (400, "too long".into()) } else { sound(texts, ascii) }
            },
        );
    let embedder = server.embedder();
    let long = "Mooring rule ü: keep clear. ".repeat(2143);
    let results = embedder.embed(&[long.clone(), long], Role::Document);
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let refused = server.requests().iter().filter(|texts| limit(texts)).count();
    assert!(refused <= 6, "{refused} requests were refused");
}

#[test]
fn vectors_of_another_length_than_those_stored_are_refused() {
    let server = StandIn::new(|texts| sound(texts, ascii));
    let embedder = server.embedder();
    embedder.expect_dimensions(64);
    let results = embedder.embed(&texts(&["a", "b"]), Role::Document);
    assert!(results.iter().all(|result| result.as_ref().unwrap_err().is_transient()));
}

/// Several machines behind one address: a request each, at the same time.
#[test]
fn requests_go_out_side_by_side_and_come_back_in_order() {
    let waiting = Arc::new((Mutex::new(0), std::sync::Condvar::new()));
    let server = StandIn::new(move |texts| {
        // Answers only once three requests are there together.
        let (count, changed) = &*waiting;
        let mut together = count.lock().unwrap();
        *together += 1;
        changed.notify_all();
        while *together < 3 {
            together = changed.wait(together).unwrap();
        }
        drop(together);
        sound(texts, ascii)
    });
    let notes: Vec<String> = (0..96).map(|n| "x".repeat(n + 1)).collect();
    let results = server.embedder_with(3).embed(&notes, Role::Document);
    let lengths: Vec<f32> = results.iter().map(|result| result.as_ref().unwrap()[0]).collect();
    assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]), "{lengths:?}");
    assert!(server.requests().len() >= 3);
}
