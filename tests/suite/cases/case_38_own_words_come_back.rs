//! Text the product put into the context is not learned again.

use crate::capture::{end_of, entries, hook, texts, tick};
use crate::support::{Home, fixture};
use std::path::Path;

const PROJECT: &str = "/home/robin/work/harbor-api";

#[test]
fn text_the_product_injected_is_not_learned_again() {
    let home = Home::new();
    let known = [
        "ETA rows without offset go to quarantine_rows.",
        "Integration tests need `docker compose up -d pg` first.",
    ];
    for text in known {
        home.run(&["add", "--project", PROJECT, text]).success();
    }
    hook(&home, &end_of(&fixture("transcripts/08-recall-echo.jsonl"), Path::new(PROJECT)));
    tick(&home);
    let new = "Name every metric with the suffix _total, that is our convention.";
    assert_eq!(texts(&home), [known[0], known[1], new]);
    assert!(entries(&home).iter().all(|entry| entry["recalls"] == 0));
}
