//! The reply of a model, read with tolerance for its wrapping and none for its content.
//!
//! Fences, prose around the object, `<think>` parts, other letter case, an array instead of the
//! object are understood. A cut object, two different objects, a wrong type, an empty text are
//! failures, each with its own name and counter.

use super::json;
use crate::entry::Kind;
use crate::text::printable;
use serde_json::{Map, Value};

/// Replies longer than this are not read (bytes).
pub const MAX_REPLY: usize = 1 << 20;

/// One entry as a model proposes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Heading.
    pub title: String,
    /// The text.
    pub text: String,
    /// The kind; `None` where the reply named none that exists.
    pub kind: Option<Kind>,
    /// Labels or ids of the notes it is made of, as the reply writes them.
    pub sources: Vec<String>,
}

/// A reply that was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Proposed entries with a text.
    pub entries: Vec<Proposal>,
    /// The model declines, and why.
    pub declined: Option<String>,
    /// Pairs that the model takes for contradictions. Advice only: dates and values decide.
    pub conflicts: usize,
    /// Bytes around the object.
    pub discarded: usize,
    /// Bytes of reasoning before the object.
    pub reasoning: usize,
    /// Kinds that do not exist.
    pub bad_kinds: usize,
    /// Proposed entries that were refused for their shape.
    pub bad_entries: usize,
}

/// Why a reply could not be used. The words are the counters' names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// Nothing but white space.
    #[error("empty_reply")]
    Empty,
    /// Reasoning without an answer.
    #[error("only_reasoning")]
    OnlyReasoning,
    /// The model refuses in words.
    #[error("refusal")]
    Refusal,
    /// No JSON object.
    #[error("no_object")]
    NoObject,
    /// An object that begins and never ends.
    #[error("output_truncated")]
    Cut,
    /// Two different objects.
    #[error("two_objects")]
    Ambiguous,
    /// JSON of another shape; says what is wrong.
    #[error("wrong_shape: {0}")]
    WrongShape(String),
    /// Too long to be read.
    #[error("reply_too_long")]
    TooLong,
}

impl ReplyError {
    /// The counter's name, without details.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Empty => "empty_reply",
            Self::OnlyReasoning => "only_reasoning",
            Self::Refusal => "refusal",
            Self::NoObject => "no_object",
            Self::Cut => "output_truncated",
            Self::Ambiguous => "two_objects",
            Self::WrongShape(_) => "wrong_shape",
            Self::TooLong => "reply_too_long",
        }
    }
}

/// Reads a reply. Never panics, whatever the bytes.
pub fn parse(bytes: &[u8]) -> Result<Reply, ReplyError> {
    let (mut reply, around) = read(bytes, shape)?;
    reply.discarded = around.discarded;
    reply.reasoning = around.reasoning;
    Ok(reply)
}

/// Bytes of a reply that are not its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Around the object.
    pub discarded: usize,
    /// Of reasoning before the object.
    pub reasoning: usize,
}

/// Reads the one answer in a reply, of the shape that `shape` understands.
///
/// # Errors
/// Why there is none, or not one.
pub fn read<T: PartialEq>(
    bytes: &[u8],
    shape: impl Fn(&Value) -> Result<T, String>,
) -> Result<(T, Around), ReplyError> {
    if bytes.len() > MAX_REPLY {
        return Err(ReplyError::TooLong);
    }
    let whole = String::from_utf8_lossy(bytes);
    let whole = whole.trim_start_matches('\u{feff}').trim();
    if whole.is_empty() {
        return Err(ReplyError::Empty);
    }
    let answer = without_reasoning(whole);
    let reasoning = whole.len() - answer.len();
    if answer.trim().is_empty() {
        return Err(ReplyError::OnlyReasoning);
    }
    let found = json::find(&answer);
    let mut replies: Vec<T> = Vec::new();
    let mut wrong = None;
    for value in &found.values {
        match shape(value) {
            Ok(reply) if replies.contains(&reply) => {}
            Ok(reply) => replies.push(reply),
            Err(why) => wrong = wrong.or(Some(why)),
        }
    }
    match (replies.len(), wrong) {
        (1, _) => Ok((replies.remove(0), Around { discarded: found.discarded, reasoning })),
        (0, Some(why)) => Err(ReplyError::WrongShape(why)),
        (0, None) if found.cut => Err(ReplyError::Cut),
        (0, None) if refuses(&answer) => Err(ReplyError::Refusal),
        (0, None) => Err(ReplyError::NoObject),
        _ => Err(ReplyError::Ambiguous),
    }
}

