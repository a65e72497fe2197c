//! `lifecycle list`: entries in order of arrival.

use super::Session;
use super::output::{one_line, print_json, print_text, short_id};
use crate::error::{Error, ExitCode, Result};
use crate::report::{COLUMNS, entry_json};
use crate::search::project_name;
use crate::store::{self, Filter, Store, StoredEntry};
use clap::Args;
use lifecycle_phases::{Kind, State};

/// Options of `list`.
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
}

/// Options that say which entries are looked at.
#[derive(Args)]
pub struct FilterArgs {
    /// Only this project (its root folder)
    #[arg(long)]
    project: Option<String>,
    /// Only entries of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only entries in this state: buffered, proven, routed, merged, expired
    #[arg(long)]
    state: Option<String>,
    /// Merged and expired entries too
    #[arg(long)]
    all: bool,
}

impl FilterArgs {
    /// The filter; an unknown word is an error.
    pub fn filter(&self) -> Result<Filter> {
        Ok(Filter {
            project: self.project.as_deref().map(project_name),
            kind: self.kind.as_deref().map(|word| known(word, Kind::parse, "kind")).transpose()?,
            state: self.state.as_deref().map(|w| known(w, State::parse, "state")).transpose()?,
            all: self.all,
        })
    }
}

/// Prints the entries that the options select.
pub fn run(session: &Session, args: &ListArgs) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let entries = store::list(store.reader(), &args.filter.filter()?)?;
    if session.global.json {
        print_json(&entries.iter().map(entry_json).collect::<Vec<_>>())?;
    } else {
        entries.iter().for_each(print_entry);
    }
    Ok(ExitCode::Success)
}

fn known<T>(word: &str, parse: fn(&str) -> Option<T>, what: &str) -> Result<T> {
    parse(word).ok_or_else(|| unknown_word(word, what))
}

/// The error for a word that names no kind or state, with those there are.
fn unknown_word(word: &str, what: &str) -> Error {
    let known: Vec<&str> = match what {
        "kind" => Kind::ALL.iter().map(|kind| kind.as_str()).collect(),
        _ => State::ALL.iter().map(|state| state.as_str()).collect(),
    };
    Error::input(format!("`{word}` is not a {what}")).hint(format!("known: {}", known.join(", ")))
}

fn print_entry(stored: &StoredEntry) {
    let entry = &stored.entry;
    let head = format!("{}  {:8}  {:9}  ", short_id(&entry.id), entry.state, entry.kind);
    let text = one_line(&entry.text, COLUMNS.saturating_sub(head.len()));
    print_text(&format!("{head}{text}\n"));
}
