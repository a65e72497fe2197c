//! `doctor --repair`: looks at every file of ours, says what is wrong, and mends what can be mended.
//!
//! Nothing is thrown away: a damaged database is set aside under a new name, records that do not
//! parse stay in `inbox/bad`. Index files need no repair, every run checks and rebuilds them.

use crate::capture::inbox;
use crate::cli::{Session, escape_terminal, print_json, print_text};
use crate::error::{Error, ExitCode, Result};
use crate::paths::create_private;
use crate::store::Store;
use crate::store::repair::{self, Health, Origin};
use crate::tick::TickLock;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One thing that is wrong.
#[derive(Debug, Serialize)]
struct Finding {
    what: String,
    /// What was done, or would be.
    action: String,
    /// Whether it is mended by that.
    mended: bool,
}

/// Looks, and mends unless `dry_run`.
pub fn run(session: &Session, dry_run: bool) -> Result<ExitCode> {
    let lock = if dry_run || !session.paths.data.is_dir() {
        None
    } else {
        Some(TickLock::take(&session.paths)?)
    };
    let mut findings = Vec::new();
    database(session, dry_run, &mut findings)?;
    inbox(session, dry_run, &mut findings)?;
    modes(&session.paths.data, dry_run, &mut findings)?;
    drop(lock);
    show(session, dry_run, &findings)?;
    let open = findings.iter().any(|finding| dry_run || !finding.mended);
    Ok(if open { ExitCode::Incomplete } else { ExitCode::Success })
}

fn database(session: &Session, dry_run: bool, findings: &mut Vec<Finding>) -> Result<()> {
    let path = session.paths.database();
    let what = match repair::examine(&path) {
        Health::Missing => return Ok(()),
        Health::Sound => return texts(session, findings),
        Health::Newer(version) => {
            findings.push(Finding {
                what: format!("the store has schema {version}, written by a newer build"),
                action: "use that build; nothing is done here".into(),
                mended: false,
            });
            return Ok(());
        }
        Health::Closed(why) => {
            findings.push(Finding {
                what: format!("{} cannot be read: {why}", path.display()),
                action: "it belongs to another user, or is closed to you; nothing is done here"
                    .into(),
                mended: false,
            });
            return Ok(());
        }
        Health::Emptied => "the store is empty, although there was one".to_string(),
        Health::Damaged(problems) => format!("the store is damaged: {}", problems.join("; ")),
    };
    let done = repair::repair(&path, dry_run)?;
    let source = match &done.from {
        Origin::Salvage => format!("{} entries are read from it into a new one", done.entries),
        Origin::Backup(copy) => {
            format!("{} entries come from the copy {}", done.entries, copy.display())
        }
        Origin::Nothing => "nothing can be had back; the next command begins a new one".into(),
    };
    let lost = match done.lost {
        0 => String::new(),
        1 => "; 1 row of it cannot be read and is left out".into(),
        lost => format!("; {lost} rows of it cannot be read and are left out"),
    };
    let missing = match done.missing {
        0 => String::new(),
        missing => {
            format!("; {missing} that were stored once are missing, forgotten ones among them")
        }
    };
    let aside = done.aside.as_deref().map(Path::display).map(|path| path.to_string());
    let aside = aside.unwrap_or_else(|| format!("{}.damaged-…", path.display()));
    findings.push(Finding {
        what,
        action: format!("{source}{lost}{missing}; the damaged file is kept as {aside}"),
        mended: done.from != Origin::Nothing,
    });
    Ok(())
}

/// What a repair would do to files of ours beside the database, a line each, for the checkup.
pub fn files(session: &Session) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    if session.paths.database().exists() {
        texts(session, &mut findings)?;
    }
    inbox(session, true, &mut findings)?;
    let line = |finding: Finding| format!("{} (`lifecycle doctor --repair`)", finding.what);
    Ok(findings.into_iter().map(line).collect())
}