/// The text without `<think>…</think>` parts, also an unclosed one and one whose start is missing.
pub fn without_reasoning(text: &str) -> String {
    let mut rest = text.to_string();
    for tag in ["think", "thinking", "reasoning", "thought"] {
        rest = without_tag(&rest, tag);
    }
    rest
}

fn without_tag(text: &str, tag: &str) -> String {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    loop {
        let next_open = lower[at..].find(&open).map(|offset| at + offset);
        let next_close = lower[at..].find(&close).map(|offset| at + offset);
        match (next_open, next_close) {
            (open_at, Some(close_at)) if open_at.is_none_or(|open_at| close_at < open_at) => {
                // The opening tag was part of the prompt: all before the end is reasoning.
                out.clear();
                at = close_at + close.len();
            }
            (Some(open_at), Some(_)) => {
                out.push_str(&text[at..open_at]);
                let from = open_at + open.len();
                at = lower[from..]
                    .find(&close)
                    .map_or(text.len(), |offset| from + offset + close.len());
            }
            (Some(open_at), None) => {
                out.push_str(&text[at..open_at]);
                return out;
            }
            _ => {
                out.push_str(&text[at..]);
                return out;
            }
        }
    }
}

fn refuses(text: &str) -> bool {
    const REFUSALS: &[&str] = &[
        "i cannot",
        "i can't",
        "i can’t",
        "i'm sorry",
        "i am sorry",
        "i'm unable",
        "i am unable",
        "as an ai",
        "cannot assist",
        "can't help with",
        "je ne peux pas",
        "désolé",
        "ich kann nicht",
    ];
    let lower = text.to_lowercase();
    REFUSALS.iter().any(|words| lower.contains(words))
}

/// Reads a value of the wanted shape, or says what is wrong.
fn shape(value: &Value) -> Result<Reply, String> {
    match value {
        Value::Array(items) if items.iter().all(Value::is_object) && !items.is_empty() => {
            entries(items)
        }
        Value::Array(_) => Err("an array where an object is wanted".into()),
        Value::Object(object) => object_shape(object),
        _ => Err("not an object".into()),
    }
}

fn object_shape(object: &Map<String, Value>) -> Result<Reply, String> {
    let conflicts = field(object, "conflicts").and_then(Value::as_array).map_or(0, Vec::len);
    let listed = match field(object, "entries") {
        Some(Value::Array(items)) => Some(items.clone()),
        Some(entry @ Value::Object(_)) => Some(vec![entry.clone()]),
        Some(Value::Null) | None => None,
        Some(_) => return Err("`entries` is no array".into()),
    };
    let skip = matches!(field(object, "skip"), Some(Value::Bool(true)))
        || field(object, "skip")
            .and_then(Value::as_str)
            .is_some_and(|word| word.eq_ignore_ascii_case("true"));
    let empty = listed.as_ref().is_none_or(Vec::is_empty);
    if skip && empty {
        let reason = field(object, "reason").and_then(Value::as_str).unwrap_or("no reason given");
        return Ok(Reply {
            declined: Some(printable(reason).trim().to_string()),
            conflicts,
            ..Reply::default()
        });
    }
    let bare = ["title", "text", "sources"].iter().all(|key| field(object, key).is_some());
    let mut reply = match listed {
        Some(items) if items.is_empty() => return Err("`entries` is empty".into()),
        Some(items) => entries(&items)?,
        None if bare => entries(&[Value::Object(object.clone())])?,
        None => return Err("`entries` is missing".into()),
    };
    reply.conflicts = conflicts;
    Ok(reply)
}

