//! Rows that SQLite reads and we do not: a bit that flipped, or the zeros that stand in for the end of
//! a file that was cut off. SQLite keeps no sums, so its own check finds nothing wrong with them.
//!
//! One list says what each column must hold beyond its type. The look at a store reads every row by
//! it, and so does the repair: what has a safe value gets it, any other such row is left behind in the
//! damaged file.

use super::Store;
use crate::error::Result;
use lifecycle_phases::{Actor, Channel, Kind, Origin, PlannedStep, State};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row};
use std::collections::{BTreeMap, BTreeSet};

/// What a column must hold.
enum Rule {
    /// JSON, or nothing at all.
    Json,
    /// A step of a plan.
    Step,
    /// One of the words we know.
    Word(fn(&str) -> bool),
    /// A number from 0 that fits.
    Count,
    /// 32-bit numbers of unit length.
    Vector,
}

/// What takes the place of a value that cannot be read.
enum Instead {
    Text(&'static str),
    Number(i64),
    Null,
    /// Nothing could: the row is lost.
    Lost,
}

/// Table, column, what it must hold, and what it becomes. A state that is not known is the first one,
/// which loses nothing; who said something becomes the least trusted.
const RULES: &[(&str, &str, Rule, Instead)] = &[
    ("entry", "kind", Rule::Word(|word| Kind::parse(word).is_some()), Instead::Text("insight")),
    ("entry", "state", Rule::Word(|word| State::parse(word).is_some()), Instead::Text("buffered")),
    (
        "entry",
        "channel",
        Rule::Word(|word| Channel::parse(word).is_some()),
        Instead::Text("import"),
    ),
    ("entry", "actor", Rule::Word(|word| Actor::parse(word).is_some()), Instead::Text("tool")),
    ("entry", "origin", Rule::Word(|word| Origin::parse(word).is_some()), Instead::Text("web")),
    ("entry", "files", Rule::Json, Instead::Text("[]")),
    ("entry", "recalls", Rule::Count, Instead::Number(0)),
    ("entry", "reprieves", Rule::Count, Instead::Number(0)),
    ("vector", "data", Rule::Vector, Instead::Lost),
    ("chunk_vector", "data", Rule::Vector, Instead::Lost),
    ("section_vector", "data", Rule::Vector, Instead::Lost),
    ("cluster", "members", Rule::Json, Instead::Lost),
    ("cluster", "attempts", Rule::Count, Instead::Number(0)),
    ("route", "section", Rule::Json, Instead::Text("[]")),
    ("route", "runners_up", Rule::Json, Instead::Text("[]")),
    ("tick", "phases", Rule::Json, Instead::Text("[]")),
    ("tick", "notes", Rule::Json, Instead::Text("[]")),
    ("tick", "nearest", Rule::Json, Instead::Text("[]")),
    ("step", "data", Rule::Step, Instead::Lost),
    ("prompt", "cluster", Rule::Json, Instead::Lost),
    ("quality", "refused", Rule::Json, Instead::Text("[]")),
    ("conversation", "offset", Rule::Count, Instead::Number(0)),
    ("conversation", "sitting", Rule::Json, Instead::Text("")),
    ("batch", "batch", Rule::Json, Instead::Lost),
    ("batch", "attempts", Rule::Count, Instead::Number(0)),
    ("document", "tags", Rule::Json, Instead::Text("[]")),
    ("tick", "undoes", Rule::Count, Instead::Null),
];

impl Rule {
    fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            // An optional column may be empty; one that must not is SQLite's own affair.
            (_, Value::Null) => true,
            (Self::Json, Value::Text(text)) => {
                text.is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
            }
            (Self::Step, Value::Text(text)) => serde_json::from_str::<PlannedStep>(text).is_ok(),
            (Self::Word(is_known), Value::Text(word)) => is_known(word),
            (Self::Count, Value::Integer(number)) => *number >= 0,
            (Self::Vector, Value::Blob(data)) => is_unit(data),
            _ => false,
        }
    }
}

fn is_unit(data: &[u8]) -> bool {
    let numbers = data.as_chunks::<4>();
    let square: f64 =
        numbers.0.iter().map(|four| f64::from(f32::from_le_bytes(*four)).powi(2)).sum();
    !data.is_empty() && numbers.1.is_empty() && (0.8..1.25).contains(&square)
}

impl Instead {
    fn value(&self) -> Option<Value> {
        match self {
            Self::Text(text) => Some(Value::Text((*text).to_string())),
            Self::Number(number) => Some(Value::Integer(*number)),
            Self::Null => Some(Value::Null),
            Self::Lost => None,
        }
    }
}

/// A row as it was read.
pub(super) struct Reading {
    /// Its values, mended where they could be; none: the row is lost.
    pub values: Option<Vec<Value>>,
    /// Names of the columns that could not be read.
    pub wrong: Vec<String>,
}

