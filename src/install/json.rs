//! JSON by byte positions: where each member and element stands, one more at the end of a
//! container, one taken out. Every other byte stays.

use super::SpliceError;
use std::ops::Range;

/// A value and where it stands.
#[derive(Debug)]
pub struct Node {
    /// Its bytes, quotes and brackets included.
    pub span: Range<usize>,
    /// What it is.
    pub kind: NodeKind,
}

/// What a value is.
#[derive(Debug)]
pub enum NodeKind {
    /// Members in order.
    Object(Vec<Member>),
    /// Elements in order.
    Array(Vec<Node>),
    /// A string, number or word.
    Scalar,
}

/// One member of an object.
#[derive(Debug)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// From the key's quote to the end of the value.
    pub span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The members of an object.
    pub fn members(&self, name: &str) -> Result<&[Member], SpliceError> {
        match &self.kind {
            NodeKind::Object(members) => Ok(members),
            _ => Err(SpliceError::Shape(name.into(), "an object")),
        }
    }

    /// The elements of an array.
    pub fn elements(&self, name: &str) -> Result<&[Self], SpliceError> {
        match &self.kind {
            NodeKind::Array(elements) => Ok(elements),
            _ => Err(SpliceError::Shape(name.into(), "a list")),
        }
    }

    /// The one member of that name.
    pub fn member(&self, name: &str, key: &str) -> Result<Option<&Member>, SpliceError> {
        let mut found = self.members(name)?.iter().filter(|member| member.key == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(SpliceError::Twice(key.into())),
            (first, None) => Ok(first),
        }
    }

    /// Where the items of the container stand.
    fn items(&self) -> Vec<Range<usize>> {
        match &self.kind {
            NodeKind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            NodeKind::Array(elements) => elements.iter().map(|node| node.span.clone()).collect(),
            NodeKind::Scalar => Vec::new(),
        }
    }
}

/// The tree of a text.
pub fn parse(text: &str) -> Result<Node, SpliceError> {
    let bad = |error: serde_json::Error| SpliceError::Unparseable(error.to_string());
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(bad)?;
    let mut scanner = Scanner { text, at: 0 };
    scanner.space();
    Ok(scanner.value())
}

