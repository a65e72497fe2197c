//! `--format` of reports.

use super::{Session, print_json, print_raw};
use crate::error::Result;
use crate::report::{Report, paint, render, render_html, render_markdown};
use clap::ValueEnum;
use std::io::IsTerminal;

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal, 80 columns
    #[default]
    Text,
    /// For an issue or a mail
    Markdown,
    /// For programs
    Json,
    /// One file for a browser, with pictures; works offline
    Html,
}

/// Prints the report; `plan` is the file that the page's apply command names.
pub fn show(session: &Session, report: &Report, format: Format, plan: Option<&str>) -> Result<()> {
    let format = if session.global.json { Format::Json } else { format };
    match format {
        Format::Json => print_json(report)?,
        Format::Text if session.global.quiet => {}
        Format::Text => print_raw(&coloured(&render(report))),
        Format::Markdown => print_raw(&render_markdown(report)),
        Format::Html => print_raw(&render_html(report, plan.unwrap_or("plan.json"))),
    }
    Ok(())
}

/// Colours only where a terminal shows them and the user's environment does not forbid them.
fn coloured(text: &str) -> String {
    let stdout = std::io::stdout();
    let wanted = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    if wanted && stdout.is_terminal() { paint(text) } else { text.to_string() }
}