/// Reads the first columns of a row, which are `columns` of `table`.
///
/// # Errors
/// SQLite cannot read the row.
pub(super) fn read(table: &str, columns: &[String], row: &Row<'_>) -> rusqlite::Result<Reading> {
    let mut reading = Reading { values: Some(Vec::new()), wrong: Vec::new() };
    for (n, column) in columns.iter().enumerate() {
        let (value, is_text) = owned(row.get_ref(n)?);
        let rule = RULES.iter().find(|(of, name, ..)| *of == table && name == column);
        let (holds, instead) = match rule {
            Some((.., rule, instead)) => (rule.holds(&value), instead.value()),
            None => (true, None),
        };
        let mended = if holds { Some(value) } else { instead };
        if !holds || !is_text {
            reading.wrong.push(column.clone());
        }
        match (mended, &mut reading.values) {
            (Some(value), Some(values)) => values.push(value),
            _ => reading.values = None,
        }
    }
    check_contents(table, columns, &mut reading);
    Ok(reading)
}

/// The value, and whether a text was one: bytes that are no UTF-8 are replaced by a sign for that.
fn owned(value: ValueRef<'_>) -> (Value, bool) {
    match value {
        ValueRef::Null => (Value::Null, true),
        ValueRef::Integer(number) => (Value::Integer(number), true),
        ValueRef::Real(number) => (Value::Real(number), true),
        ValueRef::Blob(bytes) => (Value::Blob(bytes.to_vec()), true),
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            let is_text = matches!(text, std::borrow::Cow::Borrowed(_));
            (Value::Text(text.into_owned()), is_text)
        }
    }
}

/// What is kept to be written back into a user's file must be what was there, byte for byte.
fn check_contents(table: &str, columns: &[String], reading: &mut Reading) {
    let Some(values) = reading.values.as_ref().filter(|_| table == "file_write") else { return };
    let of = |name: &str| columns.iter().position(|column| column == name).map(|n| &values[n]);
    for (name, sum) in [("before", "before_hash"), ("after", "after_hash")] {
        if let (Some(Value::Blob(bytes)), Some(Value::Text(sum))) = (of(name), of(sum))
            && blake3::hash(bytes).to_hex().as_str() != sum
        {
            reading.wrong.push(name.to_string());
        }
    }
    if !reading.wrong.is_empty() {
        reading.values = None;
    }
}

/// What of this build's schema a database of its version lacks, in words.
fn missing(connection: &Connection) -> Result<Vec<String>> {
    let wanted = Store::in_memory()?;
    let names = |of: &Connection| -> Result<BTreeSet<String>> {
        let sql =
            "SELECT type || ' ' || name FROM sqlite_schema WHERE type IN ('table', 'trigger')";
        let mut statement = of.prepare(sql)?;
        let names = statement.query_map([], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<_>>()?)
    };
    let there = names(connection)?;
    let mut gone: Vec<String> = names(wanted.reader())?
        .difference(&there)
        .map(|name| format!("the {name} is missing"))
        .collect();
    for table in super::repair::tables(wanted.reader())? {
        let columns = super::repair::columns(connection, &table)?;
        for column in super::repair::columns(wanted.reader(), &table)? {
            if !columns.is_empty() && !columns.contains(&column) {
                gone.push(format!("the column {column} of {table} is missing"));
            }
        }
    }
    Ok(gone)
}

/// What is wrong with the tables and rows of a database of this build's version in words, a line for
/// each column.
///
/// # Errors
/// SQLite cannot read a table.
pub(super) fn problems(connection: &Connection) -> Result<Vec<String>> {
    let gone = missing(connection)?;
    if !gone.is_empty() {
        return Ok(gone);
    }
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    for table in super::repair::tables(connection)? {
        let columns = super::repair::columns(connection, &table)?;
        let list: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
        let sql = format!("SELECT {} FROM \"{table}\"", list.join(", "));
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in read(&table, &columns, row)?.wrong {
                *found.entry((table.clone(), column)).or_default() += 1;
            }
        }
    }
    let line = |((table, column), count): ((String, String), usize)| {
        let rows = if count == 1 { "row" } else { "rows" };
        format!("{column} of {count} {rows} of {table} cannot be read")
    };
    Ok(found.into_iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A rule on a column that is not there would never be asked.
    #[test]
    fn every_rule_is_of_a_column_there_is_and_what_it_puts_holds() {
        let store = Store::in_memory().unwrap();
        for (table, column, rule, instead) in RULES {
            let columns = super::super::repair::columns(store.reader(), table).unwrap();
            assert!(columns.iter().any(|name| name == column), "{table}.{column}");
            assert!(instead.value().is_none_or(|value| rule.holds(&value)), "{table}.{column}");
        }
        assert_eq!(problems(store.reader()).unwrap(), [""; 0]);
    }

    #[test]
    fn a_vector_has_unit_length() {
        let bytes =
            |numbers: &[f32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
        assert!(is_unit(&bytes(&[0.6, 0.8])));
        assert!(!is_unit(&bytes(&[0.6, 0.0])));
        assert!(!is_unit(&bytes(&[f32::NAN, 1.0])));
        assert!(!is_unit(&bytes(&[1.0])[..3]) && !is_unit(&[]));
    }
}
