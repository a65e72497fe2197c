//! Finds conversation files that no hook announced. Only reads.

use super::Assistant;
use crate::config::CaptureSettings;
use crate::paths::Paths;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use walkdir::WalkDir;

/// A conversation file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose.
    pub assistant: Assistant,
    /// Where.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Last change: milliseconds since 1970-01-01 UTC.
    pub modified: i64,
}

/// What the scan saw.
#[derive(Clone, Debug, Default)]
pub struct Scanned {
    /// Files to read, oldest first.
    pub found: Vec<Found>,
    /// Files that changed within the last `settle_seconds` and wait for the next tick.
    pub settling: usize,
}

/// Folders of conversations of each assistant that the settings name, whether they exist or not.
pub fn folders(settings: &CaptureSettings, paths: &Paths) -> Vec<(Assistant, PathBuf)> {
    let mut folders = Vec::new();
    for word in &settings.scan {
        match Assistant::parse(word) {
            Assistant::ClaudeCode => {
                let config = variable("CLAUDE_CONFIG_DIR").unwrap_or(paths.home.join(".claude"));
                folders.push((Assistant::ClaudeCode, config.join("projects")));
            }
            Assistant::Codex => {
                let home = variable("CODEX_HOME").unwrap_or(paths.home.join(".codex"));
                folders.push((Assistant::Codex, home.join("sessions")));
                folders.push((Assistant::Codex, home.join("archived_sessions")));
            }
        }
    }
    folders
}

/// Conversation files in `folders` that changed within `scan_days` before `now`. A clock that runs
/// behind a file's time makes the file neither old nor unsettled.
pub fn scan(
    folders: &[(Assistant, PathBuf)],
    settings: &CaptureSettings,
    own: &Path,
    now: i64,
) -> Scanned {
    let mut scanned = Scanned::default();
    for (assistant, folder) in folders {
        let depth = if *assistant == Assistant::ClaudeCode { 2 } else { 4 };
        let files = WalkDir::new(folder).max_depth(depth).into_iter().flatten();
        for file in files.filter(|file| is_conversation(*assistant, file.path())) {
            let Some(found) = stat(*assistant, file.path()) else { continue };
            let age = now.saturating_sub(found.modified);
            let is_old = age > i64::from(settings.scan_days) * 86_400_000;
            let is_fresh = age.unsigned_abs() < settings.settle_seconds.saturating_mul(1000);
            if is_old || found.path.starts_with(own) {
                continue;
            }
            if is_fresh {
                scanned.settling += 1;
            } else {
                scanned.found.push(found);
            }
        }
    }
    scanned.found.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
    scanned
}

/// Size and time of a file, or `None` when it is not there or empty.
pub fn stat(assistant: Assistant, path: &Path) -> Option<Found> {
    let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() > 0)?;
    let since = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let modified = i64::try_from(since.as_millis()).ok()?;
    Some(Found { assistant, path: path.to_path_buf(), size: meta.len(), modified })
}

/// The file of a conversation that a hook named only by its id.
pub fn by_session(
    folders: &[(Assistant, PathBuf)],
    assistant: Assistant,
    id: &str,
) -> Option<PathBuf> {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let end = format!("{id}.jsonl");
    let of_assistant = folders.iter().filter(|(whose, _)| *whose == assistant);
    of_assistant
        .flat_map(|(_, folder)| WalkDir::new(folder).max_depth(4).into_iter().flatten())
        .map(walkdir::DirEntry::into_path)
        .find(|path| is_conversation(assistant, path) && name(path).ends_with(&end))
}

fn is_conversation(assistant: Assistant, path: &Path) -> bool {
    let name = name(path);
    name.ends_with(".jsonl")
        && match assistant {
            // Sub-agents of old versions lie beside the conversation, those of newer ones below it.
            Assistant::ClaudeCode => !name.starts_with("agent-"),
            Assistant::Codex => name.starts_with("rollout-"),
        }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Layers;
    use std::fs;
    use std::time::{Duration, SystemTime};

    const DAY: u64 = 86_400;

    fn file(path: &Path, seconds_ago: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}\n").unwrap();
        let time = SystemTime::now() - Duration::from_secs(seconds_ago);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn settled_conversations_of_the_last_days_are_found() {
        let guard = tempfile::tempdir().unwrap();
        let claude = guard.path().join("projects");
        let codex = guard.path().join("sessions");
        file(&claude.join("-w-p/a.jsonl"), 29 * DAY);
        file(&claude.join("-w-p/b.jsonl"), 120);
        file(&claude.join("-w-p/now.jsonl"), 5);
        file(&claude.join("-w-p/old.jsonl"), 31 * DAY);
        file(&claude.join("-w-p/agent-x.jsonl"), 120);
        file(&claude.join("-w-p/a/subagents/agent-y.jsonl"), 120);
        file(&claude.join("-w-p/history.txt"), 120);
        file(&codex.join("2026/06/08/rollout-2026-0197c0de.jsonl"), 300);
        fs::write(claude.join("-w-p/empty.jsonl"), "").unwrap();
        let folders = [(Assistant::ClaudeCode, claude), (Assistant::Codex, codex)];
        let settings = Layers::defaults().settings().unwrap().capture;
        let now = crate::clock::Clock::System.now();
        let scanned = scan(&folders, &settings, Path::new("/own"), now);
        let names: Vec<_> = scanned.found.iter().map(|found| name(&found.path)).collect();
        assert_eq!(names, ["a.jsonl", "rollout-2026-0197c0de.jsonl", "b.jsonl"]);
        assert_eq!(scanned.settling, 1);
        assert!(by_session(&folders, Assistant::Codex, "0197c0de").is_some());
        assert!(by_session(&folders, Assistant::ClaudeCode, "../a").is_none());
        assert!(scan(&folders, &settings, guard.path(), now).found.is_empty());
    }
}
