//! `lifecycle prompt export` and `lifecycle prompt replay`: prompts as they were really asked.
//!
//! A rule of the prompt, a parser or a gate is judged by what production sent, not by examples
//! somebody made up. *Replay* asks the configured model about kept prompts and prints what the
//! replies are worth; *replay --kept* asks nobody and reads the kept replies again with the parser
//! and gates of this version.

use crate::cli::{Session, escape_terminal, print_json, print_raw, print_text, quality};
use crate::error::{Error, ExitCode, Result};
use crate::model::{Chain, MERGE_RULES, Purpose};
use crate::store::{self, KeptReply, QualityRow, Store};
use crate::tick::consolidate::{self, Captured, StoreLedger, message_of};
use crate::tick::{Context, Mode};
use clap::Args;
use lifecycle_phases::consolidate::{Cluster, Decision, Limits, decide, prepare, reply};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Options of `prompt replay`.
#[derive(Args)]
#[command(after_help = "Examples:
  lifecycle prompt export > prompts.jsonl
  lifecycle prompt replay prompts.jsonl   ask the configured model about each
  lifecycle prompt replay --kept          read kept replies again, ask nobody")]
pub struct ReplayArgs {
    /// Prompts that `prompt export` wrote; those of the store by default
    file: Option<PathBuf>,
    /// Ask nobody: read kept replies again with this version's parser and gates
    #[arg(long)]
    kept: bool,
}

/// One prompt and what came of it now.
struct Judged {
    model: String,
    cluster: String,
    decision: Decision,
    text: String,
    /// What it came to before; empty: it was taken.
    before: Option<String>,
}

impl Judged {
    fn now(&self) -> &str {
        self.decision.measures.refused.first().copied().unwrap_or("")
    }

    fn change(&self) -> Option<String> {
        let word = |reason: &str| if reason.is_empty() { "accepted" } else { reason }.to_string();
        let (before, now) = (word(self.before.as_deref()?), word(self.now()));
        (before != now).then(|| format!("{}: was {before}, is {now}", self.cluster))
    }
}

/// Prints what was kept.
pub fn export(session: &Session) -> Result<ExitCode> {
    let store = Store::open(&session.paths, &session.settings)?;
    let lines = captured(&store)?;
    if lines.is_empty() {
        return Err(Error::input("no prompt was kept")
            .hint("set consolidate.keep_prompts = true, then run a tick"));
    }
    for line in lines {
        print_raw(&format!("{}\n", serde_json::to_string(&line)?));
    }
    Ok(ExitCode::Success)
}

fn captured(store: &Store) -> Result<Vec<Captured>> {
    let mut lines = Vec::new();
    for row in store::kept_replies(store.reader())? {
        let Some(cluster) = row.asked.as_deref().and_then(|text| serde_json::from_str(text).ok())
        else {
            continue;
        };
        let reply = message_of(&row.reply);
        lines.push(Captured { prompt: row.prompt_version, model: row.model, cluster, reply });
    }
    Ok(lines)
}

/// Judges and prints.
pub fn run(session: &Session, args: &ReplayArgs) -> Result<ExitCode> {
    let store = Store::open(&session.paths, &session.settings)?;
    let judged = match (&args.file, args.kept) {
        (Some(path), kept) => of_lines(session, store, read(path)?, kept)?,
        (None, true) => again(&store, &limits(session))?,
        (None, false) => {
            let lines = captured(&store)?;
            of_lines(session, store, lines, false)?
        }
    };
    if judged.is_empty() {
        return Err(Error::input("there is nothing to replay")
            .hint("set consolidate.keep_prompts = true, then run a tick; or name a file"));
    }
    print(session, &judged)?;
    Ok(ExitCode::Success)
}

fn limits(session: &Session) -> Limits {
    let settings = &session.settings.consolidate;
    Limits {
        min_cluster: settings.min_cluster,
        min_coverage: settings.min_coverage,
        max_bytes: settings.max_text_bytes,
    }
}

fn read(path: &std::path::Path) -> Result<Vec<Captured>> {
    let text = crate::regular::text(path, crate::regular::LARGE).map_err(|error| {
        Error::input(format!("{}: {error}", path.display()))
            .hint("`lifecycle prompt export` writes such files")
    })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            serde_json::from_str(line).map_err(|error| {
                Error::input(format!("{}:{}: {error}", path.display(), n + 1))
                    .hint("`lifecycle prompt export` writes such files")
            })
        })
        .collect()
}

