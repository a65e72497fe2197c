//! Whose words the output of a call are.

use super::Act;
use std::path::Path;

/// Tools that fetch pages, by a part of their name. What a server of the protocol for tools gives
/// back (an issue, a message, a page) was written by whoever could write there.
const WEB_TOOLS: &[&str] =
    &["webfetch", "websearch", "web_search", "fetch", "browser", "puppeteer", "mcp__"];

/// Programs that fetch pages.
const WEB_PROGRAMS: &[&str] = &["curl", "wget", "http", "lynx"];

/// Programs that build, test and format.
const WORK_PROGRAMS: &[&str] = &[
    "cargo",
    "rustc",
    "make",
    "cmake",
    "ctest",
    "ninja",
    "just",
    "go",
    "npm",
    "pnpm",
    "yarn",
    "tsc",
    "eslint",
    "prettier",
    "jest",
    "vitest",
    "pytest",
    "ruff",
    "mypy",
    "tox",
    "mvn",
    "gradle",
    "gradlew",
    "dotnet",
    "rake",
    "mix",
    "swift",
    "bazel",
    "clippy-driver",
];

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
            Act::Ran { command, .. } if works(command) => Self::Own,
            Act::Ran { .. } => Self::File,
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

/// Whether a command builds, tests or formats and does nothing else: what it prints is of the work
/// itself. Any other may print what somebody else wrote, such as a page that was saved before.
fn works(command: &str) -> bool {
    let is_work = |part: &str| {
        let rest = part.trim();
        rest.is_empty() || rest.starts_with("cd ") || WORK_PROGRAMS.contains(&program(rest))
    };
    // A package manager that is asked about a package prints what its author wrote.
    let asks = |word: &str| {
        matches!(word, "view" | "info" | "show" | "search" | "doc" | "exec" | "dlx" | "audit")
    };
    !command.contains("://")
        && command.split(['|', ';', '&', '(', '`', '\n']).all(is_work)
        && !command.split_whitespace().any(asks)
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
        assert_eq!(ran("cd /p && cargo test"), Voice::Own);
        assert_eq!(ran("npm run build"), Voice::Own);
        for command in
            ["cat p.txt", "gh issue view 7", "npm view left-pad", "cargo test; cat p.txt"]
        {
            assert_eq!(ran(command), Voice::File, "{command}");
        }
    }
}
