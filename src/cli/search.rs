//! `lifecycle search`: finds entries and documents by meaning and by words.

use super::list::FilterArgs;
use super::{Session, escape_terminal, print_aside, print_json, print_text};
use crate::embed::open_reranker;
use crate::error::{ExitCode, Result};
use crate::search::{self, Answer, Hit, Mode, Models, Part, Query, answer_json};
use crate::store::{Filter, Found, Scope, Store};
use crate::tick;
use clap::Args;

/// Options of `search`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle search \"which port does the API use\"
  lifecycle search max_links --project ~/code/harbor --k 3
  lifecycle search \"berth buffer\" --all --explain")]
pub struct SearchArgs {
    /// What to look for; every character is plain text
    #[arg(required = true)]
    query: Vec<String>,
    #[command(flatten)]
    scope: ScopeArgs,
    /// The most results
    #[arg(long, short, value_name = "N")]
    k: Option<usize>,
    /// Show how each score came about
    #[arg(long)]
    explain: bool,
    /// Use words alone, or meaning alone
    #[arg(long, value_enum)]
    only: Option<Only>,
}

/// Options that say what is looked at.
#[derive(Args)]
pub struct ScopeArgs {
    #[command(flatten)]
    entries: FilterArgs,
    /// Only documents with this tag; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Only {
    Words,
    Meaning,
}

impl ScopeArgs {
    /// The scope; an unknown word is an error.
    pub fn scope(&self) -> Result<Scope> {
        let Filter { project, kind, state, all } = self.entries.filter()?;
        Ok(Scope { project, kind, state, tags: self.tags.clone(), all })
    }
}

/// Prints what was found; notes go to standard error.
pub fn run(session: &Session, args: &SearchArgs) -> Result<ExitCode> {
    let store = Store::open_reading(&session.paths, &session.settings)?.for_searching()?;
    let query = Query {
        text: args.query.join(" "),
        scope: args.scope.scope()?,
        k: args.k.unwrap_or(session.settings.search.results),
        mode: match args.only {
            None => Mode::Hybrid,
            Some(Only::Words) => Mode::Lexical,
            Some(Only::Meaning) => Mode::Dense,
        },
    };
    let embedder = tick::serving::open(store.reader(), &session.settings, &session.paths);
    // A reranker that is named and not there is said once; the search goes on without it.
    let (reranker, problem) = match open_reranker(&session.settings, &session.paths) {
        Ok(reranker) => (reranker, None),
        Err(error) => (None, Some(format!("not reranked: {}", error.message))),
    };
    let models =
        Models { embedder: embedder.as_deref(), warm: None, reranker: reranker.as_deref() };
    let mut answer = search::search(store.reader(), &models, &session.settings.search, &query)?;
    answer.notes.extend(problem);
    if session.global.json {
        print_json(&answer_json(&answer, args.explain))?;
    } else {
        print(&answer, args.explain);
    }
    Ok(ExitCode::Success)
}

fn print(answer: &Answer, explain: bool) {
    for note in &answer.notes {
        print_aside(&format!("note: {}", escape_terminal(note)));
    }
    if answer.hits.is_empty() {
        print_aside("nothing was found");
    }
    for hit in &answer.hits {
        print_text(&line_of(hit));
        if explain {
            print_text(&explained(hit));
        }
    }
    match &answer.reranked_by {
        Some(name) if explain => print_aside(&format!("note: reranked by {name}")),
        None if explain => print_aside("note: not reranked (search.reranker)"),
        _ => {}
    }
}

fn line_of(hit: &Hit) -> String {
    let (about, title) = match &hit.found {
        Found::Entry(stored) => {
            let entry = &stored.entry;
            (format!("{:8}  {}", entry.state, entry.kind), entry.title.clone().unwrap_or_default())
        }
        Found::Chunk(chunk) => {
            ("document".to_string(), format!("{}  {}", chunk.title, chunk.heading))
        }
    };
    let id = hit.id();
    let lives_on = match &hit.successor {
        Some(successor) => format!("    lives on in {successor}\n"),
        None => String::new(),
    };
    let text = escape_terminal(&hit.excerpt.text).replace('\n', "\n    ");
    let title = if title.trim().is_empty() {
        String::new()
    } else {
        format!("    {}\n", escape_terminal(title.trim()))
    };
    format!("{:.3}  {id}  {about}\n{title}    {text}\n{lives_on}", hit.explanation.score)
}

fn explained(hit: &Hit) -> String {
    let part = |name: &str, part: Option<Part>| match part {
        Some(Part { rank, raw, share }) => format!("{name} {share:.3} (rank {rank}, {raw:.3})"),
        None => format!("{name} 0"),
    };
    let explanation = &hit.explanation;
    let reranked = match explanation.reranked {
        Some(_) => format!("{}; before: ", part("reranked", explanation.reranked)),
        None => String::new(),
    };
    format!(
        "    = {reranked}{} + {}; words: {}\n",
        part("words", explanation.lexical),
        part("meaning", explanation.dense),
        escape_terminal(&hit.words.join(" "))
    )
}
