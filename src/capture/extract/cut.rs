//! Shortening text without breaking what a reader sees as one character.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// The longest beginning of `text` of at most `bytes` bytes that ends at a whole grapheme. A single
/// grapheme that is longer than that is left out.
pub fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut cursor = GraphemeCursor::new(text.floor_char_boundary(bytes), text.len(), true);
    let at_boundary = cursor.is_boundary(text, 0).unwrap_or(false);
    let end = if at_boundary {
        cursor.cur_cursor()
    } else {
        cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
    };
    &text[..end]
}

/// `text` cut to at most `bytes` bytes with an ellipsis, at the end of a word where there is one
/// in the last quarter.
pub fn cut_with_mark(text: &str, bytes: usize) -> String {
    const MARK: &str = " …";
    if text.len() <= bytes {
        return text.to_string();
    }
    let head = cut(text, bytes.saturating_sub(MARK.len()));
    let words_end = head.split_word_bound_indices().rev().find(|(_, w)| w.trim().is_empty());
    let end = words_end.map(|(at, _)| at).filter(|at| *at > head.len() * 3 / 4);
    head[..end.unwrap_or(head.len())].trim_end().to_string() + MARK
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_family_is_not_torn_apart() {
        let pilot = "👩🏽‍✈️";
        let text = format!("ab{pilot}{pilot}");
        for bytes in 0..=text.len() {
            let wanted = match bytes {
                0 | 1 => bytes,
                n if n < 2 + pilot.len() => 2,
                n if n < text.len() => 2 + pilot.len(),
                n => n,
            };
            assert_eq!(cut(&text, bytes).len(), wanted, "{bytes}");
        }
        assert_eq!(cut_with_mark("one two three four", 17), "one two three …");
    }

    proptest! {
        #[test]
        fn cut_text_is_a_prefix_that_ends_at_a_grapheme(text in any::<String>(), bytes in 0usize..64) {
            let short = cut(&text, bytes);
            prop_assert!(text.starts_with(short) && short.len() <= bytes);
            let ends: Vec<usize> = text.grapheme_indices(true).map(|(at, g)| at + g.len()).collect();
            prop_assert!(short.is_empty() || ends.contains(&short.len()));
            prop_assert!(cut_with_mark(&text, bytes + 4).len() <= bytes + 4);
        }
    }
}
