#!/usr/bin/env python3
"""Latency of `lifecycle hook`, one at a time and 50 at once, whatever is broken behind it.

    cargo build --release && python3 benches/hooks/run.py target/release/lifecycle [ROUNDS]

Each line is one condition: p50 and p99 of the wall time from spawn to exit, and processor time a
call. As scale, measured in the same rounds: two Python interpreters that do nothing, one after the
other (the least that a hook written in Python costs: its shim and its program), and seven of them
(the processes that the Python original starts for one write). Everything is interleaved, so that
what else the machine does falls on all alike. Needs no package. The condition "full disk" needs the
right to mount a tmpfs and is left out without it.
"""

import json, os, random, shutil, sqlite3, subprocess, sys, tempfile, time

PROGRAM = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
NULL = os.open("/dev/null", os.O_RDWR)


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
    while running:
        pid, status, usage = os.wait4(-1, 0)
        if pid in running:
            wall.append(time.perf_counter() - running.pop(pid))
            cpu.append(usage.ru_utime + usage.ru_stime)
            assert os.waitstatus_to_exitcode(status) == 0, case
    return wall, cpu


def chain(case, count, length):
    """As `together`, each being `length` processes one after the other."""
    wall, cpu = [], []
    left = {}
    for _ in range(count):
        pid, started = spawn(*case)
        left[pid] = [started, 1, 0.0]
    while left:
        pid, _, usage = os.wait4(-1, 0)
        if pid not in left:
            continue
        started, done, used = left.pop(pid)
        used += usage.ru_utime + usage.ru_stime
        if done == length:
            wall.append(time.perf_counter() - started)
            cpu.append(used)
        else:
            again, _ = spawn(*case)
            left[again] = [started, done + 1, used]
    return wall, cpu


def at(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] * 1000


class Place:
    """A home with a store and events."""

    def __init__(self, root, name):
        self.root = os.path.join(root, name)
        self.home = os.path.join(self.root, "home")
        self.project = os.path.join(self.root, "p")
        os.makedirs(self.home)
        os.makedirs(os.path.join(self.project, ".git"))
        with open(os.path.join(self.project, ".git", "HEAD"), "w") as file:
            file.write("ref: refs/heads/fix/berth-importer\n")
        self.env = {"HOME": self.home, "PATH": "/usr/bin:/bin"}
        self.data = os.path.join(self.home, ".local/share/lifecycle")

    def fill(self, notes=300):
        path = os.path.join(self.root, "notes.jsonl")
        with open(path, "w") as file:
            for n in range(notes):
                text = f"Berth {n} of the importer takes ships of {n + 20} metres on tide {n % 7}"
                file.write(json.dumps({"text": text, "project": self.project}) + "\n")
        subprocess.run([PROGRAM, "add", "--file", path], env=self.env, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([PROGRAM, "run", "--phase", "buffer"], env=self.env, check=True,
                       stdout=subprocess.DEVNULL)
        return self

    def event(self, name):
        path = os.path.join(self.root, f"{name}.json")
        with open(path, "w") as file:
            json.dump({"hook_event_name": name, "session_id": "s", "cwd": self.project,
                       "transcript_path": os.path.join(self.root, "t.jsonl"), "source": "startup",
                       "reason": "other", "last_assistant_message": "The root cause was a lock."}, file)
        return path

    def case(self, event, env=None):
        return [PROGRAM, "hook", "claude-code"], env or self.env, self.event(event)


def full_disk(root):
    """A place on a full file system, or None."""
    mount = os.path.join(root, "full")
    os.makedirs(mount)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount],
                          capture_output=True)
    if done.returncode:
        return None, None
    place = Place(mount, "x")
    event = place.event("Stop")
    try:
        with open(os.path.join(mount, "filler"), "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
    except OSError:
        pass
    return ([PROGRAM, "hook", "claude-code"], place.env, event), mount


def main():
    root = tempfile.mkdtemp()
    usual = Place(root, "usual").fill()
    locked = Place(root, "locked").fill(3)
    newer = Place(root, "newer").fill(3)
    empty = Place(root, "empty")
    lock = sqlite3.connect(os.path.join(locked.data, "lifecycle.sqlite3"), isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    version = sqlite3.connect(os.path.join(newer.data, "lifecycle.sqlite3"))
    version.execute("PRAGMA user_version = 999")
    version.close()
    cases = {
        "Stop": usual.case("Stop"),
        "SessionEnd, no tick due": usual.case("SessionEnd"),
        "SessionStart with a briefing": usual.case("SessionStart"),
        "UserPromptSubmit, off": usual.case("UserPromptSubmit"),
        "Stop, store locked": locked.case("Stop"),
        "SessionStart, store locked": locked.case("SessionStart"),
        "SessionStart, newer store": newer.case("SessionStart"),
        "Stop, no store yet": empty.case("Stop"),
        "Stop, home missing": empty.case("Stop", {"HOME": "/proc/nowhere", "PATH": "/usr/bin:/bin"}),
    }
    full, mount = full_disk(root)
    if full:
        cases["Stop, disk full"] = full
    python = ([os.path.realpath(sys.executable), "-c", "pass"], {"PATH": "/usr/bin:/bin"}, usual.event("Stop"))
    results = {}
    for count, rounds in ((1, ROUNDS * 10), (50, ROUNDS)):
        order = list(cases) + ["two Pythons", "seven Pythons"]
        gathered = {name: ([], []) for name in order}
        for _ in range(rounds):
            random.shuffle(order)
            for name in order:
                if name.endswith("Pythons"):
                    wall, cpu = chain(python, count, 2 if name.startswith("two") else 7)
                else:
                    wall, cpu = together(cases[name], count)
                gathered[name][0].extend(wall)
                gathered[name][1].extend(cpu)
        results[count] = gathered
        for place in (usual, locked, newer, empty):
            shutil.rmtree(os.path.join(place.data, "inbox"), ignore_errors=True)
    lock.execute("ROLLBACK")
    print(f"{'':32}{'1 at a time':>34}{'50 at once':>34}")
    print(f"{'':32}" + f"{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>8}{'p50 x':>8}" * 2)
    for name in list(cases) + ["two Pythons", "seven Pythons"]:
        line = f"{name:32}"
        for count in (1, 50):
            wall, cpu = results[count][name]
            scale = at(results[count]["two Pythons"][0], 0.5)
            line += f"{at(wall, .5):9.1f}{at(wall, .99):9.1f}{sum(cpu) / len(cpu) * 1000:8.1f}{at(wall, .5) / scale:8.2f}"
        print(line)
    print(f"p50 x: share of two Pythons; {ROUNDS * 10} calls one at a time, {ROUNDS * 50} of 50 at once;"
          f" load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if not full:
        print("left out: disk full (no right to mount a tmpfs)")
    if mount:
        subprocess.run(["umount", mount], check=False)
    shutil.rmtree(root, ignore_errors=True)


main()