fn entries(items: &[Value]) -> Result<Reply, String> {
    let mut reply = Reply::default();
    let mut wrong = String::new();
    for item in items {
        match proposal(item, &mut reply.bad_kinds) {
            Ok(proposal) => reply.entries.push(proposal),
            Err(why) => {
                reply.bad_entries += 1;
                wrong = why;
            }
        }
    }
    if reply.entries.is_empty() { Err(wrong) } else { Ok(reply) }
}

fn proposal(item: &Value, bad_kinds: &mut usize) -> Result<Proposal, String> {
    let object = item.as_object().ok_or("an entry is no object")?;
    let text = match field(object, "text") {
        Some(Value::String(text)) => clean(text),
        Some(_) => return Err("`text` is no string".into()),
        None => return Err("`text` is missing".into()),
    };
    if text.is_empty() || matches!(text.to_lowercase().as_str(), "null" | "none" | "string" | "n/a")
    {
        return Err("`text` is empty".into());
    }
    let title = match field(object, "title") {
        Some(Value::String(title)) => clean(title).replace('\n', " "),
        Some(Value::Null) | None => String::new(),
        Some(_) => return Err("`title` is no string".into()),
    };
    let kind = match field(object, "kind") {
        None | Some(Value::Null) => None,
        Some(word) => {
            let known = word.as_str().and_then(|word| offered_kind(&word.to_lowercase()));
            *bad_kinds += usize::from(known.is_none());
            known
        }
    };
    Ok(Proposal { title, text, kind, sources: labels(field(object, "sources")) })
}

/// A kind that the prompt offers: sessions, thoughts and private notes come from people alone.
fn offered_kind(word: &str) -> Option<Kind> {
    Kind::parse(word).filter(|kind| super::schema::KINDS.contains(kind))
}

pub(crate) fn labels(value: Option<&Value>) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(one).collect(),
        Some(value) => one(value).into_iter().collect(),
        None => Vec::new(),
    }
}

pub(crate) fn clean(text: &str) -> String {
    printable(text).replace('\u{fffd}', "").trim().to_string()
}

