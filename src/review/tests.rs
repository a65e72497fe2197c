//! The review driven by keys and by answers, drawn on a screen in memory.

#![allow(clippy::unwrap_used)]

use super::terminal::{Mode, Next, press};
use super::*;
use lifecycle_phases::{Phase, PlannedStep, Route, RouteOp, State};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeMap;

fn id(text: &str) -> EntryId {
    EntryId(text.into())
}

fn line(n: usize, step: &'static str, entry: &str, file: Option<&str>) -> StepLine {
    StepLine {
        n,
        phase: Phase::Age,
        step,
        entry: Some(id(entry)),
        file: file.map(Into::into),
        summary: format!("summary of {n}"),
        between: None,
        sources: Vec::new(),
        reason: format!("reason of {n}"),
        status: "planned".into(),
    }
}

fn review() -> Review {
    let route = Route {
        entry: id("c"),
        path: "/p/CLAUDE.md".into(),
        section: vec!["Commands".into()],
        line: "run `make`".into(),
        op: RouteOp::Add,
        score: 0.9,
        runners_up: Vec::new(),
    };
    let steps = vec![
        (1, Step::Expire { entry: id("a"), from: State::Buffered }),
        (2, Step::Expire { entry: id("b"), from: State::Buffered }),
        (3, Step::Route { route, from: State::Proven }),
    ];
    let steps = steps
        .into_iter()
        .map(|(n, step)| PlannedStep { n, ..PlannedStep::new(Phase::Age, step, "") })
        .collect();
    let plan =
        Plan { version: Plan::VERSION, now: 0, base: String::new(), steps, receipts: Vec::new() };
    let report = Report {
        tick: None,
        dry_run: true,
        time: String::new(),
        trigger: "run".into(),
        phases: Vec::new(),
        counts: BTreeMap::new(),
        steps: vec![
            line(1, "expire", "a", None),
            line(2, "expire", "b", None),
            line(3, "route", "c", Some("/p/CLAUDE.md")),
        ],
        files: vec![crate::report::FileChange {
            path: "/p/CLAUDE.md".into(),
            diff: "--- /p/CLAUDE.md\n+++ /p/CLAUDE.md\n@@ -1 +1,2 @@\n a\n+- run `make`\n".into(),
        }],
        notes: Vec::new(),
        calls: Vec::new(),
        picture: None,
    };
    Review::new(plan, report)
}

fn keys(review: &mut Review, mode: &mut Mode, keys: &[KeyCode]) -> Next {
    let mut last = Next::Stay;
    for key in keys {
        last = press(review, mode, KeyEvent::new(*key, KeyModifiers::NONE));
    }
    last
}

#[test]
fn keys_decide_on_each_step() {
    let mut review = review();
    let mut mode = Mode::default();
    let typed = [
        KeyCode::Char('n'),
        KeyCode::Char('p'),
        KeyCode::Char('e'),
        KeyCode::Backspace,
        KeyCode::Char('!'),
        KeyCode::Enter,
        KeyCode::Enter,
        KeyCode::Char('y'),
    ];
    assert_eq!(keys(&mut review, &mut mode, &typed), Next::Apply);
    let outcome = review.outcome();
    assert_eq!(outcome.skip, [1, 2]);
    assert_eq!(outcome.protect, [id("b")]);
    let Step::Route { route, .. } = &outcome.plan.steps[2].step else { panic!("a route") };
    assert_eq!(route.line, "run `make!");
}

#[test]
fn quitting_applies_nothing() {
    let mut review = review();
    let mut mode = Mode::default();
    assert_eq!(keys(&mut review, &mut mode, &[KeyCode::Enter, KeyCode::Char('x')]), Next::Stay);
    assert_eq!(keys(&mut review, &mut mode, &[KeyCode::Char('q')]), Next::Quit);
}

