//! Machine text in a user's coat.

/// Beginnings of texts that a program wrote under the user's name.
const BEGINNINGS: &[&str] = &[
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification",
    "<system-reminder>",
    "<session-start-hook>",
    "<user-prompt-submit-hook>",
    "<post-tool-use-hook>",
    "<tick>",
    "<goal>",
    "<ide_",
    "<cross-session-message",
    "<teammate-message",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "Caveat: The messages below",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
];

/// Heading after which an editor's plugin puts the user's own words.
const REQUEST: &str = "## My request for Codex:";

/// Whether `text` was written by a program.
pub fn is_machine_text(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

/// The user's part of a prompt that an editor put its context in front of.
pub fn own_request(text: &str) -> &str {
    match text.find(REQUEST) {
        Some(at) if text.trim_start().starts_with("# Context from my IDE") => {
            &text[at + REQUEST.len()..]
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_from_people() {
        assert!(is_machine_text(" <command-name>/cost</command-name>"));
        assert!(is_machine_text("\n "));
        assert!(!is_machine_text("Spring tide tests must cover <18 years>"));
        let prompt = "# Context from my IDE setup:\n## Open tabs\n## My request for Codex:\nfix it";
        assert_eq!(own_request(prompt).trim(), "fix it");
        assert_eq!(
            own_request("quote: ## My request for Codex: x"),
            "quote: ## My request for Codex: x"
        );
    }
}