/// The field with this name in whatever letter case.
pub(crate) fn field<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object
        .get(name)
        .or_else(|| object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"{"entries":[{"title":"Berth buffer","text":"The berth buffer is 25 m.","kind":"insight","sources":["n1"]}]}"#;

    fn text(reply: &str) -> Result<String, ReplyError> {
        parse(reply.as_bytes()).map(|reply| reply.entries[0].text.clone())
    }

    #[test]
    fn d1_keys_in_any_letter_case() {
        let reply = GOOD
            .replace("entries", "Entries")
            .replace("\"text", "\"TEXT")
            .replace("title", "Title");
        assert_eq!(text(&reply).as_deref(), Ok("The berth buffer is 25 m."));
    }

    #[test]
    fn d2_fences_and_prose_around_the_object() {
        for wrapped in [
            format!("Here is the JSON you asked for:\n```json\n{GOOD}\n```\nLet me know."),
            format!("```\n{GOOD}\n```"),
            format!("\u{feff}{GOOD}"),
            format!("Sure! {GOOD} Hope that helps {{:)}}"),
        ] {
            let reply = parse(wrapped.as_bytes()).expect("understood");
            assert_eq!(reply.entries[0].text, "The berth buffer is 25 m.");
        }
        assert_eq!(parse(format!("ab {GOOD}").as_bytes()).map(|r| r.discarded), Ok(3));
        let other = GOOD.replace("25", "52");
        assert_eq!(text(&format!("{GOOD}\n{other}")), Err(ReplyError::Ambiguous));
        assert_eq!(text("The set {25, 15}; no JSON today."), Err(ReplyError::NoObject));
    }

    #[test]
    fn d3_reasoning_is_no_answer() {
        let wrong = GOOD.replace("25", "99");
        for reply in [
            format!("<think>\nMaybe {wrong}? No.\n</think>\n{GOOD}"),
            format!("maybe {wrong}</think>{GOOD}"),
            format!("<Think>a</Think>{GOOD}<think>{wrong}"),
        ] {
            let read = parse(reply.as_bytes()).expect("understood");
            assert_eq!(read.entries[0].text, "The berth buffer is 25 m.");
            assert!(read.reasoning > 0);
        }
        assert_eq!(
            text(&format!("<think>\nThe notes say {wrong}")),
            Err(ReplyError::OnlyReasoning)
        );
    }

    #[test]
    fn d4_d5_nothing_has_a_name() {
        assert_eq!(text(" \n"), Err(ReplyError::Empty));
        assert_eq!(text("I'm sorry, I cannot help."), Err(ReplyError::Refusal));
        assert_eq!(text("{\"entries\":[{\"text\":\"The berth"), Err(ReplyError::Cut));
    }

    #[test]
    fn d6_a_model_may_decline() {
        let reply = parse(br#"{"entries":[],"skip":true,"reason":"two subjects"}"#).expect("read");
        assert_eq!(reply.declined.as_deref(), Some("two subjects"));
    }

    #[test]
    fn d7_an_unknown_kind_is_counted() {
        for word in ["banana", "thought", "sensitive"] {
            let reply =
                parse(GOOD.replace("\"insight\"", &format!("{word:?}")).as_bytes()).expect("read");
            assert_eq!((reply.entries[0].kind, reply.bad_kinds), (None, 1));
        }
    }

    #[test]
    fn another_shape_is_refused_field_by_field() {
        for reply in [
            r#"["The berth buffer is 25 m."]"#,
            r#"{"entries":[{"title":"a","text":25,"sources":[]}]}"#,
            r#"{"entries":25}"#,
            r#"{"entries":[{"text":""}]}"#,
            r#"{"entries":[{"text":"null"}]}"#,
            r#"{"entries":[]}"#,
            r#"{"text":"The berth buffer is 25 m."}"#,
            r#"{"properties":{"entries":{"type":"array"}},"type":"object"}"#,
        ] {
            assert!(matches!(text(reply), Err(ReplyError::WrongShape(_))), "{reply}");
        }
        assert_eq!(text("null"), Err(ReplyError::NoObject));
        assert!(text(&GOOD.replace("{\"title\"", "{\"mood\":\"good\",\"title\"")).is_ok());
        let one_bad = GOOD.replace("[{\"title\"", "[{\"text\":7},{\"title\"");
        assert_eq!(parse(one_bad.as_bytes()).map(|r| (r.entries.len(), r.bad_entries)), Ok((1, 1)));
    }

    #[test]
    fn odd_characters_are_dropped() {
        let reply = GOOD.replace(
            "The berth buffer is 25 m.",
            "Ship list \\ud83d sorted\\u0000 by \\u202egnol\\u202c name",
        );
        assert_eq!(text(&reply).as_deref(), Ok("Ship list  sorted by gnol name"));
    }

    proptest! {
        #[test]
        fn d8_no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _outcome = parse(&bytes);
        }

        #[test]
        fn d8_no_cut_of_a_good_reply_gives_an_entry(at in 0usize..100) {
            let cut = &GOOD.as_bytes()[..at.min(GOOD.len() - 1)];
            prop_assert!(parse(cut).is_err());
        }

        #[test]
        fn d8_no_change_of_a_byte_makes_it_panic(at in 0usize..110, byte in any::<u8>()) {
            let mut bytes = GOOD.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _outcome = parse(&bytes);
        }
    }
}
