//! The loop between keys and the review.

use super::editor::{Edited, Editor};
use super::screen::{Prompt, draw};
use super::{Choice, Decision, Review};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;

/// What a key is typed into.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The list of steps.
    #[default]
    List,
    /// The new words of a line or a merge.
    Edit(Editor),
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
    // So that a line feed in what is pasted does not act as the key Enter.
    let _ = execute!(std::io::stdout(), EnableBracketedPaste);
    let result = turn(review, &mut terminal);
    let _ = execute!(std::io::stdout(), DisableBracketedPaste);
    ratatui::restore();
    result
}

fn turn(review: &mut Review, terminal: &mut ratatui::DefaultTerminal) -> std::io::Result<bool> {
    let mut mode = Mode::default();
    loop {
        terminal.draw(|frame| draw(frame, review, &prompt(&mode)))?;
        let key = match event::read()? {
            Event::Key(key) => key,
            Event::Paste(text) => {
                if let Mode::Edit(editor) = &mut mode {
                    editor.insert(&text);
                }
                continue;
            }
            _ => continue,
        };
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
        Mode::Edit(editor) => Prompt::Edit(editor),
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
            in_edit(review, mode, key);
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
            if let Some((text, lines)) = review.written_text() {
                *mode = Mode::Edit(Editor::new(text, lines));
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

fn in_edit(review: &mut Review, mode: &mut Mode, key: KeyEvent) {
    let Mode::Edit(editor) = mode else { return };
    match editor.press(key) {
        Edited::Goes => {}
        Edited::Dropped => *mode = Mode::List,
        Edited::Taken => {
            let text = editor.text().to_string();
            *mode = Mode::List;
            review.decide(Decision::Rewrite(text));
        }
    }
}
