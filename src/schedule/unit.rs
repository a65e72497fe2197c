//! The files of each scheduler, from the templates in `config/schedule/`.

use super::program::{systemd_word, xml};
use super::{Backend, Expression, calendar, crontab, shell_word};
use crate::paths::Paths;
use std::path::{Path, PathBuf};

const SERVICE: &str = include_str!("../../config/schedule/lifecycle.service");
const TIMER: &str = include_str!("../../config/schedule/lifecycle.timer");
const PLIST: &str = include_str!("../../config/schedule/lifecycle.plist");
const CRON: &str = include_str!("../../config/schedule/lifecycle.cron");

/// Variables that say where the engine and the assistants keep their files. A job inherits none of
/// them, so those that are set when the schedule is installed are written into it.
const VARIABLES: &[&str] = &[
    "LIFECYCLE_HOME",
    "LIFECYCLE_CONFIG",
    "LIFECYCLE_MODELS",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
];

/// What a unit is made from.
pub struct Unit {
    /// Absolute path of the program.
    pub program: String,
    /// When.
    pub expression: Expression,
    /// Variables the job needs, sorted.
    pub environment: Vec<(String, String)>,
    /// Absolute path of the file that takes what the job prints (launchd and cron).
    pub log: String,
    /// The folder of the store, by which its part of the crontab is known.
    pub folder: String,
}

impl Unit {
    /// The unit for this program and this user.
    pub fn new(program: String, expression: Expression, paths: &Paths) -> Self {
        let environment = VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_string(), std::env::var(name).ok()?)))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let log = paths.log().join(crate::log::OF_THE_JOB).display().to_string();
        let folder = paths.data.display().to_string();
        Self { program, expression, environment, log, folder }
    }

    /// The files of a scheduler below `home`, with their contents. Crontab has none.
    pub fn files(&self, by: Backend, home: &Path) -> Vec<(PathBuf, String)> {
        match by {
            Backend::Systemd => {
                let folder = systemd_folder(home);
                vec![
                    (folder.join("lifecycle.service"), self.service()),
                    (folder.join("lifecycle.timer"), self.timer()),
                ]
            }
            Backend::Launchd => vec![(plist_path(home), self.plist())],
            Backend::Cron => Vec::new(),
        }
    }

    fn service(&self) -> String {
        let lines: Vec<String> = self
            .environment
            .iter()
            .map(|(name, value)| {
                format!(
                    "Environment={}",
                    systemd_word(&format!("{name}={value}")).replace("$$", "$")
                )
            })
            .collect();
        SERVICE
            .replace("{{program}}", &executable(&self.program))
            .replace("{{environment}}\n", &lines_of(&lines))
    }

    fn timer(&self) -> String {
        let lines: Vec<String> = calendar::on_calendar(&self.expression)
            .iter()
            .map(|when| format!("OnCalendar={when}"))
            .collect();
        TIMER.replace("{{calendar}}\n", &lines_of(&lines))
    }

    fn plist(&self) -> String {
        let dictionaries: Vec<String> = calendar::intervals(&self.expression)
            .iter()
            .map(|pairs| {
                let inner: String = pairs
                    .iter()
                    .map(|(key, value)| format!("<key>{key}</key><integer>{value}</integer>"))
                    .collect();
                format!("    <dict>{inner}</dict>")
            })
            .collect();
        let variables: Vec<String> = self
            .environment
            .iter()
            .map(|(name, value)| {
                format!("    <key>{name}</key>\n    <string>{}</string>", xml(value))
            })
            .collect();
        PLIST
            .replace("{{program}}", &xml(&self.program))
            .replace("{{calendar}}\n", &lines_of(&dictionaries))
            .replace("{{environment}}\n", &lines_of(&variables))
            .replace("{{log}}", &xml(&self.log))
    }

    /// Our part of the crontab.
    pub fn cron(&self) -> String {
        let variables: String = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={} ", shell_word(value)))
            .collect();
        let command = format!(
            "{variables}{} run --if-due --trigger schedule --quiet >>{} 2>&1",
            shell_word(&self.program),
            shell_word(&self.log)
        );
        CRON.replace("{{begin}}", &crontab::begin(&self.folder))
            .replace("{{expression}}", &self.expression.crontab())
            .replace("{{minute}}", &catch_up_minute(&self.program).to_string())
            // A bare per cent sign is a line feed in crontab.
            .replace("{{command}}", &command.replace('%', "\\%"))
    }
}

/// The program as `ExecStart=` takes it: systemd refuses a program whose path holds quotes or
/// backslashes, but not an argument that does.
fn executable(program: &str) -> String {
    let by = if program.contains(['\'', '"', '\\']) { "/usr/bin/env " } else { "" };
    format!("{by}{}", systemd_word(program))
}

/// The file of the launchd agent.
pub fn plist_path(home: &Path) -> PathBuf {
    home.join("Library/LaunchAgents/lifecycle.tick.plist")
}

fn systemd_folder(home: &Path) -> PathBuf {
    std::env::var_os("XDG_CONFIG_HOME")
        .filter(|value| !value.is_empty())
        .map_or_else(|| home.join(".config"), PathBuf::from)
        .join("systemd/user")
}

/// The minute at which cron looks for a missed time: other for each place of the program, so that
/// a shared machine does not start all at once.
fn catch_up_minute(program: &str) -> u32 {
    program.bytes().map(u32::from).sum::<u32>() % 60
}

fn lines_of(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests;
