//! JSON as conversation files really hold it.

use serde_json::Value;

/// The value of one line. Bytes that are no UTF-8 and lone surrogate escapes, which a strict
/// reader rejects, become U+FFFD and cost no more than themselves.
pub fn parse(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line);
    serde_json::from_str(&text).or_else(|_| serde_json::from_str(&repair_surrogates(&text))).ok()
}

/// `text` with every `\uD800`–`\uDFFF` escape that is not half of a pair written as `\ufffd`.
fn repair_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let pair = unit(rest).is_some_and(|u| is_high(u) && unit(&rest[6..]).is_some_and(is_low));
        let taken = match unit(rest) {
            Some(_) if pair => 12,
            Some(_) => 6,
            None => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
        };
        let lone = !pair && unit(rest).is_some_and(|u| is_high(u) || is_low(u));
        out.push_str(if lone { "\\ufffd" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    out + rest
}

/// The code unit of an escape (`\u` and four digits) that `text` begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// All strings within a value, each on a line of its own.
pub(super) fn strings_in(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(strings_in).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.values().map(strings_in).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lone_surrogates_cost_one_character() {
        let value = parse(br#"["a\ud83d b","\udc00\ud83d","\ud83d\ude80","\\ud83d"]"#);
        assert_eq!(
            value,
            Some(serde_json::json!(["a\u{fffd} b", "\u{fffd}\u{fffd}", "🚀", "\\ud83d"]))
        );
    }

    #[test]
    fn broken_bytes_cost_themselves() {
        assert_eq!(parse(b"\"a\xffb\""), Some(Value::from("a\u{fffd}b")));
        assert_eq!(parse(b"not json"), None);
    }

    proptest! {
        #[test]
        fn any_line_is_survived(bytes in any::<Vec<u8>>(), text in "(\\\\|u|d|8|3|D|é|\"){0,24}") {
            let _ = parse(&bytes);
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn sound_json_is_left_alone(text in any::<String>()) {
            let json = Value::from(text).to_string();
            prop_assert_eq!(repair_surrogates(&json), json);
        }
    }
}
