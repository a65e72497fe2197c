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
