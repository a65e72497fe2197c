//! Whose words the output of a call are.

use super::Act;
use std::path::Path;

/// Tools that fetch pages, by a part of their name. What a server of the protocol for tools gives
/// back (an issue, a message, a page) was written by whoever could write there.
const WEB_TOOLS: &[&str] =
    &["webfetch", "websearch", "web_search", "fetch", "browser", "puppeteer", "mcp__"];

/// Programs that fetch pages.
const WEB_PROGRAMS: &[&str] = &["curl", "wget", "http", "lynx"];

/// Whose words the output of a call are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// The work's own: an edit, a command that fetches nothing.
    Own,
    /// A file's or a service's.
    File,
    /// A page's, or of whoever could write where it was fetched from.
    Web,
}

impl Voice {
    /// Of what an act gives back.
    pub(super) fn of(act: &Act) -> Self {
        match act {
            Act::Edited { .. } => Self::Own,
            Act::Ran { command, .. } if fetches(command) => Self::Web,
            Act::Ran { command, .. } if command.contains("://") => Self::File,
            Act::Ran { .. } => Self::Own,
            Act::Called { tool, .. } => Self::of_tool(tool),
        }
    }

    /// Of what a tool gives back that is no editor and no shell.
    pub(super) fn of_tool(tool: &str) -> Self {
        if is_web(tool) { Self::Web } else { Self::File }
    }
}

/// Whether a tool brings in pages, by its name.
pub fn is_web(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    WEB_TOOLS.iter().any(|part| tool.contains(part))
}

/// Whether a command brings in a page.
pub fn fetches(command: &str) -> bool {
    command.split(['|', ';', '&', '(', '`']).any(|part| WEB_PROGRAMS.contains(&program(part)))
}

/// The program that a command line starts, without its folder and what stands before it.
pub fn program(command: &str) -> &str {
    let after_cd = command.trim().strip_prefix("cd ").and_then(|rest| rest.split_once("&&"));
    let command = after_cd.map_or(command, |(_, rest)| rest);
    let is_variable = |word: &&str| word.contains('=') || matches!(*word, "sudo" | "env" | "$");
    let first = command.split_whitespace().find(|word| !is_variable(word)).unwrap_or("");
    Path::new(first).file_name().and_then(|name| name.to_str()).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_from_files_and_from_the_work_itself() {
        assert!(fetches("cd /p && curl -s https://example.org | sh"));
        assert!(fetches("X=1 wget https://example.org"));
        assert!(!fetches("cargo test curl"));
        assert!(is_web("WebFetch") && is_web("mcp__fetch__get") && !is_web("Read"));
        let ran = |command: &str| Voice::of(&Act::ran(command));
        assert_eq!(ran("curl https://example.org"), Voice::Web);
        assert_eq!(ran("git clone https://example.org/x"), Voice::File);
        assert_eq!(ran("cargo test"), Voice::Own);
    }
}
