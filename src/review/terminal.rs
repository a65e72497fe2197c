//! The loop between keys and the review.

use super::screen::{Prompt, draw};
use super::{Choice, Decision, Review};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key is typed into.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The list of steps.
    #[default]
    List,
    /// The new words of a line.
    Edit(String),
    /// The question whether to apply.
    Confirm,
}

/// Whether the review goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It does.
    Stay,
    /// Apply.
    Apply,
    /// Apply nothing.
    Quit,
}

/// Shows the review until the reader applies it (`true`) or quits (`false`).
///
/// # Errors
/// The terminal failed; it is restored before.
pub fn run(review: &mut Review) -> std::io::Result<bool> {
    let mut terminal = ratatui::try_init()?;
    let result = turn(review, &mut terminal);
    ratatui::restore();
    result
}

fn turn(review: &mut Review, terminal: &mut ratatui::DefaultTerminal) -> std::io::Result<bool> {
    let mut mode = Mode::default();
    loop {
        terminal.draw(|frame| draw(frame, review, &prompt(&mode)))?;
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match press(review, &mut mode, key) {
            Next::Stay => {}
            Next::Apply => return Ok(true),
            Next::Quit => return Ok(false),
        }
    }
}

fn prompt(mode: &Mode) -> Prompt<'_> {
    match mode {
        Mode::List => Prompt::Keys,
        Mode::Edit(text) => Prompt::Edit(text),
        Mode::Confirm => Prompt::Confirm,
    }
}

/// Takes a key in.
pub fn press(review: &mut Review, mode: &mut Mode, key: KeyEvent) -> Next {
    if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
        return Next::Quit;
    }
    match mode {
        Mode::List => in_list(review, mode, key.code),
        Mode::Edit(_) => {
            in_edit(review, mode, key.code);
            Next::Stay
        }
        Mode::Confirm => {
            *mode = Mode::List;
            if matches!(key.code, KeyCode::Char('y') | KeyCode::Enter) {
                Next::Apply
            } else {
                Next::Stay
            }
        }
    }
}

fn in_list(review: &mut Review, mode: &mut Mode, key: KeyCode) -> Next {
    match key {
        KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
        KeyCode::Enter => *mode = Mode::Confirm,
        KeyCode::Char('e') => {
            if let Some(line) = review.written_line() {
                *mode = Mode::Edit(line.to_string());
            }
        }
        other => {
            if let Some(decision) = decision(other) {
                review.decide(decision);
            }
        }
    }
    Next::Stay
}

fn decision(key: KeyCode) -> Option<Decision> {
    Some(match key {
        KeyCode::Char('j') | KeyCode::Down => Decision::Move(1),
        KeyCode::Char('k') | KeyCode::Up => Decision::Move(-1),
        KeyCode::PageDown => Decision::Move(10),
        KeyCode::PageUp => Decision::Move(-10),
        KeyCode::Home => Decision::Move(isize::MIN + 1),
        KeyCode::End => Decision::Move(isize::MAX),
        KeyCode::Char('y' | ' ') => Decision::Choose(Choice::Accept),
        KeyCode::Char('n') => Decision::Choose(Choice::Reject),
        KeyCode::Char('p') => Decision::Choose(Choice::Protect),
        KeyCode::Char('A') => Decision::ChooseAll(Choice::Accept),
        KeyCode::Char('N') => Decision::ChooseAll(Choice::Reject),
        _ => return None,
    })
}

fn in_edit(review: &mut Review, mode: &mut Mode, key: KeyCode) {
    let Mode::Edit(text) = mode else { return };
    match key {
        KeyCode::Char(ch) => text.push(ch),
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Enter => {
            let words = std::mem::take(text);
            *mode = Mode::List;
            review.decide(Decision::Rewrite(words));
        }
        KeyCode::Esc => *mode = Mode::List,
        _ => {}
    }
}
