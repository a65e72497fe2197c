//! JSON objects inside the text a model wrote: found, mended where the mending is certain, read.

use serde_json::Value;

/// Starts of objects and arrays that are tried; a reply with more is not JSON with words around it.
const MAX_STARTS: usize = 64;

/// What a text holds in the way of JSON.
#[derive(Debug, Default)]
pub struct Found {
    /// Complete objects and arrays at the outermost level, in order.
    pub values: Vec<Value>,
    /// Bytes of the text that belong to none of them.
    pub discarded: usize,
    /// An object begins that never ends.
    pub cut: bool,
}

/// Every complete outermost object or array in `text`. Scalars do not count.
pub fn find(text: &str) -> Found {
    let mut found = Found::default();
    let mut at = 0;
    for _ in 0..MAX_STARTS {
        let Some(start) = text[at..].find(['{', '[']).map(|offset| at + offset) else { break };
        let end = end_of(&text[start..]).map(|length| start + length);
        let value = end.and_then(|end| read(&text[start..end]));
        match (end, value) {
            (Some(end), Some(value)) => {
                found.discarded += start - at;
                found.values.push(value);
                at = end;
            }
            (None, _) if text[start..].starts_with('{') => {
                found.cut = true;
                found.discarded += start + 1 - at;
                at = start + 1;
            }
            _ => {
                found.discarded += start + 1 - at;
                at = start + 1;
            }
        }
    }
    found.discarded += text.len() - at;
    found
}

/// Length of the bracketed value that `text` begins with, or `None` where it never closes.
fn end_of(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    for (i, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&mended(text))).ok()
}

/// The same JSON with what no reader accepts taken out of its strings: half surrogate pairs
/// become U+FFFD, unknown escapes lose their meaning, raw control characters are escaped.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut rest = text;
    while let Some(ch) = rest.chars().next() {
        let tail = &rest[ch.len_utf8()..];
        match ch {
            '"' => {
                in_string = !in_string;
                out.push(ch);
                rest = tail;
            }
            '\\' if in_string => rest = escape(tail, &mut out),
            ch if in_string && ch.is_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(ch)));
                rest = tail;
            }
            ch => {
                out.push(ch);
                rest = tail;
            }
        }
    }
    out
}

/// Copies one escape whose backslash was read; returns what follows it.
fn escape<'a>(tail: &'a str, out: &mut String) -> &'a str {
    let Some(ch) = tail.chars().next() else {
        return tail;
    };
    if ch == 'u' {
        return unicode_escape(tail, out);
    }
    if !matches!(ch, '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') {
        out.push('\\');
    }
    out.push('\\');
    out.push(ch);
    &tail[ch.len_utf8()..]
}

fn unicode_escape<'a>(tail: &'a str, out: &mut String) -> &'a str {
    let unit = |text: &str| {
        text.get(1..5)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let Some(first) = unit(tail) else {
        out.push_str("\\\\u");
        return &tail[1..];
    };
    if !(0xd800..0xe000).contains(&first) {
        out.push('\\');
        out.push_str(&tail[..5]);
        return &tail[5..];
    }
    let second = tail[5..].strip_prefix('\\').filter(|rest| rest.starts_with('u')).and_then(unit);
    if first < 0xdc00 && second.is_some_and(|low| (0xdc00..0xe000).contains(&low)) {
        out.push('\\');
        out.push_str(&tail[..11]);
        return &tail[11..];
    }
    out.push_str("\\ufffd");
    &tail[5..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_around_an_object_are_discarded() {
        let found = find("Sure! {\"a\": \"}\"} Hope that helps {:)}");
        assert_eq!(found.values, [serde_json::json!({"a": "}"})]);
        assert_eq!(found.discarded, "Sure! ".len() + " Hope that helps {:)}".len());
    }

    #[test]
    fn odd_escapes_cost_their_character_alone() {
        let found = find(r#"{"a":"x \ud83d y \_ \u12 \ud83d\ude00"}"#);
        assert_eq!(found.values[0]["a"], "x \u{fffd} y \\_ \\u12 \u{1f600}");
    }

    #[test]
    fn an_object_that_never_ends_is_cut() {
        let found = find("{\"entries\":[{\"text\":\"The");
        assert!(found.cut && found.values.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,400}", braces in "[\\[\\]{}\"\\\\u0-9a-f:, ]{0,200}") {
            let whole = format!("{text}{braces}{text}");
            let found = find(&whole);
            prop_assert!(found.discarded <= whole.len());
        }
    }
}
