#!/usr/bin/env python3
"""How long commands take that do next to nothing, on a store with some thousand entries.

    cargo build --release && python3 benches/startup/run.py [NOTES]

Each command is started many times, in turn with the others, so that a busy machine slows all of
them alike; beside the milliseconds stand ratios to `/bin/true` and `git --version`, taken in the
same run, and the processor time, which other jobs change least. Prints a table and appends one JSON
line to benches/runs/startup.jsonl. Writes only below a temporary folder and that file. Ends with 1
where a limit is passed: by the clock where the machine is idle, by processor time where it is not.
"""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LIFECYCLE_PROGRAM", str(ROOT / "target/release/lifecycle"))
ROUNDS = 60
AT_ONCE = 50
EVENT = b'{"session_id":"s","transcript_path":"/none.jsonl","cwd":"/","hook_event_name":"Stop"}'
# What the commands may take (median, milliseconds).
LIMITS = {"--help": 20, "--version": 20, "status": 20, "hook": 50, "50 hooks at once, each": 50}


def fill(environment, count):
    words = "berth tide crane pilot quay buoy ledger sluice dredger beacon anchor mast".split()
    notes = pathlib.Path(environment["HOME"]) / "notes.jsonl"
    with notes.open("w") as out:
        for n in range(count):
            text = f"note {n}: the {words[n % 12]} of basin {n % 37} follows the {words[n * 7 % 12]}"
            out.write(json.dumps({"text": text}) + "\n")
    call = [PROGRAM, "add", "--file", str(notes), "--quiet"]
    subprocess.run(call, env=environment, check=True, stdout=subprocess.DEVNULL)


def once(call, environment, stdin=b""):
    """Milliseconds by the clock and of the processor."""
    start = time.perf_counter()
    child = subprocess.Popen(
        call, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    child.stdin.write(stdin)
    child.stdin.close()
    _, status, used = os.wait4(child.pid, 0)
    taken = (time.perf_counter() - start) * 1000
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{call} ended with {child.returncode}")
    return taken, (used.ru_utime + used.ru_stime) * 1000


def together(environment):
    call = [PROGRAM, "hook", "claude-code"]
    running = []
    for _ in range(AT_ONCE):
        child = subprocess.Popen(call, env=environment, stdin=subprocess.PIPE)
        running.append((time.perf_counter(), child))
        child.stdin.write(EVENT)
        child.stdin.close()
    starts = {child.pid: start for start, child in running}
    taken = []
    while starts:
        pid, _, used = os.wait4(-1, 0)
        by_clock = (time.perf_counter() - starts.pop(pid)) * 1000
        taken.append((by_clock, (used.ru_utime + used.ru_stime) * 1000))
    return taken


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    commands = {
        "/bin/true": ["/bin/true"],
        "git --version": ["git", "--version"],
        "--help": [PROGRAM, "--help"],
        "--version": [PROGRAM, "--version"],
        "status": [PROGRAM, "status"],
        "config show": [PROGRAM, "config", "show"],
        "history": [PROGRAM, "history"],
        "hook": [PROGRAM, "hook", "claude-code"],
    }
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": os.environ["PATH"]}
        fill(environment, count)
        taken = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, call in commands.items():
                taken[name].append(once(call, environment, EVENT if name == "hook" else b""))
        taken["50 hooks at once, each"] = together(environment)
    clock = lambda name: statistics.median(by_clock for by_clock, _ in taken[name])
    true, git = clock("/bin/true"), clock("git --version")
    rows = {}
    load = os.getloadavg()[0]
    print(f"{count} entries, {ROUNDS} rounds, load {load:.1f}, {os.cpu_count()} cores")
    print(f"{'':26}{'median ms':>10}{'p95 ms':>9}{'x true':>8}{'x git':>8}{'cpu ms':>9}")
    for name, pairs in taken.items():
        times = sorted(by_clock for by_clock, _ in pairs)
        median, p95 = statistics.median(times), times[int(len(times) * 0.95) - 1]
        cpu = statistics.median(used for _, used in pairs)
        rows[name] = {key: round(value, 2) for key, value in
                      (("median_ms", median), ("p95_ms", p95), ("cpu_ms", cpu))}
        print(f"{name:26}{median:10.1f}{p95:9.1f}{median / true:8.1f}{median / git:8.1f}{cpu:9.1f}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    line = {
        "commit": commit, "entries": count, "rounds": ROUNDS, "load": round(load, 1),
        "cores": os.cpu_count(), "machine": platform.machine(), "rows": rows,
    }
    with (ROOT / "benches/runs/startup.jsonl").open("a") as out:
        out.write(json.dumps(line) + "\n")
    by = "median_ms" if load < os.cpu_count() / 2 else "cpu_ms"
    over = [name for name, limit in LIMITS.items() if rows[name][by] > limit]
    print("over the limit: " + ", ".join(over) if over else "all within their limits by " + by)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
