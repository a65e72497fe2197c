//! A model's word on the loners that no fixed signal decides.

use super::super::consolidate::{StoreLedger, world};
use super::super::{Context, Level};
use crate::error::Result;
use crate::model::{Ask, Chain, Purpose};
use crate::progress::Progress;
use crate::store;
use lifecycle_phases::age::{Candidate, answer, question};
use lifecycle_phases::consolidate::prompt;
use lifecycle_phases::{EntryId, Phase};
use std::collections::BTreeMap;

/// The rules of the question.
const RULES: &str = include_str!("../../../config/prompts/substance.md");

/// Tokens that an answer may take.
const ANSWER_TOKENS: u32 = 40;

/// Asks the configured model about each candidate, at most `age.max_questions` a tick. Candidates
/// without an answer are not in the result, and stay.
pub fn ask(ctx: &mut Context<'_>, candidates: &[&Candidate]) -> Result<BTreeMap<EntryId, bool>> {
    let mut answers = BTreeMap::new();
    let own = &ctx.settings.age.model;
    let names = if own.to_string().is_empty() { &ctx.settings.consolidate.model } else { own };
    let names = names.list();
    let mut chain = Chain::new(&names, &ctx.settings.consolidate, world(ctx)?)?;
    if chain.is_empty() || candidates.is_empty() {
        return Ok(answers);
    }
    let asked = &candidates[..candidates.len().min(ctx.settings.age.max_questions)];
    let asks: Vec<Ask> = asked.iter().map(|candidate| ask_of(candidate)).collect();
    let _progress = Progress::unknown(format!("asking about {} isolated entries", asks.len()));
    let outcomes = chain.ask_all(&asks, &mut StoreLedger { ctx: &mut *ctx })?;
    let used: Vec<i64> =
        outcomes.iter().flatten().flat_map(|answer| answer.calls.iter().copied()).collect();
    ctx.store.write(|tx| store::use_calls(tx, &used))?;
    let mut missed = 0;
    for (candidate, outcome) in asked.iter().zip(outcomes) {
        match outcome.ok().and_then(|reply| answer(&reply.text)) {
            Some(verdict) => {
                answers.insert(candidate.entry.clone(), verdict);
            }
            None => missed += 1,
        }
    }
    if missed > 0 {
        let text = format!("{missed} questions about isolated entries got no usable answer");
        ctx.note(Level::Waiting, Phase::Age, text);
    }
    Ok(answers)
}

fn ask_of(candidate: &Candidate) -> Ask {
    let question = question(RULES, &candidate.text);
    Ask {
        purpose: Purpose::Substance,
        cluster: None,
        rules: question.rules,
        data: question.data,
        schema: Some(question.schema.clone()),
        strict_schema: Some(question.schema),
        prompt_version: prompt::version(RULES),
        max_tokens: Some(ANSWER_TOKENS),
    }
}