/// Walks a text that is known to be JSON.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(b'}')
    }

    fn space(&mut self) {
        while matches!(self.text.as_bytes().get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Node {
        let start = self.at;
        let kind = match self.peek() {
            b'{' => NodeKind::Object(self.list(b'}', Self::member)),
            b'[' => NodeKind::Array(self.list(b']', Self::value)),
            b'"' => {
                self.string();
                NodeKind::Scalar
            }
            _ => {
                self.word();
                NodeKind::Scalar
            }
        };
        Node { span: start..self.at, kind }
    }

    fn list<T>(&mut self, end: u8, item: fn(&mut Self) -> T) -> Vec<T> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                b',' => self.at += 1,
                byte if byte == end || self.at >= self.text.len() => break,
                _ => items.push(item(self)),
            }
        }
        self.at += 1;
        items
    }

    fn member(&mut self) -> Member {
        let start = self.at;
        self.string();
        let key = serde_json::from_str(&self.text[start..self.at]).unwrap_or_default();
        self.space();
        self.at += 1; // the colon
        self.space();
        let value = self.value();
        Member { key, span: start..self.at, value }
    }

    fn string(&mut self) {
        self.at += 1;
        while self.at < self.text.len() {
            match self.peek() {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }

    fn word(&mut self) {
        while !matches!(self.peek(), b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }
}

/// How a file is laid out.
#[derive(Clone, Debug)]
pub struct Layout {
    /// One level of indentation; empty: everything on one line.
    unit: String,
    /// The line end.
    end: &'static str,
}

impl Layout {
    /// The layout of `text`; two spaces where it shows none.
    pub fn of(text: &str, root: &Node) -> Self {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.items().into_iter().next();
        let unit = match first {
            Some(first) if !text[root.span.start..first.start].contains('\n') => String::new(),
            Some(first) => indent_at(text, first.start).to_string(),
            None => "  ".into(),
        };
        Self { unit, end }
    }

    /// `value` as it would stand at `indent`.
    fn render(&self, value: &impl serde::Serialize, indent: &str) -> String {
        let Ok(plain) = serde_json::to_string(value) else { return String::new() };
        if self.unit.is_empty() {
            return plain;
        }
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut out, formatter);
        if value.serialize(&mut writer).is_err() {
            return plain;
        }
        String::from_utf8_lossy(&out).replace('\n', &format!("{}{indent}", self.end))
    }

    /// `text` with one more item at the end of `container`: `key` for a member.
    pub fn append(
        &self,
        text: &str,
        container: &Node,
        key: Option<&str>,
        value: &impl serde::Serialize,
    ) -> String {
        let items = container.items();
        let outer = indent_at(text, container.span.start).to_string();
        let inner = match items.first() {
            Some(first) if text[container.span.start..first.start].contains('\n') => {
                indent_at(text, first.start).to_string()
            }
            _ => format!("{outer}{}", self.unit),
        };
        let head = key.map(|key| format!("{}: ", serde_json::json!(key))).unwrap_or_default();
        let on_one_line = self.unit.is_empty()
            || items
                .first()
                .is_some_and(|first| !text[container.span.start..first.start].contains('\n'));
        let layout = if on_one_line { &Self { unit: String::new(), end: self.end } } else { self };
        let item = format!("{head}{}", layout.render(value, &inner));
        let mut out = text.to_string();
        match (items.last(), on_one_line) {
            (Some(last), true) => out.insert_str(last.end, &format!(", {item}")),
            (Some(last), false) => {
                out.insert_str(last.end, &format!(",{}{inner}{item}", self.end));
            }
            (None, true) => out.replace_range(inside(container), &item),
            (None, false) => {
                let end = self.end;
                out.replace_range(inside(container), &format!("{end}{inner}{item}{end}{outer}"));
            }
        }
        out
    }
}

/// `text` without item `n` of `container`, nor the comma that set it off.
pub fn remove(text: &str, container: &Node, n: usize) -> String {
    let items = container.items();
    let cut = match (n.checked_sub(1).and_then(|n| items.get(n)), items.get(n), items.get(n + 1)) {
        (_, Some(item), Some(next)) => item.start..next.start,
        (Some(before), Some(item), None) => before.end..item.end,
        _ => inside(container),
    };
    let mut out = text.to_string();
    out.replace_range(cut, "");
    out
}

fn inside(container: &Node) -> Range<usize> {
    container.span.start + 1..container.span.end - 1
}

/// The white space at the start of the line that holds byte `at`.
fn indent_at(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn append(text: &str, key: &str, value: &Value) -> String {
        let root = parse(text).unwrap();
        Layout::of(text, &root).append(text, &root, Some(key), value)
    }

    #[test]
    fn a_member_is_added_in_the_files_own_layout() {
        let four = "{\n    \"a\": 1\n}\n";
        assert_eq!(
            append(four, "b", &json!({"c": 2})),
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    }\n}\n"
        );
        assert_eq!(append("{\"a\":1}", "b", &json!([2])), "{\"a\":1, \"b\": [2]}");
        assert_eq!(
            append("{\r\n\t\"a\": 1\r\n}", "b", &json!([2])),
            "{\r\n\t\"a\": 1,\r\n\t\"b\": [\r\n\t\t2\r\n\t]\r\n}"
        );
        assert_eq!(append("{}", "b", &json!(2)), "{\n  \"b\": 2\n}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(|n| json!(n)),
            "[a-z \"\\\\{}\\[\\],:ü\n]{0,8}".prop_map(|text| json!(text)),
            Just(json!(null)),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::hash_map("[a-z\"\\\\]{1,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_appended_can_be_taken_out_again(
            map in prop::collection::hash_map("[a-z\"\\\\]{1,4}", any_json(), 1..5),
            value in any_json(),
            pretty in any::<bool>(),
        ) {
            let whole = Value::Object(map.into_iter().collect());
            let text = if pretty {
                serde_json::to_string_pretty(&whole).unwrap()
            } else {
                serde_json::to_string(&whole).unwrap()
            };
            let added = append(&text, "ZZ", &value);
            let read: Value = serde_json::from_str(&added).unwrap();
            prop_assert_eq!(&read["ZZ"], &value);
            let root = parse(&added).unwrap();
            let n = root.members("").unwrap().len() - 1;
            prop_assert_eq!(remove(&added, &root, n), text);
        }
    }
}
