#!/usr/bin/env python3
"""Times `lifecycle search` end to end, from the start of the process to its end, on 2,000 notes.

usage: search.py PROGRAM MODELS_FOLDER [--rounds N] [--out FILE]

In turn with the server of the model running and without it. The store is made in a temporary folder.
"""
import argparse, json, os, resource, socket, subprocess, tempfile, time, urllib.request

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("program")
a.add_argument("models")
a.add_argument("--rounds", type=int, default=40)
a.add_argument("--out")
A = a.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
rows = [json.loads(line)["text"] for line in open(os.path.join(here, "texts.jsonl"), encoding="utf-8")]
QUESTIONS = ["which port does the server use", "how are migrations run", "wrong column in error messages",
             "tests that fail on windows", "why was the cache removed", "support for unicode in paths"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


with tempfile.TemporaryDirectory() as home:
    port = free_port()
    environment = {"HOME": home, "PATH": "/usr/bin:/bin", "LIFECYCLE_HOME": os.path.join(home, "store"), "LIFECYCLE_MODELS": os.path.abspath(A.models),
                   "LIFECYCLE_EMBED__SERVE_ADDRESS": f"127.0.0.1:{port}"}

    def call(*words, **more):
        return subprocess.run([A.program, *words], env=dict(environment, **more), stdout=subprocess.PIPE, check=True, text=True).stdout

    project, notes = os.path.join(home, "project"), os.path.join(home, "notes.jsonl")
    os.mkdir(project)
    with open(notes, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in dict.fromkeys(rows[:2000]))
    call("add", "--file", notes, "--project", project)
    call("run", "--phase", "buffer", "--phase", "connect")
    server = subprocess.Popen([A.program, "serve"], env=environment, stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    times = {"use": [], "off": []}
    cpu = {"use": 0.0, "off": 0.0}
    for n in range(A.rounds):
        for way in times:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.perf_counter()
            found = json.loads(call("search", QUESTIONS[n % len(QUESTIONS)], "--json", LIFECYCLE_EMBED__SERVE=way))
            times[way].append((time.perf_counter() - begin) * 1e3)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[way] += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            assert "lexical" not in str(found.get("mode", "")), found
    health = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/health"))
    status = open(f"/proc/{health['pid']}/status").read()
    server_mb = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1e3
    server.terminate()
    server.wait()

for way, name in (("use", "search, warm server"), ("off", "search, in process")):
    ordered = sorted(times[way])
    row = {"mode": name, "searches": len(ordered), "least_ms": ordered[0], "median_ms": ordered[len(ordered) // 2],
           "cpu_ms": cpu[way] * 1e3 / len(ordered), "server_mb": server_mb, "all_ms": times[way]}
    if A.out:
        with open(A.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    print({key: round(value, 1) if isinstance(value, float) else value for key, value in row.items() if key != "all_ms"})
