//! The review as questions and answers, line by line, for any terminal and for a screen reader.

use super::{Choice, Decision, Item, Review};
use crate::report::{escape_terminal, fold, fold_diff, one_line};
use std::io::{BufRead, Result, Write};

const KEYS: &str = "y yes, n no, p protect the entry, e other words, d the text or the diff, a yes to \
     all the rest and apply, q quit";

/// Asks about every step; links that follow one another are one question. `false`: the reader gave
/// up, nothing is to be applied.
///
/// # Errors
/// Reading or writing failed.
pub fn ask(review: &mut Review, input: &mut impl BufRead, out: &mut impl Write) -> Result<bool> {
    writeln!(out, "{KEYS}")?;
    let mut n = 0;
    // Links up to here are asked about each.
    let mut each = 0;
    while n < review.items().len() {
        let links = links_from(review, n);
        if n >= each && links > 1 {
            match about_links(review, n, links, input, out)? {
                Links::All(choice) => {
                    (0..links).for_each(|_| review.decide(Decision::Choose(choice)));
                    n += links;
                }
                Links::Each => each = n + links,
                Links::Rest => return Ok(true),
                Links::Quit => return Ok(false),
            }
            continue;
        }
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
                writeln!(out, "{}", details(review))?;
                continue;
            }
            "a" => return Ok(true),
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

/// The answer about several links.
enum Links {
    All(Choice),
    Each,
    /// Yes to them and to all that follows.
    Rest,
    Quit,
}

/// How many links of one phase stand in a row from item `n` on.
fn links_from(review: &Review, n: usize) -> usize {
    let items = &review.items()[n..];
    let is_like = |item: &&Item| item.line.step == "link" && item.line.phase == items[0].line.phase;
    items.iter().take_while(is_like).count()
}

fn about_links(
    review: &Review,
    n: usize,
    links: usize,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<Links> {
    let items = &review.items()[n..n + links];
    loop {
        let (first, last, total) = (n + 1, n + links, review.items().len());
        writeln!(out, "\n[{first}-{last}/{total}] {}", items[0].line.phase)?;
        write!(out, "{links} links: all? [y/n/each, d shows them] ")?;
        out.flush()?;
        let Some(answer) = line(input)? else { return Ok(Links::Quit) };
        match answer.as_str() {
            "y" | "" => return Ok(Links::All(Choice::Accept)),
            "n" => return Ok(Links::All(Choice::Reject)),
            "e" | "each" => return Ok(Links::Each),
            "a" => return Ok(Links::Rest),
            "q" => return Ok(Links::Quit),
            "d" => {
                for item in items {
                    let summary = one_line(&item.line.summary, 400);
                    writeln!(out, "{}", fold(&format!("  {}  {summary}", item.line.n)))?;
                }
            }
            _ => writeln!(
                out,
                "y yes to these links, n no to them, each to be asked about each, d show them, \
                 a yes to all the rest and apply, q quit"
            )?,
        }
    }
}

/// The diff of the step's file, or the text that it writes.
fn details(review: &Review) -> String {
    match (review.diff(), review.written_text()) {
        (Some(diff), _) => fold_diff(&escape_terminal(diff)),
        (None, Some((text, _))) => fold(&escape_terminal(text)),
        (None, None) => "it changes no file and writes no text".into(),
    }
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
