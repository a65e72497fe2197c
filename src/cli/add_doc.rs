//! `add-text`, `add-url`, `add-file`, `documents`: longer texts, searched beside entries.

use super::{Session, escape_terminal, print_aside, print_json, print_raw, print_text};
use crate::clock::format_time;
use crate::documents::{self, Added, Draft};
use crate::error::{ExitCode, Result};
use crate::regular;
use crate::search::project_name;
use crate::store::{self, Document, Store, Stored};
use crate::tick;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;

/// Options of `add-text`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle add-text '# Runbook' --name runbook
  lifecycle add-text - --name notes --tag howto < notes.md")]
pub struct AddTextArgs {
    /// The text in Markdown, or `-` to read it from standard input
    text: String,
    /// A name; the same name later replaces the document
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    about: About,
}

/// Options of `add-url`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle add-url https://docs.example/guide
  lifecycle add-url https://docs.example/guide --tag howto --project .")]
pub struct AddUrlArgs {
    /// Addresses of public pages
    #[arg(required = true)]
    urls: Vec<String>,
    #[command(flatten)]
    about: About,
}

/// Options of `add-file`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle add-file docs/runbook.md
  lifecycle add-file README.md CONTRIBUTING.md --project .")]
pub struct AddFileArgs {
    /// Markdown or text files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    about: About,
}

/// What is said of a document.
#[derive(Args)]
struct About {
    /// Title [default: the first heading]
    #[arg(long)]
    title: Option<String>,
    /// Project it belongs to (its root folder)
    #[arg(long)]
    project: Option<String>,
    /// A word to filter by; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

/// Options of `documents`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle documents
  lifecycle documents show 1a2b3c4d
  lifecycle documents delete 1a2b3c4d")]
pub struct DocumentsArgs {
    #[command(subcommand)]
    command: Option<DocumentsCommand>,
}

#[derive(Subcommand)]
enum DocumentsCommand {
    /// Print a document's text
    Show {
        /// Id of the document, or its start
        id: String,
    },
    /// Delete documents with all their pieces
    Delete {
        /// Ids of documents, or their starts
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

/// Stores a text.
pub fn text(session: &Session, args: &AddTextArgs) -> Result<ExitCode> {
    let most = session.settings.documents.max_bytes.max(regular::SMALL);
    let text = if args.text == "-" { super::add::read_input(most)? } else { args.text.clone() };
    store_all(session, &args.about, vec![documents::from_text(&text, args.name.as_deref())])
}

/// Stores pages.
pub fn url(session: &Session, args: &AddUrlArgs) -> Result<ExitCode> {
    let settings = &session.settings.documents;
    let drafts = args.urls.iter().map(|url| documents::from_url(url, settings));
    store_all(session, &args.about, drafts.collect::<Result<_>>()?)
}

/// Stores files.
pub fn file(session: &Session, args: &AddFileArgs) -> Result<ExitCode> {
    let (home, settings) = (&session.paths.home, &session.settings.documents);
    let drafts = args.files.iter().map(|file| documents::from_file(file, home, settings));
    store_all(session, &args.about, drafts.collect::<Result<_>>()?)
}

fn store_all(session: &Session, about: &About, drafts: Vec<Draft>) -> Result<ExitCode> {
    let mut store = Store::open(&session.paths, &session.settings)?;
    let mut all = Vec::new();
    for draft in drafts {
        let draft = Draft {
            title: about.title.clone().unwrap_or(draft.title),
            project: about.project.as_deref().map(project_name),
            tags: about.tags.clone(),
            ..draft
        };
        all.push(documents::add(&mut store, draft, session.clock.now())?);
    }
    embed(session, &mut store);
    if session.global.json {
        print_json(&all)?;
    } else {
        all.iter().for_each(|added| print_text(&line_of(added)));
    }
    Ok(ExitCode::Success)
}

/// Embeds what lacks a vector; without a model the documents are found by words, which is said.
fn embed(session: &Session, store: &mut Store) {
    let embedder = tick::serving::open(store.reader(), &session.settings, &session.paths);
    if let Err(error) = embedder.and_then(|it| documents::embed_missing(store, &*it)) {
        let why = escape_terminal(&error.message);
        print_aside(&format!("note: found by words until it is embedded: {why}"));
    }
}

fn line_of(added: &Added) -> String {
    let title = escape_terminal(&added.title);
    let outcome = match &added.stored {
        Stored::Added => format!("added, {} pieces", added.chunks),
        Stored::Replaced => format!("replaced, {} pieces", added.chunks),
        Stored::Unchanged => "unchanged".into(),
        Stored::Known { .. } => "known already, nothing stored".into(),
    };
    format!("{}  {title}  ({outcome})\n", added.id)
}

/// Lists, shows or deletes documents.
pub fn documents(session: &Session, args: &DocumentsArgs) -> Result<ExitCode> {
    let reading = || Store::open_reading(&session.paths, &session.settings);
    match &args.command {
        None => list(session, &reading()?)?,
        Some(DocumentsCommand::Show { id }) => {
            let store = reading()?;
            let document = store::document(store.reader(), id)?;
            if session.global.json {
                print_json(&document_json(&document, true))?;
            } else {
                print_raw(&format!("{}\n", escape_terminal(&document.text)));
            }
        }
        Some(DocumentsCommand::Delete { ids }) => {
            let mut store = Store::open(&session.paths, &session.settings)?;
            for id in ids {
                let document = store::document(store.reader(), id)?;
                store.write(|tx| store::delete_document(tx, &document.id))?;
                print_text(&format!("deleted {}\n", document.id));
            }
        }
    }
    Ok(ExitCode::Success)
}

fn list(session: &Session, store: &Store) -> Result<()> {
    let all = store::documents(store.reader(), None)?;
    if session.global.json {
        return print_json(&all.iter().map(|it| document_json(it, false)).collect::<Vec<_>>());
    }
    for document in &all {
        let (title, source) = (escape_terminal(&document.title), escape_terminal(&document.source));
        print_text(&format!("{}  {title}  {source}\n", document.id));
    }
    Ok(())
}

fn document_json(document: &Document, whole: bool) -> serde_json::Value {
    let mut value = json!(document);
    value["created"] = json!(format_time(document.created));
    value["updated"] = json!(format_time(document.updated));
    if !whole {
        value["text"] = json!(null);
        value["characters"] = json!(document.text.chars().count());
    }
    value
}