/// Lines with their kept replies, or asked anew.
fn of_lines(
    session: &Session,
    store: Store,
    lines: Vec<Captured>,
    kept: bool,
) -> Result<Vec<Judged>> {
    let limits = limits(session);
    if kept {
        let with = lines.into_iter().filter_map(|line| Some((line.reply.clone()?, line)));
        return Ok(with
            .map(|(text, line)| judge(&line.cluster, &text, &line.model, &limits))
            .collect());
    }
    let mut ctx =
        Context::new(store, &session.settings, &session.paths, session.clock, Mode::Live, "replay");
    let settings = &session.settings.consolidate;
    let mut chain = Chain::new(&settings.model.list(), settings, consolidate::world(&ctx)?)?;
    if chain.is_empty() {
        return Err(Error::config("no model is configured")
            .hint("name one in consolidate.model, or read the kept replies: --kept"));
    }
    let mut judged = Vec::new();
    for line in lines {
        let mut ask = consolidate::ask(prepare(&line.cluster).question(MERGE_RULES));
        ask.purpose = Purpose::Replay;
        match chain.ask(&ask, &mut StoreLedger { ctx: &mut ctx })? {
            Ok(answer) => judged.push(judge(&line.cluster, &answer.text, &answer.model, &limits)),
            Err(missed) => judged.push(missing(&line.cluster, missed.failure.name())),
        }
    }
    Ok(judged)
}

fn judge(cluster: &Cluster, text: &str, model: &str, limits: &Limits) -> Judged {
    let parsed = reply::parse(text.as_bytes());
    let taken = BTreeSet::new();
    Judged {
        model: model.to_string(),
        cluster: cluster.key(),
        decision: decide(&prepare(cluster), &parsed, MERGE_RULES, limits, model, &taken),
        text: text.to_string(),
        before: None,
    }
}

fn missing(cluster: &Cluster, name: &'static str) -> Judged {
    let mut decision = Decision::default();
    decision.measures.refused.push(name);
    Judged {
        model: "none".into(),
        cluster: cluster.key(),
        decision,
        text: String::new(),
        before: None,
    }
}

/// The kept replies of the store, read again. The gates need what was asked: the kept prompt, or
/// the members of a cluster that still waits.
fn again(store: &Store, limits: &Limits) -> Result<Vec<Judged>> {
    let mut judged = Vec::new();
    for row in store::kept_replies(store.reader())? {
        let text = message_of(&row.reply).unwrap_or_default();
        let mut one = match asked_about(store, &row)? {
            Some(cluster) => judge(&cluster, &text, &row.model, limits),
            None => Judged {
                model: row.model.clone(),
                cluster: row.cluster.clone(),
                decision: read_only(&text, &row.reason),
                text,
                before: None,
            },
        };
        one.before = Some(row.reason);
        judged.push(one);
    }
    Ok(judged)
}

fn asked_about(store: &Store, row: &KeptReply) -> Result<Option<Cluster>> {
    if let Some(text) = &row.asked {
        return Ok(serde_json::from_str(text).ok());
    }
    let Some(waiting) = store::cluster(store.reader(), &row.cluster)? else { return Ok(None) };
    let Ok(ids) = serde_json::from_str::<Vec<lifecycle_phases::EntryId>>(&waiting.members) else {
        return Ok(None);
    };
    Ok(Some(consolidate::expand(store.reader(), &ids, &[])?))
}

/// What the parser alone says; a gate's word of the time stays.
fn read_only(text: &str, before: &str) -> Decision {
    const GATES: &[&str] = &[
        "invented_fact",
        "unsupported",
        "lossy_merge",
        "negation_lost",
        "negation_added",
        "stale_value",
        "newest_missing",
        "leaked_rules",
        "echo_of_prompt",
        "says_nothing",
        "repeats_the_call",
        "not_in_events",
        "generic_title",
        "bad_attribution",
        "markup",
        "single_source",
        "too_long",
        "swapped_value",
        "bound_changed",
        "reversed",
        "declined",
    ];
    let mut decision = Decision::default();
    match reply::parse(text.as_bytes()) {
        Err(error) => decision.measures.refused.push(error.name()),
        Ok(_) => decision.measures.refused.extend(GATES.iter().find(|name| **name == before)),
    }
    decision
}

fn print(session: &Session, judged: &[Judged]) -> Result<()> {
    let mut table = Store::in_memory()?;
    for one in judged {
        let hash = lifecycle_phases::ContentHash::of(&one.text).0;
        let row = QualityRow {
            at: session.clock.now(),
            provider: "replay",
            model: &one.model,
            cluster: &one.cluster,
            accepted: one.decision.drafts.len().max(usize::from(one.now().is_empty())),
            text_hash: &hash,
            ..QualityRow::of(&one.decision)
        };
        table.write(|tx| store::insert_quality(tx, &row))?;
    }
    let count = u32::try_from(judged.len()).unwrap_or(u32::MAX);
    let lines = store::quality(table.reader(), count, false)?;
    let changes: Vec<String> = judged.iter().filter_map(Judged::change).collect();
    if session.global.json {
        return print_json(&json!({"replayed": judged.len(), "models": lines, "changed": changes}));
    }
    print_text(&quality::table(&lines, count));
    for change in changes {
        print_text(&escape_terminal(&format!("changed  {change}\n")));
    }
    Ok(())
}
