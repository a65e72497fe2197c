//! Installed hook commands and timer units work with a home folder that needs quoting.

use crate::support::{Home, Outcome};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A home and a copy of the program below "Mein Ordner – 日本語 'x' 🚢".
struct Odd {
    home: Home,
    folder: PathBuf,
    program: PathBuf,
}

impl Odd {
    fn new() -> Self {
        let home = Home::new();
        let folder = home.path().join("Mein Ordner – 日本語 'x' 50% 🚢");
        let bin = folder.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::create_dir_all(folder.join(".claude")).unwrap();
        std::fs::create_dir_all(folder.join(".codex")).unwrap();
        let program = bin.join("lifecycle");
        std::fs::hard_link(env!("CARGO_BIN_EXE_lifecycle"), &program)
            .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_lifecycle"), &program).map(drop))
            .unwrap();
        Self { home, folder, program }
    }

    fn run(&self, args: &[&str]) -> Outcome {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .env_clear()
            .env("HOME", &self.folder)
            .env("PATH", self.home.path().join("tools"))
            .stdin(Stdio::null())
            .current_dir("/");
        Outcome::from(command.output().unwrap())
    }
}

#[test]
fn hook_commands_name_the_program_unharmed() {
    let odd = Odd::new();
    odd.run(&["install-hooks"]).success();
    let text = std::fs::read_to_string(odd.folder.join(".claude/settings.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let handler = &value["hooks"]["SessionEnd"][0]["hooks"][0];
    assert_eq!(handler["command"], odd.program.to_str().unwrap());
    // Codex has a shell read its command.
    let text = std::fs::read_to_string(odd.folder.join(".codex/hooks.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let line = value["hooks"]["SessionEnd"][0]["hooks"][0]["command"].as_str().unwrap();
    let words = Command::new("sh").arg("-c").arg(format!("printf '%s|' {line}")).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&words.stdout),
        format!("{}|hook|codex|", odd.program.display())
    );
}

/// The line in the crontab is one that a shell runs from `/` in an empty environment.
#[test]
fn the_scheduled_command_runs() {
    let odd = Odd::new();
    let tools = odd.home.path().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let table = odd.home.path().join("table");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in -l) [ -f '{0}' ] && exec /bin/cat '{0}' || exit 1;; -r) exec /bin/rm '{0}';; -) exec /bin/cat >'{0}';; esac\n",
        table.display()
    );
    std::fs::write(tools.join("crontab"), script).unwrap();
    std::fs::set_permissions(tools.join("crontab"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    std::fs::write(&table, "MAILTO=me\n").unwrap();

    odd.run(&["schedule", "install", "--by", "cron"]).success();
    let text = std::fs::read_to_string(&table).unwrap();
    assert!(text.starts_with("MAILTO=me\n# lifecycle:begin"), "{text}");
    let line = text.lines().find(|line| line.starts_with("@reboot ")).unwrap();
    let command = line.trim_start_matches("@reboot ").replace("\\%", "%");
    let outcome = Outcome::from(
        Command::new("/bin/sh")
            .arg("-c")
            .arg(&command)
            .env_clear()
            .env("HOME", &odd.folder)
            .env("PATH", "/usr/bin:/bin")
            .current_dir("/")
            .output()
            .unwrap(),
    );
    let log = odd.folder.join(".local/share/lifecycle/log/schedule.log");
    let said = std::fs::read_to_string(log).unwrap();
    assert_eq!(outcome.code, 0, "{said}");
    assert!(odd.folder.join(".local/share/lifecycle/lifecycle.sqlite3").exists(), "{said}");

    odd.run(&["schedule", "remove"]).success();
    assert_eq!(std::fs::read_to_string(&table).unwrap(), "MAILTO=me\n");
}
