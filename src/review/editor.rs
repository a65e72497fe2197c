//! A text that is edited in place: the words and where the cursor stands between them.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// The text under the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Editor {
    text: String,
    /// Byte position, always between graphemes.
    at: usize,
    /// Whether the text may have more than one line.
    lines: bool,
}

/// What a key meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edited {
    /// The editing goes on.
    Goes,
    /// The text is taken.
    Taken,
    /// The text stays as it was before.
    Dropped,
}

impl Editor {
    /// Begins with `text`, the cursor at its end.
    pub fn new(text: &str, lines: bool) -> Self {
        Self { text: text.to_string(), at: text.len(), lines }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before and after the cursor.
    pub fn halves(&self) -> (&str, &str) {
        self.text.split_at(self.at)
    }

    /// Whether a new line may be made.
    pub fn has_lines(&self) -> bool {
        self.lines
    }

    /// Takes a key in. Enter takes the text; Alt+Enter and Ctrl+J begin a new line.
    pub fn press(&mut self, key: KeyEvent) -> Edited {
        let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter if held.is_empty() => return Edited::Taken,
            KeyCode::Esc => return Edited::Dropped,
            KeyCode::Enter => self.insert("\n"),
            KeyCode::Char('j') if held == KeyModifiers::CONTROL => self.insert("\n"),
            KeyCode::Char('u') if held == KeyModifiers::CONTROL => {
                self.text.clear();
                self.at = 0;
            }
            KeyCode::Char(ch) if held.is_empty() => self.insert(ch.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => {
                let to = self.at;
                self.left();
                self.text.replace_range(self.at..to, "");
            }
            KeyCode::Delete => {
                let from = self.at;
                self.right();
                self.text.replace_range(from..self.at, "");
                self.at = from;
            }
            KeyCode::Left => self.left(),
            KeyCode::Right => self.right(),
            KeyCode::Home => self.at = self.text[..self.at].rfind('\n').map_or(0, |at| at + 1),
            KeyCode::End => {
                self.at = self.text[self.at..].find('\n').map_or(self.text.len(), |n| self.at + n);
            }
            _ => {}
        }
        Edited::Goes
    }

    /// Puts text in at the cursor, as typing or pasting does.
    pub fn insert(&mut self, text: &str) {
        let kept: String = text
            .chars()
            .map(|ch| if ch == '\r' { '\n' } else { ch })
            .map(|ch| if ch == '\n' && !self.lines { ' ' } else { ch })
            .filter(|ch| *ch == '\n' || !ch.is_control())
            .collect();
        self.text.insert_str(self.at, &kept);
        self.at += kept.len();
    }

    fn left(&mut self) {
        self.at = self.text[..self.at].grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
    }

    fn right(&mut self) {
        let mut cursor = GraphemeCursor::new(self.at, self.text.len(), true);
        self.at = cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, keys: &[KeyCode]) {
        for key in keys {
            editor.press(KeyEvent::new(*key, KeyModifiers::NONE));
        }
    }

    #[test]
    fn the_cursor_moves_by_what_is_seen() {
        let mut editor = Editor::new("a👨‍👩‍👧b", true);
        typed(&mut editor, &[KeyCode::Left, KeyCode::Backspace, KeyCode::Char('é'), KeyCode::End]);
        typed(&mut editor, &[KeyCode::Char('!'), KeyCode::Home, KeyCode::Delete]);
        assert_eq!((editor.text(), editor.halves().0), ("éb!", ""));
    }

    #[test]
    fn a_line_of_a_file_stays_one_line() {
        let alt = KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT);
        let (mut line, mut text) = (Editor::new("a", false), Editor::new("a", true));
        assert_eq!((line.press(alt), text.press(alt)), (Edited::Goes, Edited::Goes));
        line.insert("b\nc\u{1b}");
        text.insert("b\r");
        assert_eq!((line.text(), text.text()), ("a b c", "a\nb\n"));
    }
}
