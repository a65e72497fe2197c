//! How a file or a section words things: one of one-line commands and one of prose take different
//! lines.
//!
//! Each mark is yes or no for a block; rates, shrunk towards those of what is around (a section's
//! towards its file's, a file's towards those of all files), give the log-likelihood of a text
//! against the average (naive Bayes).

/// Marks of a text.
const MARKS: usize = 12;
/// Classes of length.
const LENGTHS: usize = 5;

/// The marks and the length of one text.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    marks: [bool; MARKS],
    length: usize,
}

impl Look {
    /// Of `text`, list mark and emphasis left out.
    pub fn of(text: &str) -> Self {
        let text = bare(text);
        Self { marks: marks(&text), length: length(&text) }
    }
}

/// How often each mark and each length occurs among some texts.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    marks: [f32; MARKS],
    lengths: [f32; LENGTHS],
    texts: f32,
}

impl Counts {
    /// One more text.
    pub fn add(&mut self, look: &Look) {
        for (count, mark) in self.marks.iter_mut().zip(look.marks) {
            *count += f32::from(u8::from(mark));
        }
        self.lengths[look.length] += 1.0;
        self.texts += 1.0;
    }

    /// The plain rates.
    pub fn rates(&self) -> Rates {
        let all = self.texts.max(1.0);
        Rates {
            marks: self.marks.map(|count| count / all),
            lengths: self.lengths.map(|count| count / all),
        }
    }

    /// The rates, shrunk towards `around` as if `prior` texts of it were among these.
    pub fn shrunk(&self, around: &Rates, prior: f32) -> Rates {
        let all = self.texts + prior;
        let mut rates = around.clone();
        for (rate, count) in rates.marks.iter_mut().zip(self.marks) {
            *rate = (count + prior * *rate) / all;
        }
        for (rate, count) in rates.lengths.iter_mut().zip(self.lengths) {
            *rate = (count + prior * *rate) / all;
        }
        rates
    }
}

/// Shares of texts with each mark and each length.
#[derive(Clone, Debug)]
pub struct Rates {
    marks: [f32; MARKS],
    lengths: [f32; LENGTHS],
}

impl Rates {
    /// Log-likelihood of a text under these rates.
    pub fn likelihood(&self, look: &Look) -> f32 {
        let marks = self.marks.iter().zip(look.marks).map(|(rate, mark)| {
            let rate = rate.clamp(0.01, 0.99);
            if mark { rate.ln() } else { (1.0 - rate).ln() }
        });
        marks.sum::<f32>() + self.lengths[look.length].max(0.01).ln()
    }
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

    fn counts(texts: &[&str]) -> Counts {
        let mut counts = Counts::default();
        texts.iter().for_each(|text| counts.add(&Look::of(text)));
        counts
    }

    #[test]
    fn a_text_fits_where_texts_are_like_it() {
        let commands = ["- `a`: run", "- `b`: build", "- `c`: clean"];
        let prose = ["It is so.", "We do that because of this.", "Then it ends."];
        let average = counts(&[commands, prose].concat()).rates();
        let one = counts(&commands).shrunk(&average, 5.0);
        let two = counts(&prose).shrunk(&average, 5.0);
        let fits = |text| {
            let look = Look::of(text);
            one.likelihood(&look) > two.likelihood(&look)
        };
        assert!(fits("`d`: deploy") && !fits("This holds."));
    }
}
