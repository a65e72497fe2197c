//! Who calls the job: systemd, launchd or cron, by what the machine has.

use super::find_program;
use crate::error::{Error, ExitCode, Result};

/// The scheduler of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A systemd user timer.
    Systemd,
    /// A launchd agent.
    Launchd,
    /// The user's crontab.
    Cron,
}

/// A program with its arguments that takes part in installing; a failure is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments.
    pub words: Vec<String>,
}

impl Command {
    /// From words.
    pub fn new(words: &[&str]) -> Self {
        Self { words: words.iter().map(ToString::to_string).collect() }
    }

    /// The command as one would type it.
    pub fn shown(&self) -> String {
        self.words.iter().map(|word| super::shell_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// Runs it.
    ///
    /// # Errors
    /// It is missing, or ended non-zero: its own words.
    pub fn run(&self) -> Result<()> {
        let failure =
            |why: String| Error::new(ExitCode::Failure, format!("{}: {why}", self.shown()));
        let (program, args) =
            self.words.split_first().ok_or_else(|| failure("no program".into()))?;
        let output = std::process::Command::new(program)
            .args(args)
            .output()
            .map_err(|error| failure(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failure(String::from_utf8_lossy(&output.stderr).trim().to_string()))
    }
}

impl Backend {
    /// Its name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Launchd => "launchd",
            Self::Cron => "cron",
        }
    }

    /// The scheduler of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Systemd, Self::Launchd, Self::Cron].into_iter().find(|by| by.name() == name)
    }

    /// What makes it take notice of new files.
    pub fn activate(self, plist: &str) -> Vec<Command> {
        match self {
            Self::Systemd => vec![
                Command::new(&["systemctl", "--user", "daemon-reload"]),
                Command::new(&["systemctl", "--user", "enable", "--now", "lifecycle.timer"]),
            ],
            Self::Launchd => {
                vec![Command::new(&["launchctl", "bootstrap", &gui_domain(), plist])]
            }
            Self::Cron => Vec::new(),
        }
    }

    /// What has to happen before its files go.
    pub fn deactivate(self) -> Vec<Command> {
        match self {
            Self::Systemd => {
                vec![Command::new(&["systemctl", "--user", "disable", "--now", "lifecycle.timer"])]
            }
            Self::Launchd => {
                let service = format!("{}/lifecycle.tick", gui_domain());
                vec![Command::new(&["launchctl", "bootout", &service])]
            }
            Self::Cron => Vec::new(),
        }
    }

    /// What has to happen after its files are gone.
    pub fn after_removal(self) -> Vec<Command> {
        match self {
            Self::Systemd => vec![Command::new(&["systemctl", "--user", "daemon-reload"])],
            Self::Launchd | Self::Cron => Vec::new(),
        }
    }
}

/// The domain of the user's graphical session.
fn gui_domain() -> String {
    let uid = std::process::Command::new("id").arg("-u").output().ok();
    let uid = uid.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    format!("gui/{}", uid.unwrap_or_default())
}

/// Whether `wanted` may stand in `schedule.by`; the machine is not asked.
///
/// # Errors
/// It is no scheduler.
pub fn check(wanted: &str) -> Result<()> {
    if wanted == "auto" { Ok(()) } else { named(wanted).map(drop) }
}

fn named(wanted: &str) -> Result<Backend> {
    Backend::parse(wanted).ok_or_else(|| {
        Error::config(format!("schedule.by: `{wanted}` is not a scheduler"))
            .hint("auto, systemd, launchd or cron")
    })
}

/// The scheduler of this machine; `wanted` is the setting `schedule.by`.
///
/// # Errors
/// There is none, or `wanted` names none.
pub fn detect(wanted: &str) -> Result<Backend> {
    if wanted != "auto" {
        return named(wanted);
    }
    if cfg!(target_os = "macos") {
        return Ok(Backend::Launchd);
    }
    if user_manager_answers() {
        return Ok(Backend::Systemd);
    }
    if find_program("crontab").is_some() {
        return Ok(Backend::Cron);
    }
    Err(Error::new(ExitCode::Missing, "this machine has neither a systemd user manager nor crontab")
        .hint("hooks start a due tick by themselves; or call `lifecycle run --if-due` from your own scheduler"))
}

/// Containers and WSL often have `systemctl` without a manager that answers.
fn user_manager_answers() -> bool {
    find_program("systemctl").is_some()
        && Command::new(&["systemctl", "--user", "show-environment"]).run().is_ok()
}
