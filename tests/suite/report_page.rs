//! The HTML report in a real browser, where there is one.

use crate::support::Home;
use crate::support::browser::Browser;
use base64::Engine as _;
use serde_json::json;

const NASTY: &str = "</script></svg><img src=x onerror=document.title='owned'><script>document.title='owned'</script>";

/// Notes that make links, a cluster, a line in a file, and loners.
const NOTES: &[&str] = &[
    "Integration tests need docker compose up -d pg first",
    "The integration tests fail unless docker compose up -d pg ran before",
    "Before the integration tests: docker compose up -d pg, or they cannot connect",
    "The berth planner counts each ship twice after midnight",
    "ok, thanks",
    "good morning",
    "sounds fine to me",
    "see you tomorrow",
    NASTY,
];

/// A dry run of a whole tick, one of its texts wanting to be markup.
fn page() -> String {
    let mut home = Home::new();
    let project = home.project();
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::write(project.join("CLAUDE.md"), "# Harbor\n\n## Commands\n\n- run make\n").unwrap();
    for text in NOTES {
        home.run(&["add", text, "--project", project.to_str().unwrap()]).success();
    }
    home.set("LIFECYCLE_AGE__NEWER_ENTRIES", "1");
    let args = ["run", "--dry-run", "--yes", "--format", "html", "--plan", "my plan.json"];
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
    for part in ["class=\"graph\"", "class=\"bars\"", "link line 0.75", "Ageing forecast"] {
        assert!(page.contains(part), "{part}");
    }
}

const COMMAND: &str = "document.getElementById('command').textContent";

#[test]
fn a_browser_spells_the_command_of_what_is_ticked() {
    let Some(mut browser) = Browser::open(&page()) else { return };
    assert_eq!(browser.value("document.title.startsWith('dry run')"), json!(true));
    assert_eq!(browser.value(COMMAND), "lifecycle apply 'my plan.json'");

    // By keyboard alone: to the first box, and a space.
    browser.value("document.body.focus()");
    let at = "document.activeElement.dataset && document.activeElement.dataset.step || ''";
    for _ in 0..80 {
        if browser.value(at) != "" {
            break;
        }
        browser.press("Tab", 9);
    }
    let step = browser.value(at);
    assert_ne!(step, "", "a box can be reached by keyboard");
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.value(outline), "solid", "one sees where one is");
    browser.press(" ", 32);
    let wanted = format!("lifecycle apply 'my plan.json' --skip {}", step.as_str().unwrap());
    assert_eq!(browser.value(COMMAND), wanted.as_str());
    browser.press(" ", 32);
    assert_eq!(browser.value(COMMAND), "lifecycle apply 'my plan.json'");

    // The box of a file stands for the steps that write to it.
    browser.value("document.querySelector('input[data-all]').click()");
    let numbers = "document.querySelector('input[data-all]').dataset.all.split(' ').join(',')";
    let wanted = format!(
        "lifecycle apply 'my plan.json' --skip {}",
        browser.value(numbers).as_str().unwrap()
    );
    assert_eq!(browser.value(COMMAND), wanted.as_str());
}

#[test]
fn the_pictures_have_text_for_who_points_or_tabs() {
    let Some(mut browser) = Browser::open(&page()) else { return };
    let counts = "[document.querySelectorAll('.graph circle').length,
        document.querySelectorAll('.graph circle[tabindex=\"0\"][aria-label] > title').length,
        document.querySelectorAll('.graph line.new > title').length,
        document.querySelectorAll('.bars rect.above').length,
        document.querySelectorAll('.bars rect.below').length,
        document.querySelectorAll('.bars .threshold').length,
        document.querySelectorAll('pre.diff .add').length]";
    let found = browser.value(counts);
    let found: Vec<u64> = found.as_array().unwrap().iter().filter_map(|n| n.as_u64()).collect();
    assert!(found[0] >= 5 && found[0] == found[1], "{found:?}");
    assert!(found[2] >= 2, "new links: {found:?}");
    assert!(found[3] >= 1 && found[4] >= 1, "bars on both sides of the line: {found:?}");
    assert_eq!((found[5], found[6] >= 1), (1, true), "{found:?}");
    let heard = "[...document.querySelectorAll('.bars rect > title')]
        .reduce((sum, title) => sum + Number(title.textContent.split(': ')[1].split(' ')[0]), 0)";
    let said = "Number(document.querySelector('#bars + p').textContent.match(/each of (\\d+)/)[1])";
    assert_eq!(browser.value(heard), browser.value(said), "every new entry stands in a bar");
}

#[test]
fn light_dark_and_small_screens_read_well() {
    let Some(mut browser) = Browser::open(&page()) else { return };
    let ground = "getComputedStyle(document.body).backgroundColor";
    let words = "getComputedStyle(document.body).color";
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        let colours = [browser.value(ground), browser.value(words)];
        let [ground, words] = colours.map(|colour| brightness(colour.as_str().unwrap()));
        assert!((ground - words).abs() > 0.6, "{scheme}: {ground} {words}");
        grounds.push(ground);
    }
    assert!(grounds[0] > 0.8 && grounds[1] < 0.2, "{grounds:?}");
    for (name, width, mobile) in [("wide", 1200, false), ("phone", 360, true)] {
        browser.screen(width, 740, mobile);
        let over = browser.value("document.documentElement.scrollWidth - window.innerWidth");
        assert!(over.as_i64().unwrap() <= 0, "{name}: {over} points too wide");
        let smallest = "Math.min(...[...document.querySelectorAll('p,li,label,td')]
            .map(one => parseFloat(getComputedStyle(one).fontSize)))";
        assert!(browser.value(smallest).as_f64().unwrap() >= 13.0, "{name}: letters too small");
        keep_picture(&mut browser, name);
    }
}

/// For looking at the page: `LIFECYCLE_TEST_PICTURES=FOLDER` keeps what the browser shows.
fn keep_picture(browser: &mut Browser, name: &str) {
    let Some(folder) = std::env::var_os("LIFECYCLE_TEST_PICTURES") else { return };
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        let picture = base64::engine::general_purpose::STANDARD.decode(browser.picture()).unwrap();
        let file = std::path::Path::new(&folder).join(format!("report-{name}-{scheme}.png"));
        std::fs::write(file, picture).unwrap();
    }
}

/// 0 for black to 1 for white, of `rgb(r, g, b)`.
fn brightness(colour: &str) -> f64 {
    let numbers = colour.trim_start_matches("rgb(").trim_end_matches(')');
    let parts: Vec<f64> = numbers.split(", ").filter_map(|part| part.parse().ok()).collect();
    parts.iter().sum::<f64>() / 3.0 / 255.0
}

#[test]
fn a_foreign_script_is_not_run() {
    let page = page().replace("</main>", "<script>document.title='owned'</script></main>");
    let Some(mut browser) = Browser::open(&page) else { return };
    assert_ne!(browser.value("document.title"), "owned");
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

/// The past tells the same: how near the entries were is kept with the tick.
#[test]
fn a_tick_of_the_past_shows_the_same_bars() {
    let home = Home::new();
    for text in NOTES {
        home.run(&["add", text]).success();
    }
    let bars = |page: &str| -> Vec<String> {
        page.lines().filter(|line| line.starts_with("<rect class=")).map(str::to_string).collect()
    };
    let now = home.run(&["run", "--format", "html"]).success().out;
    let later = home.run(&["report", "--format", "html"]).success().out;
    assert!(!bars(&now).is_empty());
    assert_eq!(bars(&now), bars(&later));
}
