//! Colours of the text report. Only the terminal adds them: the words are the same without.

use anstyle::{AnsiColor, Color, Style};

/// The text report with colours by the meaning of each line.
pub fn paint(text: &str) -> String {
    let mut in_diff = false;
    text.split_inclusive('\n')
        .map(|line| {
            if line.starts_with("--- ") {
                in_diff = true;
            } else if line == "\n" {
                in_diff = false;
            }
            match style(line, in_diff) {
                Some(style) => {
                    let (words, end) = line.split_at(line.trim_end_matches('\n').len());
                    format!("{style}{words}{style:#}{end}")
                }
                None => line.to_string(),
            }
        })
        .collect()
}

fn style(line: &str, in_diff: bool) -> Option<Style> {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(Color::Ansi(colour)));
    if in_diff {
        return match line.as_bytes().first() {
            _ if line.starts_with("--- ") || line.starts_with("+++ ") => Some(Style::new().bold()),
            Some(b'+') => Some(colour(AnsiColor::Green)),
            Some(b'-') => Some(colour(AnsiColor::Red)),
            Some(b'@') => Some(colour(AnsiColor::Cyan)),
            _ => None,
        };
    }
    if line.starts_with("! ") || line.contains(" REFUSED ") {
        return Some(colour(AnsiColor::Red).bold());
    }
    if line.starts_with("- ") {
        return Some(colour(AnsiColor::Yellow));
    }
    if line.starts_with("         ") {
        return Some(Style::new().dimmed());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colour_is_added() {
        let text = "tick 1\n! route failed: x\n    1  expire  y\n         why\n\n--- a\n+++ a\n@@ -1 +1 @@\n-old\n \n+new\n";
        let painted = paint(text);
        assert!(painted.contains("\u{1b}[32m+new\u{1b}[0m\n"), "{painted:?}");
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), text);
    }
}
