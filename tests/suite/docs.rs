//! The documentation: links lead somewhere, every command in it is one, every setting it names
//! exists, and the blocks of README and quick start are executed as they stand.

use crate::support::Home;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap()
}

/// The shell blocks of a page.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside && line.trim_end() == "```sh";
            if inside {
                blocks.push(String::new());
            }
        } else if inside && let Some(block) = blocks.last_mut() {
            block.push_str(line);
            block.push('\n');
        }
    }
    blocks
}

/// The words of a command as a shell splits them; what follows a pipe or a redirection is left out.
fn words(line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let line = line.split(" | ").next().unwrap().split(" > ").next().unwrap();
    let script = format!("lifecycle() {{ printf '%s\\0' lifecycle \"$@\"; }}\n{line}\n");
    let output =
        Command::new("sh").arg("-c").arg(script).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(ToString::to_string).collect()
}

#[test]
fn every_command_in_the_documentation_is_one() {
    let mut count = 0;
    for page in pages() {
        for block in blocks(&read(&page)) {
            for line in block.lines().filter(|line| line.starts_with("lifecycle ")) {
                if let Err(error) = lifecycle::cli::parses(&words(line)) {
                    panic!("{}: {line}\n{error}", page.display());
                }
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count} commands");
}

/// Commands inside sentences and tables: their verbs exist.
#[test]
fn every_verb_in_a_sentence_exists() {
    let known: BTreeSet<String> =
        lifecycle::cli::command_words().iter().map(|words| words.join(" ")).collect();
    let verb = regex::Regex::new(r"`lifecycle ([a-z][a-z-]*)((?: [a-z][a-z-]*)?)").unwrap();
    let mut wrong = Vec::new();
    for page in pages() {
        for found in verb.captures_iter(&read(&page)) {
            let (verb, second) = (found[1].to_string(), found[2].trim());
            let is_group = known.iter().any(|words| words.starts_with(&format!("{verb} ")));
            let takes_words = ["report", "documents"].contains(&verb.as_str());
            let both = format!("{verb} {second}");
            let ok = known.contains(&verb)
                && (second.is_empty() || !is_group || takes_words || known.contains(&both));
            if !ok {
                wrong.push(format!("{}: {}", page.display(), &found[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `section.key` in the documentation is a setting, or a part of one.
#[test]
fn every_setting_in_the_documentation_exists() {
    let settings = lifecycle::config::Layers::defaults().values();
    let keys: Vec<&str> = settings.iter().map(|(key, ..)| key.as_str()).collect();
    let sections: BTreeSet<&str> = keys.iter().filter_map(|key| key.split('.').next()).collect();
    let name = regex::Regex::new(r"`\[?([a-z_]+(?:\.[a-z_]+)+)").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for found in name.captures_iter(&read(&page)) {
            let key = &found[1];
            let is_file = ["toml", "md", "rs", "json", "yaml", "jsonl", "log", "lock"]
                .iter()
                .any(|end| key.ends_with(&format!(".{end}")));
            if is_file || !sections.contains(key.split('.').next().unwrap()) {
                continue;
            }
            count += 1;
            let below = format!("{key}.");
            let exists = keys.iter().any(|known| *known == key || known.starts_with(&below));
            if !exists && lifecycle::config::open_table(key).is_none() {
                wrong.push(format!("{}: {key}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty() && count > 20, "{count} {wrong:#?}");
}

/// Anchors of a page, as the usual renderers name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        inside ^= line.starts_with("```");
        if !inside && let Some(title) = line.strip_prefix('#') {
            let title = title.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|ch| ch.is_alphanumeric() || " -_".contains(*ch));
            found.insert(kept.map(|ch| if ch == ' ' { '-' } else { ch }).collect());
        }
    }
    found
}

fn broken_links(page: &Path, text: &str) -> Vec<String> {
    let link = regex::Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let mut broken = Vec::new();
    for found in link.captures_iter(text) {
        let target = &found[1];
        if target.starts_with("http") || target.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = match file {
            "" => page.to_path_buf(),
            file => page.parent().unwrap().join(file),
        };
        let leads = path.exists() && (anchor.is_empty() || anchors(&read(&path)).contains(anchor));
        if !leads {
            broken.push(format!("{}: {target}", page.display()));
        }
    }
    broken
}

#[test]
fn links_lead_somewhere() {
    for page in pages() {
        let broken = broken_links(&page, &read(&page));
        assert!(broken.is_empty(), "{broken:#?}");
    }
    let page = root().join("docs/README.md");
    assert_eq!(broken_links(&page, "[a](gone.md) [b](models.md#no-such) [c](models.md)").len(), 2);
}

#[test]
fn every_page_is_listed_and_ends_somewhere() {
    let index = read(&root().join("docs/README.md"));
    for page in pages() {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name == "README.md" || index.contains(&format!("({name})")), "{name}");
        assert!(read(&page).len() > 400, "{name} says next to nothing");
    }
}

/// A machine of a new user: a home with Claude Code, the program on the search path, and a
/// scheduler that touches nothing outside.
struct Machine {
    home: Home,
    folder: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let mut home = Home::new();
        std::fs::create_dir_all(home.path().join("home/.claude")).unwrap();
        let tools = home.path().join("tools");
        std::fs::create_dir_all(&tools).unwrap();
        let program = env!("CARGO_BIN_EXE_lifecycle");
        std::os::unix::fs::symlink(program, tools.join("lifecycle")).unwrap();
        let table = home.path().join("crontab");
        let crontab = format!(
            "#!/bin/sh\ncase $1 in -l) cat '{0}' ;; *) cat >'{0}' ;; esac\n",
            table.display()
        );
        std::fs::write(&table, "").unwrap();
        for (name, script) in [
            ("crontab", crontab.as_str()),
            ("systemctl", "#!/bin/sh\nexit 1\n"),
            ("cargo", "#!/bin/sh\n"),
        ] {
            std::fs::write(tools.join(name), script).unwrap();
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(tools.join(name), mode).unwrap();
        }
        home.set("PATH", &format!("{}:/usr/bin:/bin", tools.display()));
        let folder = home.path().join("harbor-api");
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        for file in ["CLAUDE.md", "notes.jsonl"] {
            std::fs::copy(root().join("examples/harbor-api").join(file), folder.join(file))
                .unwrap();
        }
        Self { home, folder }
    }

    /// Runs the blocks of a page, each with one shell, in the example project. A command that ends
    /// with another code than 0 is an error.
    fn follow(&self, text: &str) -> Result<usize, String> {
        let mut lines = 0;
        for block in blocks(text) {
            let script = as_typed(&block);
            let mut command = self.home.command(&[]);
            let path = self.home.variables.iter().find(|(name, _)| name == "PATH").unwrap();
            let mut shell = Command::new("sh");
            shell.args(["-euc", &script]).env_clear().current_dir(&self.folder);
            shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell.env("PATH", &path.1);
            command.arg("--version");
            let output = shell.output().unwrap();
            if !output.status.success() {
                let words = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{}\n{words}\n{script}", output.status));
            }
            lines += block.lines().count();
        }
        Ok(lines)
    }
}

/// A block as somebody would type it: names in capitals stand for what is at hand, questions are
/// answered, and what `.ci/run` executes by itself is left to it.
fn as_typed(block: &str) -> String {
    let id = "\"$(lifecycle list | head -n 1 | cut -c1-8)\"";
    let line = "\"CLAUDE.md:$(grep -n lifecycle:begin CLAUDE.md | head -n 1 | sed 's/:.*//' | \
                awk '{print $1 + 1}')\"";
    let mut script = String::new();
    for typed in block.lines() {
        if typed.starts_with("scripts/") {
            let run = read(&root().join(".ci/run"));
            let name = typed.split_whitespace().next().unwrap();
            assert!(run.lines().any(|line| line.trim() == name), ".ci/run executes {name}");
            continue;
        }
        let typed = typed
            .replace(" ID", &format!(" {id}"))
            .replace(" CLAUDE.md:12", &format!(" {line}"))
            .replace("lifecycle init ", "lifecycle init --yes ");
        script.push_str(&typed);
        script.push('\n');
    }
    script
}

#[test]
fn the_quick_start_works_as_it_is_typed() {
    let machine = Machine::new();
    let page = read(&root().join("docs/quick-start.md"));
    let lines = machine.follow(&page.replace("lifecycle init --yes", "lifecycle init ")).unwrap();
    assert!(lines >= 12, "{lines}");
    assert!(machine.home.path().join("home/.claude/settings.json").exists());
}

#[test]
fn the_readme_works_as_it_is_typed() {
    let machine = Machine::new();
    let project = machine.folder.to_str().unwrap();
    machine.home.run(&["add", "--project", project, "--file", "harbor-api/notes.jsonl"]).success();
    let lines = machine.follow(&read(&root().join("README.md"))).unwrap();
    assert!(lines >= 14, "{lines}");
}

/// The two tests above can fail.
#[test]
fn a_broken_command_is_found() {
    let machine = Machine::new();
    for wrong in ["lifecycle stauts", "lifecycle show ffffffff", "lifecycle status | lifecycle x"] {
        let page = format!("text\n\n```sh\nlifecycle status\n{wrong}\n```\n");
        assert!(machine.follow(&page).is_err(), "{wrong}");
    }
    assert_eq!(
        machine.follow("```sh\nlifecycle status\n```\n\n```toml\nnothing = 1\n```\n"),
        Ok(1)
    );
}

#[test]
fn every_command_has_examples_in_its_help() {
    let without = lifecycle::cli::commands_without_examples();
    assert!(without.is_empty(), "{without:#?}");
}

/// Examples in the help are command lines.
#[test]
fn every_example_in_a_help_parses() {
    let mut count = 0;
    for (of, line) in lifecycle::cli::examples() {
        assert!(line.len() <= 78, "{of}: too wide: {line}");
        if !line.contains("lifecycle ") || line.starts_with("claude ") {
            continue;
        }
        let line = line.split("  ").next().unwrap().split(" < ").next().unwrap();
        let line = line
            .split_once(" | ")
            .map_or(line, |(left, right)| if left.starts_with("lifecycle") { left } else { right });
        if let Err(error) = lifecycle::cli::parses(&words(line)) {
            panic!("{of}: {line}\n{error}");
        }
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn exit_codes_are_those_of_the_code() {
    for page in ["docs/exit-codes.md", "README.md"] {
        let text = read(&root().join(page));
        for code in 0..=9 {
            assert!(text.contains(&format!("| {code} | ")), "{page}: {code}");
        }
    }
}

/// Tags by which somebody says in German or French that something is to be kept.
#[test]
fn every_mark_is_documented() {
    let page = read(&root().join("docs/concepts.md"));
    let settings = lifecycle::config::Layers::defaults().settings().unwrap();
    let marks = &settings.capture.marks;
    for mark in marks.insight.iter().chain(&marks.decision).chain(&marks.thought) {
        assert!(page.contains(&format!("`{mark}`")), "{mark}");
    }
}
