//! The stand-in itself: what the other tests rely on.

#![allow(clippy::unwrap_used)]

use crate::support::standin::{Reply, Standin, Vectors};
use std::time::Duration;

fn post(server: &Standin, path: &str, body: &str) -> reqwest::Result<String> {
    let client = reqwest::blocking::Client::builder()
        .no_proxy()
        .timeout(Duration::from_millis(500))
        .build()?;
    client.post(format!("{}{path}", server.url())).body(body.to_string()).send()?.text()
}

#[test]
fn replies_come_in_order_and_the_last_repeats() {
    let server = Standin::start();
    server.replies([Reply::text("one"), Reply::text("two")]);
    let texts: Vec<String> =
        (0..3).map(|_| post(&server, "/v1/chat/completions", "{}").unwrap()).collect();
    assert!(texts[0].contains("one") && texts[1].contains("two") && texts[2].contains("two"));
    assert_eq!(server.chats().len(), 3);
}

#[test]
fn rules_give_vectors_and_two_axes_stand_at_a_right_angle() {
    let server = Standin::start();
    server.vectors(Vectors::default().rule("port", 0, 0.1).rule("berth", 1, 0.1));
    let body = post(&server, "/v1/embeddings", r#"{"input":["the port","a berth"]}"#).unwrap();
    let value: serde_json::Value = serde_json::from_str(&body).unwrap();
    let vector = |i: usize| -> Vec<f64> {
        serde_json::from_value(value["data"][i]["embedding"].clone()).unwrap()
    };
    let dot: f64 = vector(0).iter().zip(vector(1)).map(|(x, y)| x * y).sum();
    assert!(dot.abs() < 0.02, "{dot}");
}

#[test]
fn a_fallback_can_be_no_vector() {
    let server = Standin::start();
    server.vectors(Vectors { fallback: "nan".into(), ..Vectors::default() });
    assert!(post(&server, "/api/embed", r#"{"input":"x"}"#).unwrap().contains("NaN"));
    server.embed_status(500);
    assert!(post(&server, "/api/embed", r#"{"input":"x"}"#).unwrap().contains("failure"));
}

#[test]
fn a_client_that_gives_up_is_seen() {
    let server = Standin::start();
    server.replies([Reply::Hang]);
    assert!(post(&server, "/api/chat", "{}").is_err());
    while server.gone() == 0 {
        std::thread::yield_now();
    }
    assert_eq!(server.gone(), 1);
}
