//! `lifecycle eval retrieval`: how well search does on the user's own questions.
//!
//! A golden set has one question a line with the id of what answers it:
//! `{"query": "which port does the API use", "id": "4f1c…", "project": "/code/harbor"}`.
//!
//! The least score that loses nothing is chosen on every other question and reported on the rest,
//! so that it is not judged by what it was fitted to.

use super::{Session, print_json, print_text};
use crate::config::SearchSettings;
use crate::embed::{Embedder, Reranker, open_reranker};
use crate::error::{Error, Result};
use crate::regular;
use crate::search::{self, Mode, Models, Query, project_name};
use crate::store::{self, Scope, Store};
use crate::tick;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Options of `eval retrieval`.
#[derive(Args)]
pub struct RetrievalArgs {
    /// The golden set: JSON lines with query and id
    file: PathBuf,
    /// Print rank and score of each question
    #[arg(long)]
    cases: bool,
}

/// Options of `eval add`.
#[derive(Args)]
pub struct AddArgs {
    /// The golden set; made where there is none
    file: PathBuf,
    /// A question
    query: String,
    /// Id of the entry or document that answers it
    id: String,
}

/// A line of the golden set.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    query: String,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

/// How deep a result is looked through.
const DEPTH: usize = 10;

/// Where the answer of a question stands in a column.
#[derive(Clone, Debug, Serialize)]
struct Case {
    query: String,
    /// From 1; none: not among the first ten.
    rank: Option<usize>,
    /// Score of the answer.
    score: Option<f64>,
    /// Scores of everything else among the first ten.
    #[serde(skip)]
    noise: Vec<f64>,
}

/// The figures of one column.
#[derive(Debug, Serialize)]
struct Column {
    name: &'static str,
    recall_1: f64,
    recall_5: f64,
    recall_10: f64,
    mrr: f64,
    /// The highest least score that loses no answer of the first half of the questions.
    least_score: Option<f64>,
    /// Share of the other half's answers that it keeps.
    kept: Option<f64>,
    /// Share of the other half's noise that it takes away.
    noise_removed: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cases: Vec<Case>,
}

/// Measures each column and prints it.
pub fn run(session: &Session, args: &RetrievalArgs) -> Result<()> {
    let questions: Vec<Question> = read(&args.file)?;
    let store = Store::open_reading(&session.paths, &session.settings)?.for_searching()?;
    let embedder = tick::serving::open(store.reader(), &session.settings, &session.paths);
    let reranker = open_reranker(&session.settings, &session.paths)?;
    let mut modes = vec![
        ("lexical", Mode::Lexical, None),
        ("dense", Mode::Dense, None),
        ("hybrid", Mode::Hybrid, None),
    ];
    modes.extend(reranker.as_deref().map(|model| ("reranked", Mode::Hybrid, Some(model))));
    let mut columns = Vec::new();
    for (name, mode, reranker) in modes {
        let mut cases = Vec::new();
        for question in &questions {
            cases.push(ask(session, &store, (embedder.as_deref(), reranker), question, mode)?);
        }
        columns.push(column(name, cases, args.cases));
    }
    if session.global.json {
        return print_json(&columns);
    }
    columns.iter().for_each(|column| print_text(&text_of(column)));
    if reranker.is_none() {
        print_text("reranked: search.reranker names no model; this column is left out\n");
    }
    Ok(())
}

fn ask(
    session: &Session,
    store: &Store,
    (embedder, reranker): (Result<&dyn Embedder, &Error>, Option<&dyn Reranker>),
    question: &Question,
    mode: Mode,
) -> Result<Case> {
    let project = question.project.as_deref().map(project_name);
    let scope = Scope { project, ..Scope::default() };
    let query = Query { text: question.query.clone(), scope, k: DEPTH, mode };
    let settings = SearchSettings { least_score: 0.0, ..session.settings.search.clone() };
    let models = Models { embedder, warm: None, reranker };
    let answer = search::search(store.reader(), &models, &settings, &query)?;
    if let (Some(_), None) = (reranker, &answer.reranked_by) {
        return Err(Error::input(answer.notes.join("; ")));
    }
    if mode != Mode::Lexical && answer.mode == Mode::Lexical {
        let why = answer.notes.join("; ");
        return Err(Error::input(format!("meaning cannot be measured: {why}")));
    }
    let is_answer = |id: &str| id.split('#').next().is_some_and(|id| id.starts_with(&question.id));
    let place = answer.hits.iter().position(|hit| is_answer(&hit.id()));
    let others = answer.hits.iter().enumerate().filter(|(at, _)| Some(*at) != place);
    Ok(Case {
        query: question.query.clone(),
        rank: place.map(|at| at + 1),
        score: place.map(|at| answer.hits[at].explanation.score),
        noise: others.map(|(_, hit)| hit.explanation.score).collect(),
    })
}

