#!/usr/bin/env python3
"""Runs main.rs and reference.py in turn, so that both see the same machine, and keeps the raw lines.

usage: run.py PYTHON MODELS_FOLDER OUT.jsonl [--threads N] [--rounds N] [--limit N] [--model NAME]
              [--program FILE] [--modes a,b] [--repeats N] [--reference WORDS]

--reference: further words for reference.py, such as "--prefix 'query: ' --max-tokens 512".
"""
import argparse, json, os, shlex, subprocess, sys, tempfile

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("python")
a.add_argument("models")
a.add_argument("out")
a.add_argument("--threads", default="2")
a.add_argument("--rounds", type=int, default=3)
a.add_argument("--limit", default="2000")
a.add_argument("--model", default="all-minilm-l6-v2")
a.add_argument("--program", help="the bench program, where it is built already")
a.add_argument("--modes", default="first,one,each,batch,served,mixed,parity")
a.add_argument("--repeats", default="15")
a.add_argument("--reference", default="")
A = a.parse_args()

here = os.path.dirname(os.path.abspath(__file__))
ours = [A.program] if A.program else ["cargo", "bench", "-q", "--bench", "embedding", "--"]
theirs = [A.python, os.path.join(here, "reference.py")]
common = ["--threads", A.threads, "--model", A.model, "--limit", A.limit, "--repeats", A.repeats]
own_words = shlex.split(A.reference)
environment = dict(os.environ, LIFECYCLE_MODELS=os.path.abspath(A.models))


def row(command):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    line = json.loads(done.stdout.strip().splitlines()[-1])
    with open(A.out, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    shown = {k: (round(v, 2) if isinstance(v, float) else v) for k, v in line.items() if k != "all_ms"}
    print(json.dumps(shown), file=sys.stderr, flush=True)


modes = A.modes.split(",")
for _ in range(A.rounds):
    for mode in [m for m in modes if m != "parity"]:
        row(ours + [mode] + common)
        if mode == "mixed":
            row(theirs + [mode, A.models, "--batch", "32"] + common + own_words)
            row(theirs + [mode, A.models, "--batch", "32", "--sorted"] + common + own_words)
        else:
            row(theirs + [mode, A.models, "--batch", "0"] + common + own_words)
if "parity" in modes:
    with tempfile.NamedTemporaryFile() as vectors:
        row(ours + ["vectors", "--out", vectors.name] + common)
        row(theirs + ["parity", A.models, "--out", vectors.name] + common + own_words)
