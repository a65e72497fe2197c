//! The report for people: warnings first, then the five phases, the steps, the files. At most 80
//! columns; of a file's change, `--format markdown` and `--json` have the lines unbroken.

use super::{
    COLUMNS, Report, StepLine, broken, escape_terminal, fold_diff, level_word, one_line, width,
};
use crate::clock;
use crate::tick::Level;
use lifecycle_phases::Phase;

/// Links shown one by one; a report with more says how many it leaves to `--json`.
const LINKS_SHOWN: usize = 12;

/// The whole report as text.
pub fn render(report: &Report) -> String {
    let mut out = heading(report);
    if report.is_empty() {
        out.push_str("nothing to do\n");
        return out;
    }
    notes(report, &mut out);
    for phase in &report.phases {
        phase_lines(report, *phase, &mut out);
    }
    calls(report, &mut out);
    files(report, &mut out);
    out
}

fn calls(report: &Report, out: &mut String) {
    if !report.calls.is_empty() {
        out.push_str("\nmodel calls:\n");
    }
    for call in &report.calls {
        let line = format!(
            "{} {} {} ({}), {} tokens in, {} out, {:.1} s, waited {:.1} s",
            call.calls,
            call.outcome,
            one_line(&call.provider, 20),
            one_line(&call.model, 30),
            call.tokens_in,
            call.tokens_out,
            call.seconds,
            call.waited
        );
        wrap("       ", &line, out);
    }
}

fn heading(report: &Report) -> String {
    format!("{}\n", title(report))
}

/// The report's name and time.
pub fn title(report: &Report) -> String {
    let name = match (report.tick, report.dry_run) {
        (_, true) => "dry run, nothing is written".to_string(),
        (Some(id), _) => format!("tick {id} ({})", report.trigger),
        (None, _) => report.trigger.clone(),
    };
    format!("{name} · {}", clock::shown_text(&report.time))
}

fn notes(report: &Report, out: &mut String) {
    for note in &report.notes {
        let sign = if note.level == Level::Failed { "!" } else { "-" };
        let head = format!("{sign} {} {}: ", note.phase, level_word(note.level));
        wrap(&head, &note.text, out);
    }
}

fn phase_lines(report: &Report, phase: Phase, out: &mut String) {
    let steps: Vec<&StepLine> = report.steps.iter().filter(|step| step.phase == phase).collect();
    if steps.is_empty() {
        return;
    }
    out.push_str(&format!("\n{phase}: {}\n", tally(&steps)));
    let mut links = 0;
    for step in steps.iter().filter(|step| step.step != "embed") {
        if step.step == "link" {
            links += 1;
            if links > LINKS_SHOWN {
                continue;
            }
        }
        step_line(step, out);
    }
    if links > LINKS_SHOWN {
        out.push_str(&format!("       … {} more links (--json shows all)\n", links - LINKS_SHOWN));
    }
}

fn tally(steps: &[&StepLine]) -> String {
    let mut parts: Vec<(&str, usize)> = Vec::new();
    for step in steps {
        match parts.iter_mut().find(|(name, _)| *name == step.step) {
            Some((_, count)) => *count += 1,
            None => parts.push((step.step, 1)),
        }
    }
    let words: Vec<String> = parts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    words.join(", ")
}

fn step_line(step: &StepLine, out: &mut String) {
    let mark = match step.status.as_str() {
        "refused" => " REFUSED",
        "undone" => " UNDONE",
        _ => "",
    };
    let head = format!("{:>5}  {}{mark}  ", step.n, step.step);
    let room = COLUMNS.saturating_sub(width(&head));
    if let Some(ends) = &step.between {
        out.push_str(&format!("{head}{}\n", link_line(&step.summary, ends, room)));
    } else if matches!(step.step, "merge" | "route") {
        wrap(&head, &step.summary, out);
    } else {
        out.push_str(&format!("{head}{}\n", one_line(&step.summary, room)));
    }
    if !step.reason.is_empty() && step.step != "link" {
        out.push_str(&format!("         {}\n", one_line(&step.reason, COLUMNS - 9)));
    }
}

/// The similarity, both texts and how they differ, each text with half of the room.
fn link_line(summary: &str, [a, b]: &[String; 2], room: usize) -> String {
    let similarity = summary.split("  ").next().unwrap_or_default();
    let differs = match summary.rfind("  [differs: ") {
        Some(at) if summary.ends_with(']') => &summary[at..],
        _ => "",
    };
    let half = room.saturating_sub(width(similarity) + width(differs) + 7) / 2;
    format!("{similarity}  {}  ~  {}{differs}", one_line(a, half), one_line(b, half))
}

/// Appends `head` and `text`, broken at spaces and indented under the head.
fn wrap(head: &str, text: &str, out: &mut String) {
    let under = " ".repeat(width(head).min(9));
    let text = escape_terminal(text).split_whitespace().collect::<Vec<_>>().join(" ");
    out.push_str(broken(head, &under, &text).trim_end());
    out.push('\n');
}

fn files(report: &Report, out: &mut String) {
    for file in &report.files {
        out.push('\n');
        out.push_str(&fold_diff(&escape_terminal(&file.diff)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_shows_both_ends() {
        let ends = ["the first text, ".repeat(9), "港口的第二个文本".repeat(9)];
        let summary = format!("0.81  {}  ~  {}  [differs: number]", ends[0], ends[1]);
        let line = link_line(&summary, &ends, 66);
        assert!(line.starts_with("0.81  the first text"), "{line}");
        assert!(line.contains("…  ~  港口的第二个"), "{line}");
        assert!(line.ends_with("  [differs: number]") && width(&line) <= 66, "{line}");
    }
}
