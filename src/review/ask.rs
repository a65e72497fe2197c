//! The review as questions and answers, line by line, for any terminal and for a screen reader.

use super::{Choice, Decision, Review};
use crate::report::{escape_terminal, fold, fold_diff, one_line};
use std::io::{BufRead, Result, Write};

const KEYS: &str =
    "y yes, n no, p protect the entry, e other words, d diff, a yes to all the rest, q quit";

/// Asks about every step. `false`: the reader gave up, nothing is to be applied.
///
/// # Errors
/// Reading or writing failed.
pub fn ask(review: &mut Review, input: &mut impl BufRead, out: &mut impl Write) -> Result<bool> {
    writeln!(out, "{KEYS}")?;
    let total = review.items().len();
    let mut n = 0;
    while n < total {
        show(review, n, out)?;
        let Some(answer) = line(input)? else { return Ok(false) };
        match answer.as_str() {
            "y" | "" => review.decide(Decision::Choose(Choice::Accept)),
            "n" => review.decide(Decision::Choose(Choice::Reject)),
            "p" if review.can_protect() => review.decide(Decision::Choose(Choice::Protect)),
            "e" if review.written_text().is_some() => {
                write!(out, "new text, on one line: ")?;
                out.flush()?;
                let Some(text) = line(input)? else { return Ok(false) };
                review.decide(Decision::Rewrite(text));
                review.decide(Decision::Move(1));
            }
            "d" => {
                let diff = escape_terminal(review.diff().unwrap_or("no file changes"));
                writeln!(out, "{}", fold_diff(&diff))?;
                continue;
            }
            "a" => break,
            "q" => return Ok(false),
            _ => {
                writeln!(out, "{KEYS}")?;
                continue;
            }
        }
        n += 1;
    }
    let (accepted, all) = review.accepted();
    write!(out, "apply {accepted} of {all} steps? [y/N] ")?;
    out.flush()?;
    Ok(line(input)?.as_deref() == Some("y"))
}

fn show(review: &Review, n: usize, out: &mut impl Write) -> Result<()> {
    let Some(item) = review.current() else { return Ok(()) };
    let step = &item.line;
    writeln!(
        out,
        "\n[{}/{}] step {}: {} {}",
        n + 1,
        review.items().len(),
        step.n,
        step.phase,
        step.step
    )?;
    writeln!(out, "{}", fold(&format!("  {}", one_line(&step.summary, 400))))?;
    for source in &step.sources {
        writeln!(out, "{}", fold(&format!("  made from:  {}", one_line(source, 200))))?;
    }
    if !step.reason.is_empty() {
        writeln!(out, "{}", fold(&format!("  why:  {}", one_line(&step.reason, 400))))?;
    }
    write!(out, "> ")?;
    out.flush()
}

fn line(input: &mut impl BufRead) -> Result<Option<String>> {
    let mut text = String::new();
    Ok(if input.read_line(&mut text)? == 0 { None } else { Some(text.trim().to_string()) })
}
