//! Large transcripts do not slow the exit or fill memory.
//!
//! The file here has 40 MB and one line of 12 MB, so that the test stays quick; nothing in the
//! reader depends on the size.

use crate::capture::{end_of, hook, says, texts, tick};
use crate::support::Home;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

#[test]
fn a_large_transcript_neither_slows_the_exit_nor_fills_memory() {
    let home = Home::new();
    let file = home.path().join("large.jsonl");
    write(&home, &file);
    let before = Instant::now();
    hook(&home, &end_of(&file, &home.project()));
    assert!(before.elapsed().as_millis() < 2000, "{:?}", before.elapsed());
    let peak = peak_of_tick(&home);
    assert!(peak.is_none_or(|kilobytes| kilobytes < 200_000), "{peak:?} kB");
    let both = [
        "ballast logs are kept for seven years",
        "the anchorage chart is owned by the hydrographer",
    ];
    assert_eq!(texts(&home), both);
    let mut opened = File::options().append(true).open(&file).unwrap();
    opened.write_all(says(&home, 9, "Remember: a kilobyte more").as_bytes()).unwrap();
    hook(&home, &end_of(&file, &home.project()));
    let read = read_by_tick(&home);
    let size = file.metadata().unwrap().len();
    assert!(read.is_none_or(|bytes| bytes < size / 2), "only the new part is read: {read:?}");
    assert_eq!(texts(&home)[0], "a kilobyte more");
}

fn write(home: &Home, path: &std::path::Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let result = |text: &str| {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}]}}}}"#
        )
    };
    write!(file, "{}", says(home, 1, "Remember: ballast logs are kept for seven years")).unwrap();
    writeln!(file, "{}", result(&"A".repeat(12_000_000))).unwrap();
    let line = result(&"0123456789abcdef".repeat(6250));
    (0..280).for_each(|_| writeln!(file, "{line}").unwrap());
    write!(file, "{}", says(home, 2, "Remember: the anchorage chart is owned by the hydrographer"))
        .unwrap();
}

/// Bytes that the tick reads, where the system counts them (Linux): the shell's account has those of
/// the processes that it waited for.
fn read_by_tick(home: &Home) -> Option<u64> {
    if !cfg!(target_os = "linux") {
        tick(home);
        return None;
    }
    let inner = home.command(&["run", "--phase", "buffer"]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "\"$0\" \"$@\" > /dev/null && cat /proc/$$/io"]);
    command.arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().find_map(|line| line.strip_prefix("rchar:")?.trim().parse().ok())
}

/// Peak memory of the tick in kilobytes, where GNU time can tell.
fn peak_of_tick(home: &Home) -> Option<u64> {
    let time = std::path::Path::new("/usr/bin/time");
    if !time.exists() {
        tick(home);
        return None;
    }
    let mut command = std::process::Command::new(time);
    let inner = home.command(&["run", "--phase", "buffer"]);
    command.args(["-f", "%M"]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stderr).trim().lines().last()?.parse().ok()
}
