//! The report as one HTML file: no server, no network, no other file. Style and script are inline,
//! and the page's own policy forbids everything else, so text of an entry that found a way past the
//! escaping still could not load or run anything.
//!
//! In a dry run each step has a checkbox; the page spells the `lifecycle apply` command that leaves
//! out what is not ticked. Without a script the report reads the same, only the command is missing.

mod charts;

use super::{FileChange, Report, StepLine, escape_terminal, level_word};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lifecycle_phases::Phase;
use sha2::{Digest, Sha256};
use std::fmt::Write;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// The whole page. `plan` is the file that the apply command names.
pub fn render(report: &Report, plan: &str) -> String {
    let title = escape(&super::text::title(report));
    let mut body = String::new();
    body.push_str(&format!("<header><h1>{title}</h1><p>{}</p></header>\n<main>\n", counts(report)));
    notes(report, &mut body);
    charts::graph(report, &mut body);
    steps(report, &mut body);
    files(report, &mut body);
    charts::histogram(report, &mut body);
    charts::forecast(report, &mut body);
    calls(report, &mut body);
    body.push_str("</main>\n");
    if report.dry_run && !report.steps.is_empty() {
        body.push_str(&command_bar(plan));
    }
    page(&title, &body)
}

fn page(title: &str, body: &str) -> String {
    let allowed = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src {}; script-src {}; base-uri 'none'; form-action 'none'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        allowed(STYLE),
        allowed(SCRIPT),
    )
}

/// `text` as HTML: nothing in it is markup, controls are visible, and nothing turns the direction of
/// reading.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in escape_terminal(text).chars() {
        match ch {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            _ => out.push(ch),
        }
    }
    out
}

fn counts(report: &Report) -> String {
    if report.counts.is_empty() {
        return "nothing to do".into();
    }
    let words: Vec<String> =
        report.counts.iter().map(|(name, count)| format!("<b>{count}</b> {name}")).collect();
    words.join(" · ")
}

fn notes(report: &Report, out: &mut String) {
    if report.notes.is_empty() {
        return;
    }
    out.push_str("<section aria-labelledby=\"notes\"><h2 id=\"notes\">What did not happen</h2><ul class=\"notes\">\n");
    for note in &report.notes {
        let word = level_word(note.level);
        let _ = writeln!(
            out,
            "<li class=\"{word}\"><b>{} {word}</b> {}</li>",
            note.phase,
            escape(&note.text)
        );
    }
    out.push_str("</ul></section>\n");
}

fn steps(report: &Report, out: &mut String) {
    for phase in Phase::ALL {
        let of_phase: Vec<&StepLine> =
            report.steps.iter().filter(|step| step.phase == *phase).collect();
        if of_phase.is_empty() {
            continue;
        }
        // Vectors follow their entries by themselves; there is nothing to read or to choose.
        let (vectors, of_phase): (Vec<_>, Vec<_>) =
            of_phase.into_iter().partition(|step| step.step == "embed");
        let open = if of_phase.len() > 60 { "" } else { " open" };
        let and = match vectors.len() {
            0 => String::new(),
            count => format!(" and {count} vectors"),
        };
        let _ = writeln!(
            out,
            "<details{open}><summary><h2>{phase}</h2> {} steps{and}</summary><ol class=\"steps\">",
            of_phase.len()
        );
        for step in of_phase {
            step_item(report, step, out);
        }
        out.push_str("</ol></details>\n");
    }
}

fn step_item(report: &Report, step: &StepLine, out: &mut String) {
    let _ = write!(
        out,
        "<li class=\"{}\"><label>{}<b>{}</b> <span class=\"kind\">{}</span> {}</label>",
        escape(&step.status),
        checkbox(report, step),
        step.n,
        step.step,
        escape(&step.summary)
    );
    if !step.reason.is_empty() {
        let _ = write!(out, "<p class=\"why\">{}</p>", escape(&step.reason));
    }
    if !step.sources.is_empty() {
        let count = step.sources.len();
        let _ =
            write!(out, "<details class=\"why\"><summary>made from {count} entries</summary><ul>");
        for source in &step.sources {
            let _ = write!(out, "<li>{}</li>", escape(source));
        }
        out.push_str("</ul></details>");
    }
    out.push_str("</li>\n");
}

fn checkbox(report: &Report, step: &StepLine) -> String {
    if !report.dry_run {
        return String::new();
    }
    format!("<input type=\"checkbox\" checked data-step=\"{}\"> ", step.n)
}

fn files(report: &Report, out: &mut String) {
    if report.files.is_empty() {
        return;
    }
    out.push_str("<section aria-labelledby=\"files\"><h2 id=\"files\">Files</h2>\n");
    for file in &report.files {
        file_diff(report, file, out);
    }
    out.push_str("</section>\n");
}

fn file_diff(report: &Report, file: &FileChange, out: &mut String) {
    let steps: Vec<&StepLine> =
        report.steps.iter().filter(|step| step.file.as_deref() == Some(&file.path)).collect();
    let numbers: Vec<String> = steps.iter().map(|step| step.n.to_string()).collect();
    let all = if report.dry_run && !steps.is_empty() {
        format!("<input type=\"checkbox\" checked data-all=\"{}\"> ", numbers.join(" "))
    } else {
        String::new()
    };
    let _ = writeln!(out, "<article><h3><label>{all}{}</label></h3>", escape(&file.path));
    if !steps.is_empty() && report.dry_run {
        out.push_str("<ol class=\"steps\">");
        for step in &steps {
            step_item(report, step, out);
        }
        out.push_str("</ol>\n");
    }
    out.push_str("<pre class=\"diff\" tabindex=\"0\">");
    for line in file.diff.lines() {
        let class = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => "head",
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(b'@') => "hunk",
            _ => "same",
        };
        // Each is a block of its own: a line feed between them would show as an empty line.
        let _ = write!(out, "<span class=\"{class}\">{}</span>", escape(line));
    }
    out.push_str("</pre></article>\n");
}

fn calls(report: &Report, out: &mut String) {
    if report.calls.is_empty() {
        return;
    }
    out.push_str(
        "<section><h2>Model calls</h2><div class=\"wide\"><table><thead><tr><th>provider</th>\
         <th>model</th><th>outcome</th><th>calls</th><th>tokens in</th><th>tokens out</th>\
         <th>seconds</th><th>waited</th></tr></thead><tbody>\n",
    );
    for call in &report.calls {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{:.1}</td><td>{:.1}</td></tr>",
            escape(&call.provider),
            escape(&call.model),
            escape(&call.outcome),
            call.calls,
            call.tokens_in,
            call.tokens_out,
            call.seconds,
            call.waited
        );
    }
    out.push_str("</tbody></table></div></section>\n");
}

fn command_bar(plan: &str) -> String {
    format!(
        "<footer><output id=\"command\" data-plan=\"{0}\">lifecycle apply {0}</output>\
         <button id=\"copy\" type=\"button\">Copy</button></footer>\n",
        escape(&crate::schedule::shell_word(plan))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let text = "</script><img src=x onerror=\"alert('1')\">\u{202e}\u{1b}[2J";
        let html = escape(text);
        assert!(!html.contains(['<', '>', '"', '\'', '\u{202e}', '\u{1b}']), "{html}");
    }
}
