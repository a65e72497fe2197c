#!/usr/bin/env python3
"""Latency of `lifecycle hook`, one at a time and 50 at once, whatever is broken behind it.

    cargo build --release && python3 benches/hooks/run.py target/release/lifecycle
    ... [--seconds 120] [--against "PROGRAM ARGUMENT ..."] [--out benches/runs/hooks.jsonl]

Each line is one condition: p50 and p99 of the wall time from spawn to exit, and processor time a
call. All conditions take turns in random order, so that what else the machine does falls on all
alike, and turns are taken until the time given is used up (a third of it one at a time, two thirds
50 at once); the number of calls stands in the output. As scale, in the same turns:

* `/bin/true`: what it costs to start a program at all;
* a stand-in for a hook in Python, which is not the original (that is in no package index under a
  name known here; `--against` takes any program that reads the event from its standard input): a
  shim that reads the event and starts a program that writes one row into an SQLite database, in two
  processes, and in seven, the number that the original starts for one write. It imports json, sqlite3,
  argparse, hashlib, logging and subprocess and does nothing else, so it is the lower bound of such a
  hook, not its cost.

Writes only below a temporary folder and to --out. Needs no package. The condition "disk full" needs
the right to mount a tmpfs and is left out without it. Ends with 1 where a hook failed, said
something it must not, or hung, or where the median one at a time passes 50 ms (200 ms with a
briefing).
"""

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

NULL = os.open("/dev/null", os.O_RDWR)
HUNG = 60
LIMIT_MS = 50
BRIEFING_MS = 200

STANDIN = """
import argparse, hashlib, json, logging, sqlite3, subprocess, sys
left, database = int(sys.argv[1]), sys.argv[2]
event = sys.stdin.read()
if left > 1:
    sys.exit(subprocess.run([sys.executable, __file__, str(left - 1), database],
                            input=event, text=True).returncode)
row = json.loads(event)
with sqlite3.connect(database, timeout=30) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS event (hash TEXT, name TEXT, event TEXT)")
    connection.execute("INSERT INTO event VALUES (?, ?, ?)", (
        hashlib.sha256(event.encode()).hexdigest(), row["hook_event_name"], event))
"""


class Place:
    """A home with a store and events."""

    def __init__(self, program, root, name):
        self.program = program
        self.root = os.path.join(root, name)
        self.home = os.path.join(self.root, "home")
        self.project = os.path.join(self.root, "p")
        os.makedirs(self.home)
        os.makedirs(os.path.join(self.project, ".git"))
        with open(os.path.join(self.project, ".git", "HEAD"), "w") as file:
            file.write("ref: refs/heads/fix/berth-importer\n")
        self.env = {"HOME": self.home, "PATH": "/usr/bin:/bin"}
        self.data = os.path.join(self.home, ".local/share/lifecycle")

    def fill(self, notes):
        path = os.path.join(self.root, "notes.jsonl")
        things = "berth tide crane pilot quay buoy ledger sluice dredger beacon anchor mast".split()
        with open(path, "w") as file:
            for n in range(notes):
                thing, other = things[n % 12], things[n * 7 % 11]
                text = (f"The {thing} importer of basin {n} takes ships of {n % 300 + 20} metres on"
                        f" tide {n % 7}, because the {other} of quay {n % 41} is closed then")
                file.write(json.dumps({"text": text, "project": self.project}) + "\n")
        for args in (["add", "--file", path], ["run", "--phase", "buffer"]):
            subprocess.run([self.program, *args], env=self.env, check=True,
                           stdout=subprocess.DEVNULL)
        return self

    def event(self, name):
        path = os.path.join(self.root, f"{name}.json")
        if not os.path.exists(path):
            with open(path, "w") as file:
                json.dump({"hook_event_name": name, "session_id": "s", "cwd": self.project,
                           "transcript_path": os.path.join(self.root, "t.jsonl"),
                           "source": "startup", "reason": "other",
                           "prompt": "why does the berth importer of basin 480 drop rows",
                           "last_assistant_message": "The root cause was a lock."}, file)
        return path

    def case(self, event, env=None):
        return [self.program, "hook", "claude-code"], env or self.env, self.event(event)


