use super::embedding::{home_at, run};
use crate::support::standin::{Standin, Vectors};

#[test]
fn it_is_stored_whole_and_embedded_from_its_pieces() {
    let server = Standin::start();
    server.vectors(Vectors::default().rule("ooring rule", 1, 0.1)).max_embed_chars(2000);
    let home = home_at(&server.url());
    let project = home.project().display().to_string();
    let long: String = (0..2000)
        .map(|number| format!("Mooring rule {number}: keep clear of the Größe. "))
        .collect();
    let file = home.path().join("long.txt");
    std::fs::write(&file, &long).unwrap();
    let file = file.display().to_string();
    home.run(&["add", "--project", &project, "--file-text", &file]).success();
    run(&home).success();
    let asked = server.embeds().len();
    run(&home).success();
    assert_eq!(server.embeds().len(), asked, "nothing is embedded twice");

    assert_eq!(home.texts(&[]), [long.trim()], "the stored text is complete");
    assert_eq!(home.json(&["status"])["unconnected"], 0);
    let found = home.json(&["search", "mooring rule"]);
    assert!(found["results"][0]["text"].as_str().unwrap().starts_with("Mooring rule 0"), "{found}");
    let refused = |input: &serde_json::Value| {
        let texts = input.as_array().cloned().unwrap_or_default();
        texts.iter().any(|text| text.as_str().unwrap_or_default().chars().count() > 2000)
    };
    let refusals =
        server.embeds().iter().filter(|request| refused(&request.json()["input"])).count();
    assert!(refusals <= 8, "{refusals} requests were refused");
    let torn = |request: &str| request.contains('\u{fffd}') || request.contains("\\ufffd");
    let sent = server.embeds();
    assert!(sent.iter().all(|request| !torn(&request.json().to_string())), "cut in a character");
}
