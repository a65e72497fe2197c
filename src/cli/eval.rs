//! `lifecycle eval`: how good links, clusters and the rest are, on labelled files.

mod clusters;
mod links;
pub mod metrics;
mod recall;
mod routes;

use super::output::print_text;
use super::{Session, eval_retrieval};
use crate::error::{Error, ExitCode, Result};
use crate::regular;
use clap::{Args, Subcommand};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `eval`.
#[derive(Args)]
pub struct EvalArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Are two notes about the same thing? Rows: id, a, b, label
    ///
    /// A label is `same-fact` or `same-topic` (these should be linked), `structural-noise` (the same
    /// form about other things) or `unrelated`. Another label is refused.
    Links(FileArgs),
    /// Which notes form a topic? Rows: id, ts, project, text; topics in gold.jsonl beside it
    Clusters(clusters::ClustersArgs),
    /// Does search find what answers a question? Rows: query, id
    Retrieval(eval_retrieval::RetrievalArgs),
    /// Add a question to a golden set
    Add(eval_retrieval::AddArgs),
    /// Which file does a fact belong in? Held-out bullets of repositories
    Routes(routes::RoutesArgs),
    /// Do merges lose what a search over their sources would find? Made from the store, no file
    Recall(recall::RecallArgs),
}

/// A labelled file, and where the scored rows go.
#[derive(Args)]
pub struct FileArgs {
    /// JSON lines
    file: PathBuf,
    /// Write one scored row a line here
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Measures and prints.
pub fn run(session: &Session, args: &EvalArgs) -> Result<ExitCode> {
    match &args.what {
        What::Links(args) => links::run(session, args),
        What::Clusters(args) => clusters::run(session, args),
        What::Retrieval(args) => eval_retrieval::run(session, args).map(|()| ExitCode::Success),
        What::Add(args) => eval_retrieval::add(session, args).map(|()| ExitCode::Success),
        What::Routes(args) => routes::run(session, args),
        What::Recall(args) => recall::run(session, args),
    }
}

/// The rows of a JSON lines file.
fn read_rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text =
        regular::text(path, regular::LARGE).map_err(|error| Error::unreadable(path, &error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            serde_json::from_str(line)
                .map_err(|error| Error::input(format!("{}:{}: {error}", path.display(), n + 1)))
        })
        .collect()
}

fn write_rows(path: &Path, rows: impl Iterator<Item = Value>) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(path, &error);
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    for row in rows {
        writeln!(file, "{row}").map_err(failed)?;
    }
    file.flush().map_err(failed)
}

/// Prints named figures, one a line.
fn print_figures(session: &Session, figures: &[(String, Value)]) -> Result<()> {
    if session.global.json {
        let object: serde_json::Map<String, Value> = figures.iter().cloned().collect();
        return super::print_json(&object);
    }
    for (name, value) in figures {
        let shown = match value {
            Value::Array(range) => format!(
                "[{:.3}, {:.3}]",
                range[0].as_f64().unwrap_or(f64::NAN),
                range[1].as_f64().unwrap_or(f64::NAN)
            ),
            Value::Number(number) if number.is_f64() => {
                format!("{:.3}", number.as_f64().unwrap_or(f64::NAN))
            }
            other => other.to_string().trim_matches('"').to_string(),
        };
        print_text(&format!("{name:34} {shown}\n"));
    }
    Ok(())
}