#[test]
fn the_screen_shows_step_reason_and_diff() {
    for (width, height) in [(100, 24), (44, 30)] {
        let mut review = review();
        review.decide(Decision::Move(2));
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen::draw(frame, &review, &screen::Prompt::Keys)).unwrap();
        let shown = terminal.backend().to_string();
        for part in ["3 of 3 steps", "summary of 3", "why: reason of 3", "+- run `make`", "q quit"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}

#[test]
fn questions_lead_to_the_same() {
    let mut review = review();
    let mut out = Vec::new();
    let mut input: &[u8] = b"n\np\nd\ne\nrun `make all`\ny\n";
    assert!(ask::ask(&mut review, &mut input, &mut out).unwrap());
    let shown = String::from_utf8(out).unwrap();
    assert!(shown.contains("[2/3] step 2: age expire"), "{shown}");
    assert!(shown.contains("apply 1 of 3 steps?"), "{shown}");
    let outcome = review.outcome();
    assert_eq!((outcome.skip, outcome.protect), (vec![1, 2], vec![id("b")]));
}

#[test]
fn an_end_of_input_applies_nothing() {
    let mut review = review();
    let mut input: &[u8] = b"y\n";
    assert!(!ask::ask(&mut review, &mut input, &mut Vec::new()).unwrap());
}

/// A merge whose text becomes a line of a file, with what was computed from it.
fn merging() -> Review {
    let source = lifecycle_phases::Source::new(
        lifecycle_phases::Channel::Tick,
        lifecycle_phases::Actor::User,
    );
    let kind = lifecycle_phases::Kind::Insight;
    let proven = lifecycle_phases::Entry::new("run `make`", kind, None, 0, source);
    let (entry, mut plan) = (proven.id.clone(), review().plan);
    let Step::Route { route, .. } = &mut plan.steps[2].step else { panic!("a route") };
    route.entry = entry.clone();
    let merge = Step::Merge {
        cluster: String::new(),
        proven: Box::new(proven),
        sources: Vec::new(),
        links: Vec::new(),
        replaces: Vec::new(),
        descriptor: "d".into(),
        vector: vec![1.0],
        calls: Vec::new(),
    };
    let embed = Step::Embed { entry, descriptor: "d".into(), vector: vec![1.0] };
    plan.steps[0].step = merge;
    plan.steps[1].step = embed;
    let mut report = review().report;
    report.steps[0].step = "merge";
    report.steps[1].step = "embed";
    report.steps[0].sources = vec!["make builds it all".into()];
    Review::new(plan, report)
}

#[test]
fn a_merge_in_other_words_takes_its_line_along_and_drops_its_vector() {
    let mut review = merging();
    let mut mode = Mode::default();
    let typed = [KeyCode::Char('e'), KeyCode::Char('!'), KeyCode::Enter];
    keys(&mut review, &mut mode, &typed);
    assert_eq!(review.current().unwrap().line.summary, "run `make`! (your words)");
    let outcome = review.outcome();
    assert_eq!(outcome.rewritten, [3, 1]);
    assert!(outcome.skip.is_empty());
    assert_eq!(outcome.plan.steps.len(), 2, "the stale vector goes");
    let Step::Merge { proven, vector, .. } = &outcome.plan.steps[0].step else { panic!() };
    assert_eq!((proven.text.as_str(), vector.len()), ("run `make`!", 0));
    assert_eq!(proven.content_hash, lifecycle_phases::ContentHash::of("run `make`!"));
    let Step::Route { route, .. } = &outcome.plan.steps[1].step else { panic!() };
    assert_eq!(route.line, "run `make`!");
}

#[test]
fn the_editor_stands_where_the_step_stood() {
    let mut review = merging();
    let mut mode = Mode::default();
    for (width, height) in [(100, 24), (44, 30)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut show = |review: &Review, prompt: &screen::Prompt<'_>| {
            terminal.draw(|frame| screen::draw(frame, review, prompt)).unwrap();
            terminal.backend().to_string()
        };
        assert!(show(&review, &screen::Prompt::Keys).contains("from: make builds it all"));
        keys(&mut review, &mut mode, &[KeyCode::Char('e')]);
        let Mode::Edit(editor) = &mode else { panic!("editing") };
        let shown = show(&review, &screen::Prompt::Edit(editor));
        assert!(shown.contains("new words") && shown.contains("run `make`▏"), "{shown}");
        keys(&mut review, &mut mode, &[KeyCode::Esc]);
        assert_eq!(mode, Mode::List);
    }
}

#[test]
fn links_in_a_row_are_one_question() {
    let asked = |answers: &str| {
        let mut review = merging();
        let row = |n| Item { line: line(n, "link", "m", None), choice: Choice::Accept };
        review.items.splice(0..0, [row(11), row(12), row(13)]);
        let mut out = Vec::new();
        let apply = ask::ask(&mut review, &mut answers.as_bytes(), &mut out).unwrap();
        (apply, review.outcome().skip, String::from_utf8(out).unwrap())
    };
    let (apply, skip, out) = asked("n\nd\na\n");
    assert!(apply && out.matches("3 links: all?").count() == 1, "{out}");
    assert!(out.contains("run `make`") && !out.contains("apply "), "{out}");
    assert_eq!(skip, [11, 12, 13]);
    let (apply, skip, _) = asked("each\ny\nn\ny\na\n");
    assert!(apply);
    assert_eq!(skip, [12]);
    assert!(!asked("y\n").0, "the answers ended");
}
