//! Every unit is read by a checker of its own format; where a machine has none, that is said.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::schedule::find_program;
use std::process::Command;

/// A home folder and a program with everything that needs quoting.
const PROGRAM: &str = "/home/ro bin's 50%/$bin/lifecycle";

fn unit(cron: &str) -> Unit {
    Unit {
        program: PROGRAM.into(),
        expression: Expression::parse(cron).unwrap(),
        environment: vec![("LIFECYCLE_HOME".into(), "/home/ro bin's 50%/<data> & $x".into())],
        log: "/home/ro bin's 50%/log/schedule.log".into(),
        folder: "/home/ro bin's 50%".into(),
    }
}

#[test]
fn the_plist_is_one() {
    let text = unit("0 9,18 * * 1-5").plist();
    let value = plist::Value::from_reader_xml(text.as_bytes()).unwrap();
    let root = value.as_dictionary().unwrap();
    let arguments = root["ProgramArguments"].as_array().unwrap();
    assert_eq!(arguments[0].as_string(), Some(PROGRAM));
    assert_eq!(root["StartCalendarInterval"].as_array().unwrap().len(), 10);
    let variables = root["EnvironmentVariables"].as_dictionary().unwrap();
    assert_eq!(variables["LIFECYCLE_HOME"].as_string(), Some("/home/ro bin's 50%/<data> & $x"));
    assert_eq!(root["Label"].as_string(), Some("lifecycle.tick"));
}

#[test]
fn systemd_accepts_service_and_timer() {
    if find_program("systemd-analyze").is_none() {
        println!("skipped: no systemd-analyze on this machine");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("ro bin's 50%").join("lifecycle");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    for cron in ["30 3 * * *", "*/15 8-18 1,15 * 1-5", "0 9 * 1-6 SUN"] {
        let mut unit = unit(cron);
        unit.program = program.display().to_string();
        let service = folder.path().join("lifecycle.service");
        let timer = folder.path().join("lifecycle.timer");
        std::fs::write(&service, unit.service()).unwrap();
        std::fs::write(&timer, unit.timer()).unwrap();
        let output = Command::new("systemd-analyze")
            .args(["--user", "--man=no", "--recursive-errors=no", "verify"])
            .args([&service, &timer])
            .env("XDG_RUNTIME_DIR", folder.path())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        let ours: Vec<&str> = words.lines().filter(|line| line.contains("lifecycle")).collect();
        assert!(output.status.success() && ours.is_empty(), "{cron}: {words}");
        for when in calendar::on_calendar(&unit.expression) {
            let checked =
                Command::new("systemd-analyze").arg("calendar").arg(&when).output().unwrap();
            assert!(checked.status.success(), "{when}");
        }
    }
}

/// Two checkers: `crontab -T` of cronie and newer Debians, `crontab -n` of older ones.
#[test]
fn cron_accepts_our_part() {
    let part = unit("30 3 * * *").cron();
    let lines: Vec<&str> = part.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.iter().all(|line| !line.replace("\\%", "").contains('%')), "{part}");
    let Some(crontab) = find_program("crontab") else {
        println!("skipped: no crontab on this machine");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("table");
    std::fs::write(&file, &part).unwrap();
    let usage = Command::new(&crontab).arg("--help").output().unwrap();
    let usage = String::from_utf8_lossy(&usage.stderr).into_owned();
    let Some(flag) = ["-T", "-n"].into_iter().find(|flag| usage.contains(flag)) else {
        println!("skipped: this crontab has no check of its own");
        return;
    };
    let output = Command::new(&crontab).arg(flag).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_shell_reads_the_line_of_cron_as_meant() {
    let part = unit("30 3 * * *").cron();
    let line = part.lines().find(|line| line.starts_with("@reboot ")).unwrap();
    // What cron hands to sh, with the program replaced by one that prints its arguments.
    let command = line.trim_start_matches("@reboot ").replace("\\%", "%");
    let command = command.split(" >>").next().unwrap();
    let quoted = shell_word(PROGRAM);
    let shown = command.replace(&quoted, &format!("printf '%s|' \"$LIFECYCLE_HOME\" {quoted}"));
    let script = format!(
        "{}; {}",
        shown.split(" printf").next().unwrap(),
        shown.split_once(" printf").map(|(_, rest)| format!("printf{rest}")).unwrap()
    );
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!(
            "/home/ro bin's 50%/<data> & $x|{PROGRAM}|run|--if-due|--trigger|schedule|--quiet|"
        )
    );
}
