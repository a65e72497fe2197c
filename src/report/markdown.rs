//! The report as Markdown, for an issue, a chat or a mail.

use super::{Report, StepLine, escape_terminal, level_word, one_line};
use lifecycle_phases::Phase;
use std::fmt::Write;

/// The whole report.
pub fn render(report: &Report) -> String {
    let mut out = format!("# {}\n", super::text::title(report));
    if report.is_empty() {
        out.push_str("\nNothing to do.\n");
        return out;
    }
    if !report.notes.is_empty() {
        out.push_str("\n## What did not happen\n\n");
        for note in &report.notes {
            let text = plain(&note.text);
            let _ = writeln!(out, "- **{} {}**: {text}", note.phase, level_word(note.level));
        }
    }
    for phase in Phase::ALL {
        steps(report, *phase, &mut out);
    }
    calls(report, &mut out);
    for file in &report.files {
        let fence = fence(&file.diff);
        let _ = write!(out, "\n## `{}`\n\n{fence}diff\n{}", file.path.replace('`', "'"), file.diff);
        if !file.diff.ends_with('\n') {
            out.push('\n');
        }
        let _ = writeln!(out, "{fence}");
    }
    escape_terminal(&out)
}

fn steps(report: &Report, phase: Phase, out: &mut String) {
    let of_phase: Vec<&StepLine> =
        report.steps.iter().filter(|step| step.phase == phase && step.step != "embed").collect();
    if of_phase.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {phase}\n\n| step | what | why |\n|---:|---|---|");
    for step in of_phase {
        let _ = writeln!(
            out,
            "| {} | {} {} | {} |",
            step.n,
            step.step,
            plain(&step.summary),
            plain(&step.reason)
        );
    }
}

fn calls(report: &Report, out: &mut String) {
    if report.calls.is_empty() {
        return;
    }
    out.push_str("\n## Model calls\n\n| provider | model | outcome | calls | tokens in / out | seconds | waited |\n|---|---|---|---:|---:|---:|---:|\n");
    for call in &report.calls {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} / {} | {:.1} | {:.1} |",
            plain(&call.provider),
            plain(&call.model),
            plain(&call.outcome),
            call.calls,
            call.tokens_in,
            call.tokens_out,
            call.seconds,
            call.waited
        );
    }
}

/// Text on one line that Markdown shows as it is.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for ch in one_line(text, 400).chars() {
        match ch {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(ch);
            }
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            _ => out.push(ch),
        }
    }
    out
}

/// A fence longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text
        .lines()
        .map(|line| line.trim_start_matches(['+', '-', ' ']))
        .map(|line| line.len() - line.trim_start_matches('`').len())
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_cannot_break_out() {
        assert_eq!(plain("a | <b> `c` @d\n# e"), "a \\| &lt;b> \\`c\\` &#64;d \\# e");
        assert_eq!(fence("+````\n"), "`````");
    }
}
