//! How a file words things: a file of one-line commands and a file of prose take different lines.
//!
//! Each mark is yes or no for a block; a file's rates, shrunk towards those of all files, give the
//! log-likelihood of a text against the average (naive Bayes).

/// Marks of a text.
const MARKS: usize = 12;
/// Classes of length.
const LENGTHS: usize = 5;
/// Blocks by which a file's rates are shrunk towards the average.
const PRIOR: f32 = 5.0;

/// How often each mark and each length occurs.
#[derive(Clone, Debug, Default)]
pub struct Style {
    marks: [f32; MARKS],
    lengths: [f32; LENGTHS],
    blocks: f32,
}

impl Style {
    /// The rates in `texts`.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut style = Self::default();
        for text in texts {
            let text = bare(text);
            for (count, mark) in style.marks.iter_mut().zip(marks(&text)) {
                *count += f32::from(u8::from(mark));
            }
            style.lengths[length(&text)] += 1.0;
            style.blocks += 1.0;
        }
        style
    }

    /// Log-likelihood of `text` here, less that in `average`.
    pub fn fit(&self, average: &Self, text: &str) -> f32 {
        let text = bare(text);
        let (all, own) = (average.blocks.max(1.0), self.blocks + PRIOR);
        let mut sum = 0.0;
        for (n, mark) in marks(&text).into_iter().enumerate() {
            let base = average.marks[n] / all;
            let rate = (self.marks[n] + PRIOR * base) / own;
            sum += log_odds(rate, mark) - log_odds(base, mark);
        }
        let n = length(&text);
        let base = average.lengths[n] / all;
        let rate = (self.lengths[n] + PRIOR * base) / own;
        sum + rate.max(0.01).ln() - base.max(0.01).ln()
    }
}

fn log_odds(rate: f32, mark: bool) -> f32 {
    let rate = rate.clamp(0.01, 0.99);
    if mark { rate.ln() } else { (1.0 - rate).ln() }
}

/// Without list mark and emphasis.
fn bare(text: &str) -> String {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match text[digits..].strip_prefix(['.', ')']) {
        Some(rest) if digits > 0 => rest,
        _ => text.strip_prefix(['-', '*', '+']).unwrap_or(text),
    };
    let item = rest.strip_prefix(' ').map_or(text, str::trim_start);
    let item = ["[ ] ", "[x] "].iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item);
    item.replace("**", "").replace("__", "")
}

fn marks(text: &str) -> [bool; MARKS] {
    let lower = text.to_lowercase();
    let first = text.chars().next();
    let early = text.split(['.', ':']).next().unwrap_or_default();
    let has_word = |words: &[&str]| {
        lower
            .split(|ch: char| !ch.is_alphanumeric() && ch != '\'')
            .any(|word| words.contains(&word))
    };
    [
        text.ends_with('.'),
        text.contains('`'),
        first == Some('`'),
        text.contains('—') || text.contains(" – ") || text.contains(" - "),
        (2..=40).contains(&early.chars().count()) && text[early.len()..].starts_with(':'),
        first.is_some_and(char::is_uppercase),
        first.is_some_and(char::is_lowercase),
        text.contains('→') || text.contains("->"),
        text.contains('('),
        lower.contains("do not") || has_word(&["never", "always", "must", "don't", "should"]),
        lower.contains("://") || lower.contains("www"),
        text.ends_with(':'),
    ]
}

fn length(text: &str) -> usize {
    match text.split_whitespace().count() {
        0..6 => 0,
        6..12 => 1,
        12..22 => 2,
        22..40 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_where_texts_are_like_it() {
        let commands = ["- `a`: run", "- `b`: build", "- `c`: clean"];
        let prose = ["It is so.", "We do that because of this.", "Then it ends."];
        let (one, two) = (Style::of(commands.into_iter()), Style::of(prose.into_iter()));
        let all = Style::of(commands.into_iter().chain(prose));
        assert!(one.fit(&all, "`d`: deploy") > two.fit(&all, "`d`: deploy"));
        assert!(two.fit(&all, "This holds.") > one.fit(&all, "This holds."));
    }
}
