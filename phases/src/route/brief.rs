//! What of an entry stands in a file.
//!
//! An instruction file is read at each start, so a line should be short. A merged entry may hold
//! several sentences; its first says what it is about, later ones often say it again. Taken are the
//! first sentence and, as long as the line stays readable, those that state a value, name or path
//! that the line does not have yet. No sentence is cut. What is left out stays in the entry, which
//! `why FILE:LINE` and search show.

use crate::consolidate::facts::Facts;
use crate::consolidate::sentences::sentences;

/// Characters up to which an entry stands as it is, and to which sentences are added.
pub const READABLE: usize = 200;

/// The part of `text` that is written.
pub fn brief(text: &str) -> String {
    let length = |text: &str| text.chars().count();
    let all = sentences(text);
    let Some((first, rest)) = all.split_first().filter(|_| length(text) > READABLE) else {
        return text.to_string();
    };
    let mut line = first.clone();
    for sentence in rest {
        let gap = if line.ends_with(['.', '!', '?', ':', ';']) { " " } else { "; " };
        let fits = length(&line) + gap.len() + length(sentence) <= READABLE;
        if fits && tells_more(sentence, &line) {
            line = format!("{line}{gap}{sentence}");
        }
    }
    line
}

fn tells_more(sentence: &str, line: &str) -> bool {
    let known = Facts::of(line);
    Facts::of(sentence).hard().any(|fact| !known.states(fact))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_entry_stands_as_it_is() {
        let text = "The port is 5433. The port of the container is 5433.";
        assert_eq!(brief(text), text);
    }

    #[test]
    fn of_a_long_one_the_first_sentence_and_what_tells_more() {
        let text = "Integration tests need `docker compose up -d pg` before `cargo test -p api`. \
                    Without the database container all of the integration tests fail with \
                    connection refused, so start it first. CI starts it in .ci/services.yml.";
        assert_eq!(
            brief(text),
            "Integration tests need `docker compose up -d pg` before `cargo test -p api`. \
             CI starts it in .ci/services.yml."
        );
    }

    #[test]
    fn a_long_sentence_is_never_cut() {
        let text = format!("{}end. Second 42.", "word ".repeat(60));
        assert!(brief(&text).ends_with("end."));
    }
}