/// Texts that changed on the disk.
fn texts(session: &Session, findings: &mut Vec<Finding>) -> Result<()> {
    let store = Store::open_reading(&session.paths, &session.settings)?;
    for id in repair::altered(store.reader())? {
        findings.push(Finding {
            what: format!("the text of entry {id} is not the one it was stored with"),
            action: format!("look at it with `lifecycle show {id}`; forget it or leave it"),
            mended: false,
        });
    }
    Ok(())
}

fn inbox(session: &Session, dry_run: bool, findings: &mut Vec<Finding>) -> Result<()> {
    let waiting = inbox::read(&session.paths)?;
    for closed in waiting.closed {
        let done = if dry_run { Ok(()) } else { open_again(&closed.folder) };
        findings.push(Finding {
            what: format!("{} {}", closed.folder.display(), closed.why),
            mended: done.is_ok(),
            action: match done {
                Ok(()) if closed.folder.is_dir() => "it is opened for its owner".into(),
                Ok(()) => "it is kept under another name, and the folder is made".into(),
                Err(error) => error.message,
            },
        });
    }
    for (file, reason) in waiting.bad {
        findings.push(Finding {
            what: format!("{} cannot be read: {reason}", file.display()),
            action: "the next tick sets it aside in inbox/bad".into(),
            mended: true,
        });
    }
    for folder in [session.paths.inbox(), session.paths.spare_inbox()] {
        let folder = folder.join("bad");
        let aside = std::fs::read_dir(&folder).map_or(0, Iterator::count);
        if aside > 0 {
            findings.push(Finding {
                what: format!("{aside} records that could not be read lie in {}", folder.display()),
                action: "look at them and remove them; nothing else does".into(),
                mended: false,
            });
        }
    }
    Ok(())
}

/// Makes a folder for records one again: what has its name is set aside, closed to its owner it is
/// not any more.
fn open_again(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        let time = chrono::Utc::now().format("%Y%m%dT%H%M%S%3fZ");
        let aside = folder.with_file_name(format!("inbox.damaged-{time}"));
        std::fs::rename(folder, aside).map_err(|error| Error::unwritable(folder, &error))?;
        return create_private(folder);
    }
    #[cfg(unix)]
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .map_err(|error| Error::unwritable(folder, &error))?;
    Ok(())
}

/// Files of ours that others can read or write.
fn modes(data: &Path, dry_run: bool, findings: &mut Vec<Finding>) -> Result<()> {
    let open = open_to_others(data);
    if open.is_empty() {
        return Ok(());
    }
    if !dry_run {
        for path in &open {
            close_to_others(path).map_err(|error| Error::io(path, &error))?;
        }
    }
    findings.push(Finding {
        what: format!(
            "{} files or folders are open to other users, {} among them",
            open.len(),
            open[0].display()
        ),
        action: "they become the owner's alone".into(),
        mended: true,
    });
    Ok(())
}

#[cfg(unix)]
fn open_to_others(data: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    // Model files hold nothing of the user's and may be shared.
    let ours = |entry: &walkdir::DirEntry| entry.file_name() != "models";
    walkdir::WalkDir::new(data)
        .into_iter()
        .filter_entry(ours)
        .filter_map(std::result::Result::ok)
        .filter(|entry| !entry.path_is_symlink())
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0))
        .map(walkdir::DirEntry::into_path)
        .collect()
}

#[cfg(unix)]
fn close_to_others(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.metadata()?.permissions().mode() & 0o700;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn open_to_others(_data: &Path) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

fn show(session: &Session, dry_run: bool, findings: &[Finding]) -> Result<()> {
    if session.global.json {
        return print_json(&serde_json::json!({ "dry_run": dry_run, "findings": findings }));
    }
    let mut out = String::new();
    for finding in findings {
        out.push_str(&format!("! {}\n  {}\n", finding.what, finding.action));
    }
    out.push_str(match (findings.is_empty(), dry_run) {
        (true, _) => "nothing to repair\n",
        (_, true) => "dry run: nothing was changed\n",
        _ => "done\n",
    });
    print_text(&escape_terminal(&out));
    Ok(())
}
