//! What of a long text is shown.

use crate::store::{Term, terms_of};
use unicode_segmentation::UnicodeSegmentation;

/// A text as a result shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The whole text, or the part around the words that were looked for.
    pub text: String,
    /// Something was left out.
    pub truncated: bool,
}

/// The whole of `text` up to `whole` characters; otherwise about `length` characters from the
/// sentence or line that has most of the words. Cuts fall between graphemes.
pub fn excerpt(text: &str, terms: &[Term], whole: usize, length: usize) -> Excerpt {
    if text.chars().count() <= whole {
        return Excerpt { text: text.to_string(), truncated: false };
    }
    let rest = &text[best_start(text, terms)..];
    let mut cut = String::new();
    let mut count = 0;
    for grapheme in rest.graphemes(true) {
        count += grapheme.chars().count();
        if count > length {
            break;
        }
        cut.push_str(grapheme);
    }
    let (before, after) = (rest.len() < text.len(), cut.len() < rest.len());
    let mark = |is: bool| if is { "…" } else { "" };
    Excerpt {
        text: format!("{}{}{}", mark(before), cut.trim(), mark(after)),
        truncated: before || after,
    }
}

/// `text` on one line, cut to about `length` characters between graphemes.
pub fn one_paragraph(text: &str, length: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    excerpt(&line, &[], length, length).text
}

/// Byte at which the sentence with most distinct words of the query starts; the first of equals.
fn best_start(text: &str, terms: &[Term]) -> usize {
    let mut best = (0, 0);
    for (at, sentence) in text.split_sentence_bound_indices() {
        let words = terms_of(sentence);
        let hits = terms.iter().filter(|term| words.contains(&term.word)).count();
        if hits > best.1 {
            best = (at, hits);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::query_terms;
    use proptest::prelude::*;

    #[test]
    fn short_texts_are_whole() {
        let cut = excerpt("port 8080", &query_terms("port"), 20, 5);
        assert_eq!(cut, Excerpt { text: "port 8080".into(), truncated: false });
    }

    #[test]
    fn the_part_with_the_words_is_shown() {
        let text = "Nothing to see. ".repeat(20) + "The buffer is 40 metres. More follows here.";
        let cut = excerpt(&text, &query_terms("buffer metres"), 100, 30);
        assert!(cut.truncated);
        assert!(cut.text.starts_with("…The buffer is 40 metres."), "{}", cut.text);
    }

    proptest! {
        #[test]
        fn no_character_is_torn(text in "(👩‍👩‍👧‍👦|固|é|a| ){0,40}", length in 0usize..20) {
            let cut = excerpt(&text, &[], 0, length).text;
            let bare = cut.trim_matches('…');
            prop_assert!(text.contains(bare));
            let torn = bare.ends_with('\u{200d}');
            prop_assert!(!torn);
        }
    }
}
