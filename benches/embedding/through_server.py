#!/usr/bin/env python3
"""The comparison of run.py with `lifecycle serve` as it is shipped in place of main.rs: HTTP and JSON count.

usage: through_server.py PROGRAM PYTHON MODELS_FOLDER OUT.jsonl [--model NAME] [--threads N] [--rounds N]
                         [--limit N] [--modes a,b] [--reference WORDS]

A fresh server for each measurement; its processor time and peak memory are read from /proc (Linux). The
reference (reference.py) runs in turn, so that both see the same machine. Modes: first, one, each, batch,
mixed, parity.
"""
import argparse, json, os, shlex, socket, subprocess, sys, tempfile, time, urllib.request
from array import array

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("program")
a.add_argument("python")
a.add_argument("models")
a.add_argument("out")
a.add_argument("--model", default="all-minilm-l6-v2")
a.add_argument("--threads", default="2")
a.add_argument("--rounds", type=int, default=3)
a.add_argument("--repeats", type=int, default=15)
a.add_argument("--limit", type=int, default=2000)
a.add_argument("--modes", default="first,one,each,batch,mixed,parity")
a.add_argument("--reference", default="")
a.add_argument("--alone", action="store_true", help="leave the reference out")
A = a.parse_args()
here = os.path.dirname(os.path.abspath(__file__))
rows = [json.loads(line) for line in open(os.path.join(here, "texts.jsonl"), encoding="utf-8")]
batch = [row["text"] for row in rows if row["group"] == "batch"]
mixed = [row["text"] for row in rows if row["group"] == "mixed"]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Server:
    def __init__(self, home):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environment = {"HOME": home, "LIFECYCLE_HOME": os.path.join(home, "store"), "LIFECYCLE_MODELS": os.path.abspath(A.models),
                       "LIFECYCLE_EMBED__MODEL": A.model, "LIFECYCLE_EMBED__THREADS": A.threads}
        self.begin = time.perf_counter()
        self.process = subprocess.Popen([A.program, "serve", "--address", f"127.0.0.1:{self.port}"], env=environment,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def embed(self, texts):
        body = json.dumps({"input": texts}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/embeddings", body, {"Content-Type": "application/json"})
        return json.load(opener.open(request))

    def timed(self, texts):
        begin = time.perf_counter()
        self.embed(texts)
        return (time.perf_counter() - begin) * 1e3

    def cpu(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, key):
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(next(line for line in status.splitlines() if line.startswith(key)).split()[1]) / 1e3

    def end(self):
        self.process.terminate()
        self.process.wait()


def ours(mode, out=None):
    with tempfile.TemporaryDirectory() as home:
        server = Server(home)
        row = {"mode": mode, "model": A.model, "threads": int(A.threads), "program": "lifecycle serve"}
        try:
            server.embed(batch[:1])
            row["first_s"] = time.perf_counter() - server.begin
            before = server.cpu()
            if mode in ("one", "each", "batch"):
                texts = [batch] if mode == "batch" else [[text] for text in (batch[:1] if mode == "one" else batch)]
                rounds = -(-A.repeats // len(texts))
                times = [server.timed(text) for _ in range(rounds) for text in texts]
                row.update(texts=len(texts[0]), least_ms=min(times), all_ms=times, cpu_ms=(server.cpu() - before) * 1e3 / len(times))
            elif mode in ("mixed", "parity"):
                some = mixed[: A.limit] if mode == "mixed" else mixed[:500]
                begin = time.perf_counter()
                answer = server.embed(some)
                row.update(texts=len(some), seconds=time.perf_counter() - begin, tokens=answer["usage"]["total_tokens"])
                if out:
                    for item in answer["data"]:
                        out.write(array("f", item["embedding"]).tobytes())
                    out.flush()
            row.update(cpu_s=server.cpu(), peak_mb=server.memory("VmHWM"), resident_mb=server.memory("VmRSS"))
        finally:
            server.end()
    return row


def theirs(mode, *more):
    command = [A.python, os.path.join(here, "reference.py"), mode, A.models, "--threads", A.threads, "--model", A.model,
               "--limit", str(A.limit), "--repeats", str(A.repeats), *more, *shlex.split(A.reference)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def keep(row):
    with open(A.out, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print({k: (round(v, 2) if isinstance(v, float) else v) for k, v in row.items() if k != "all_ms"}, file=sys.stderr, flush=True)


modes = A.modes.split(",")
for _ in range(A.rounds):
    for mode in [mode for mode in modes if mode != "parity"]:
        keep(ours(mode))
        if A.alone:
            continue
        if mode == "mixed":
            keep(theirs(mode, "--batch", "32"))
            keep(theirs(mode, "--batch", "32", "--sorted"))
        else:
            keep(theirs(mode, "--batch", "0"))
if "parity" in modes:
    with tempfile.NamedTemporaryFile() as vectors:
        keep(ours("parity", vectors))
        if not A.alone:
            keep(theirs("parity", "--out", vectors.name))
