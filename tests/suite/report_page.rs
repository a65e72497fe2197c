//! The HTML report in a real browser, where there is one.

use crate::support::Home;
use std::path::{Path, PathBuf};
use std::process::Command;

const NASTY: &str = "</script></svg><img src=x onerror=document.title='owned'><script>document.title='owned'</script>";

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

/// The page's DOM after its script ran.
fn dom(browser: &Path, page: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tick.html");
    std::fs::write(&file, page).unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A dry run over entries that age, one of them with a text that wants to be markup.
fn page() -> String {
    let mut home = Home::new();
    home.set("LIFECYCLE_CONNECT__LINK_SIMILARITY", "0.999");
    for text in [NASTY, "ok, thanks", "good morning", "sounds fine to me", "see you tomorrow"] {
        home.run(&["add", text]).success();
    }
    home.run(&["run", "--phase", "connect"]).success();
    home.set("LIFECYCLE_AGE__NEWER_ENTRIES", "1");
    let args = ["run", "--dry-run", "--phase", "age", "--format", "html", "--plan", "my plan.json"];
    home.run(&args).success().out
}

#[test]
fn the_page_stands_alone_and_escapes_everything() {
    let page = page();
    assert!(!page.contains("<img"), "markup of an entry");
    assert!(page.contains("&lt;img src=x"), "its text is shown");
    for outside in ["http://", "https://", "src=\"", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn a_browser_spells_the_command_of_what_is_ticked() {
    let page = page();
    let Some(browser) = browser() else {
        println!("skipped: no Chromium on this machine");
        return;
    };
    let shown = dom(&browser, &page);
    assert!(shown.contains(">lifecycle apply 'my plan.json'</output>"), "{shown}");
    assert!(!shown.contains("<title>owned"));

    // The same page with the second box not ticked from the start.
    let boxes: Vec<&str> = page.matches("type=\"checkbox\" checked data-step=").collect();
    assert!(boxes.len() >= 2, "steps to leave out: {page}");
    let second = page.match_indices(" checked data-step=").nth(1).unwrap().0;
    let unticked = format!("{}{}", &page[..second], &page[second + " checked".len()..]);
    let number: String = page[second + " checked data-step=\"".len()..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let shown = dom(&browser, &unticked);
    let wanted = format!(">lifecycle apply 'my plan.json' --skip {number}</output>");
    assert!(shown.contains(&wanted), "{wanted}: {shown}");

    // A foreign script is not run: the page's own policy forbids it.
    let foreign = page.replace("</main>", "<script>document.title='owned'</script></main>");
    assert!(!dom(&browser, &foreign).contains("<title>owned"));
}

#[test]
fn every_form_tells_the_same_steps() {
    let home = Home::new();
    let notes = home.path().join("notes.jsonl");
    let lines = ["Ports are 5432 | 5433", "Never guess a zone", "Tiles have a version"];
    let text: String = lines.iter().map(|line| format!("{{\"text\": \"{line}\"}}\n")).collect();
    std::fs::write(&notes, text).unwrap();
    home.run(&["add", "--file", "notes.jsonl"]).success();
    let report = home.json(&["report"]);
    let steps = report["steps"].as_array().unwrap().len();
    assert!(steps >= 3);
    let markdown = home.run(&["report", "--format", "markdown"]).success().out;
    assert_eq!(markdown.matches(" | admit ").count(), steps, "{markdown}");
    assert!(markdown.contains("5432 \\| 5433"), "{markdown}");
    let text = home.run(&["report"]).success().out;
    assert!(!text.contains('\u{1b}'), "no colours but on a terminal");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let html = home.run(&["report", "--format", "html"]).success().out;
    assert_eq!(html.matches("<span class=\"kind\">admit</span>").count(), steps);
    assert!(!html.contains("checkbox"), "nothing to choose in the past");
}