def spawn(argv, env, event):
    stdin = os.open(event, os.O_RDONLY)
    actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, NULL, 1),
               (os.POSIX_SPAWN_DUP2, NULL, 2)]
    started = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
    os.close(stdin)
    return pid, started


def together(case, count):
    """Wall times and processor times of `count` processes started at once."""
    running = dict(spawn(*case) for _ in range(count))
    wall, cpu = [], []
    signal.alarm(HUNG)
    while running:
        pid, status, usage = os.wait4(-1, 0)
        if pid in running:
            wall.append(time.perf_counter() - running.pop(pid))
            cpu.append(usage.ru_utime + usage.ru_stime)
            code = os.waitstatus_to_exitcode(status)
            if code:
                sys.exit(f"{case[0]} ended with {code}")
    signal.alarm(0)
    return wall, cpu


def at(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] * 1000


def full_disk(program, root):
    """A hook on a full file system, and where that is mounted; or nothing."""
    mount = os.path.join(root, "full")
    os.makedirs(mount)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount],
                          capture_output=True)
    if done.returncode:
        return None, None
    place = Place(program, mount, "x")
    case = place.case("Stop")
    try:
        with open(os.path.join(mount, "filler"), "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
    except OSError:
        pass
    return case, mount


def speaks(case):
    argv, env, event = case
    with open(event) as file:
        done = subprocess.run(argv, env=env, stdin=file, capture_output=True, text=True)
    return done.stdout


def conditions(program, root):
    usual = Place(program, root, "usual").fill(5000)
    locked = Place(program, root, "locked").fill(3)
    newer = Place(program, root, "newer").fill(3)
    empty = Place(program, root, "empty")
    lock = sqlite3.connect(os.path.join(locked.data, "lifecycle.sqlite3"), isolation_level=None)
    # Readers are shut out as well, which a write transaction alone would not do.
    lock.execute("PRAGMA locking_mode = EXCLUSIVE")
    lock.execute("BEGIN EXCLUSIVE")
    lock.execute("UPDATE meta SET value = value")
    version = sqlite3.connect(os.path.join(newer.data, "lifecycle.sqlite3"))
    version.execute("PRAGMA user_version = 999")
    version.close()
    prompted = dict(usual.env, LIFECYCLE_BRIEF__ON_PROMPT="true")
    missing = {"HOME": "/proc/nowhere", "PATH": "/usr/bin:/bin"}
    cases = {
        "Stop": usual.case("Stop"),
        "SessionEnd, no tick due": usual.case("SessionEnd"),
        "SessionStart, briefing of 5,000": usual.case("SessionStart"),
        "UserPromptSubmit, off": usual.case("UserPromptSubmit"),
        "UserPromptSubmit, on, 5,000": usual.case("UserPromptSubmit", prompted),
        "lifecycle brief, 5,000": ([program, "brief", "--project", usual.project], usual.env,
                                  usual.event("Stop")),
        "Stop, store locked": locked.case("Stop"),
        "SessionStart, store locked": locked.case("SessionStart"),
        "SessionStart, newer store": newer.case("SessionStart"),
        "Stop, no store yet": empty.case("Stop"),
        "Stop, home missing": empty.case("Stop", missing),
    }
    full, mount = full_disk(program, root)
    if full:
        cases["Stop, disk full"] = full
    for name, case in cases.items():
        said = speaks(case)
        if bool(said) != name.endswith("5,000"):
            sys.exit(f"{name}: said {said[:80]!r}")
    scale = {"/bin/true": (["/bin/true"], {}, usual.event("Stop"))}
    standin = os.path.join(root, "standin.py")
    with open(standin, "w") as file:
        file.write(STANDIN)
    python = os.path.realpath(sys.executable)
    for count in (2, 7):
        argv = [python, standin, str(count), os.path.join(root, "standin.sqlite3")]
        scale[f"stand-in, {count} Pythons"] = (argv, {"PATH": "/usr/bin:/bin"}, usual.event("Stop"))
    return cases, scale, lock, mount, usual


def turns(cases, scale, usual, count, seconds):
    """Takes turns until the time is used up; one of the scale's in each turn of all conditions."""
    order = list(cases)
    gathered = {name: ([], []) for name in [*cases, *scale]}
    until = time.monotonic() + seconds
    turn = 0
    while time.monotonic() < until or turn < 3:
        random.shuffle(order)
        names = list(scale)
        for name in [*order, names[turn % len(names)]]:
            # No session has been told anything yet.
            shutil.rmtree(os.path.join(usual.data, "brief"), ignore_errors=True)
            for _ in range(max(1, 10 // count) if name in cases else 1):
                wall, cpu = together(cases.get(name) or scale[name], count)
                gathered[name][0].extend(wall)
                gathered[name][1].extend(cpu)
        shutil.rmtree(os.path.join(usual.data, "inbox"), ignore_errors=True)
        turn += 1
    return gathered


def commit(program):
    done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True,
                          cwd=os.path.dirname(program))
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--against", default="")
    parser.add_argument("--out", default="")
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    load = os.getloadavg()[0]
    root = tempfile.mkdtemp()
    mount = None
    try:
        cases, scale, lock, mount, usual = conditions(program, root)
        if args.against:
            argv = shlex.split(args.against)
            argv[0] = shutil.which(argv[0]) or argv[0]
            scale["against"] = (argv, dict(os.environ), next(iter(cases.values()))[2])
        results = {count: turns(cases, scale, usual, count, args.seconds * share)
                   for count, share in ((1, 1 / 3), (50, 2 / 3))}
        lock.close()
    finally:
        if mount:
            subprocess.run(["umount", mount], check=False)
        shutil.rmtree(root, ignore_errors=True)
    rows = {}
    print(f"{'':32}" + "".join(f"{head:>33}" for head in ("1 at a time", "50 at once")))
    print(f"{'':32}" + f"{'calls':>9}{'p50 ms':>8}{'p99 ms':>8}{'CPU ms':>8}" * 2)
    for name in [*cases, *scale]:
        row = {}
        for count in (1, 50):
            wall, cpu = results[count][name]
            row[count] = {"calls": len(wall), "p50_ms": round(at(wall, 0.5), 2),
                          "p99_ms": round(at(wall, 0.99), 2),
                          "cpu_ms": round(sum(cpu) / len(cpu) * 1000, 2)}
        rows[name] = row
        cells = (f"{r['calls']:9}{r['p50_ms']:8.1f}{r['p99_ms']:8.1f}{r['cpu_ms']:8.1f}"
                 for r in row.values())
        print(f"{name:32}" + "".join(cells))
    after = os.getloadavg()[0]
    print(f"load {load:.1f} before, {after:.1f} after, on {os.cpu_count()} cores")
    if not mount:
        print("left out: disk full (no right to mount a tmpfs)")
    if args.out:
        with open(args.out, "a") as file:
            line = {"commit": commit(program), "cores": os.cpu_count(), "load": load, "load_after": after,
                    "priority": os.sched_getscheduler(0) or os.nice(0), "rows": rows}
            file.write(json.dumps(line) + "\n")
    limit = {name: BRIEFING_MS if name.endswith("5,000") else LIMIT_MS for name in cases}
    slow = [name for name in cases if rows[name][1]["p50_ms"] > limit[name]]
    if slow:
        sys.exit(f"above the limit one at a time: {', '.join(slow)}")


main()
