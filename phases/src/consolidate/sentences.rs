//! Text cut into sentences, word for word: joined with single spaces they are the text again.

/// Abbreviations whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "no.", "approx.", "p.ex.", "z.b.", "d.h.", "bzw.", "ca.",
];

/// The sentences of `text`, trimmed, none empty. A line break ends a sentence; a full stop does
/// when white space follows and what stands before is no abbreviation; nothing ends inside a code
/// span.
pub fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    for (i, &(at, ch)) in chars.iter().enumerate() {
        if ch == '`' {
            in_code = !in_code;
        }
        let next = chars.get(i + 1).map(|&(_, next)| next);
        let ends = match ch {
            '\n' => {
                in_code = false;
                true
            }
            '.' | '!' | '?' => {
                !in_code
                    && next.is_none_or(char::is_whitespace)
                    && !is_abbreviation(&text[start..at + 1])
            }
            '。' | '！' | '？' => !in_code,
            _ => false,
        };
        if ends {
            push(&mut found, &text[start..at + ch.len_utf8()]);
            start = at + ch.len_utf8();
        }
    }
    push(&mut found, &text[start..]);
    found
}

/// The clauses of a sentence: parts between semicolons.
pub fn clauses(sentence: &str) -> Vec<&str> {
    sentence.split(';').map(str::trim).filter(|clause| !clause.is_empty()).collect()
}

fn is_abbreviation(upto: &str) -> bool {
    let last = upto.split_whitespace().next_back().unwrap_or("").to_lowercase();
    ABBREVIATIONS.contains(&last.trim_start_matches('('))
}

fn push(found: &mut Vec<String>, part: &str) {
    let part = part.trim();
    if part.chars().any(char::is_alphanumeric) {
        found.push(part.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[test]
    fn full_stops_in_names_and_numbers_end_nothing() {
        let text = "Set it in Cargo.lock, e.g. 1.90. Then build! `a. b` stays\nNext line";
        assert_eq!(
            sentences(text),
            ["Set it in Cargo.lock, e.g. 1.90.", "Then build!", "`a. b` stays", "Next line"]
        );
    }

    #[test]
    fn nothing_of_the_words_is_lost() {
        let text = "One. Two; three! Four";
        assert_eq!(sentences(text).join(" "), text);
    }
}