fn column(name: &'static str, cases: Vec<Case>, keep: bool) -> Column {
    let count = cases.len().max(1) as f64;
    let recall = |k: usize| {
        cases.iter().filter(|case| case.rank.is_some_and(|rank| rank <= k)).count() as f64 / count
    };
    let mrr = cases.iter().filter_map(|case| case.rank).map(|rank| 1.0 / rank as f64).sum::<f64>();
    let (even, odd): (Vec<_>, Vec<_>) = cases.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let least = even.iter().filter_map(|(_, case)| case.score).min_by(f64::total_cmp);
    let share = |scores: Vec<f64>, keep: fn(f64, f64) -> bool| {
        let least = least?;
        let hits = scores.iter().filter(|score| keep(**score, least)).count();
        (!scores.is_empty()).then(|| hits as f64 / scores.len() as f64)
    };
    let answers: Vec<f64> = odd.iter().filter_map(|(_, case)| case.score).collect();
    let noise: Vec<f64> = odd.iter().flat_map(|(_, case)| case.noise.clone()).collect();
    Column {
        name,
        recall_1: recall(1),
        recall_5: recall(5),
        recall_10: recall(10),
        mrr: mrr / count,
        least_score: least,
        kept: share(answers, |score, least| score >= least),
        noise_removed: share(noise, |score, least| score < least),
        cases: if keep { cases } else { Vec::new() },
    }
}

fn text_of(column: &Column) -> String {
    let shown = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
    let mut text = format!(
        "{:8}  recall@1 {:.3}  @5 {:.3}  @10 {:.3}  MRR {:.3}  least score {} keeps {} and removes {} of the noise\n",
        column.name,
        column.recall_1,
        column.recall_5,
        column.recall_10,
        column.mrr,
        shown(column.least_score),
        shown(column.kept),
        shown(column.noise_removed),
    );
    for case in &column.cases {
        let rank = case.rank.map_or("-".into(), |rank| rank.to_string());
        let query = super::escape_terminal(&case.query);
        text.push_str(&format!("  {rank:>3}  {:>6}  {query}\n", shown(case.score)));
    }
    text
}

fn read(path: &Path) -> Result<Vec<Question>> {
    let text =
        regular::text(path, regular::LARGE).map_err(|error| Error::unreadable(path, &error))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let questions: Vec<Question> = lines
        .map(|(n, line)| {
            serde_json::from_str(line)
                .map_err(|error| Error::input(format!("{}:{}: {error}", path.display(), n + 1)))
        })
        .collect::<Result<_>>()?;
    if questions.is_empty() {
        return Err(Error::input(format!("{} has no questions", path.display()))
            .hint("add one with `lifecycle eval add FILE QUESTION ID`"));
    }
    Ok(questions)
}

/// Adds a question to the golden set; the id must exist.
pub fn add(session: &Session, args: &AddArgs) -> Result<()> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    let (id, project) = match store::resolve(store.reader(), &args.id) {
        Ok(stored) => (stored.entry.id.to_string(), stored.entry.project),
        Err(_) => {
            let document = store::document(store.reader(), &args.id)?;
            (document.id, document.project)
        }
    };
    if args.query.trim().is_empty() {
        return Err(Error::input("the question is empty"));
    }
    let question = Question { query: args.query.clone(), id, project };
    let failed = |error: std::io::Error| Error::unreadable(&args.file, &error);
    let mut options = std::fs::OpenOptions::new();
    let mut file = regular::open_with(options.create(true).read(true).append(true), &args.file)
        .map_err(failed)?;
    // A file that somebody wrote by hand may lack the end of its last line.
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last).map_err(failed)?;
    }
    let start = if last == [b'\n'] { "" } else { "\n" };
    writeln!(file, "{start}{}", serde_json::to_string(&question)?).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(rank: Option<usize>, score: Option<f64>, noise: &[f64]) -> Case {
        Case { query: String::new(), rank, score, noise: noise.to_vec() }
    }

    #[test]
    fn the_least_score_is_chosen_on_one_half_and_judged_on_the_other() {
        let cases = vec![
            case(Some(1), Some(0.9), &[0.1]),
            case(Some(1), Some(0.4), &[0.3, 0.8]),
            case(Some(2), Some(0.6), &[0.7]),
            case(Some(6), Some(0.7), &[0.2]),
        ];
        let column = column("hybrid", cases, false);
        assert_eq!((column.recall_1, column.recall_5, column.recall_10), (0.5, 0.75, 1.0));
        assert_eq!(column.least_score, Some(0.6));
        assert_eq!(column.kept, Some(0.5));
        assert_eq!(column.noise_removed, Some(2.0 / 3.0));
    }
}
