#!/usr/bin/env python3
"""The same measurements with the Python libraries: onnxruntime, tokenizers, numpy.

usage: reference.py MODE MODELS_FOLDER [--model NAME] [--threads N] [--repeats N] [--out FILE]
                    [--batch N] [--sorted] [--prefix TEXT] [--pooling mean|last] [--max-tokens N] [--texts FILE]

Modes as in main.rs. A batch is padded to its longest text, texts go in the order they come
(--sorted: by length), --batch at a time (0: all at once).
"""
import time

START = time.perf_counter()
import argparse, json, os, resource
import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

a = argparse.ArgumentParser()
a.add_argument("mode")
a.add_argument("models")
a.add_argument("--model", default="all-minilm-l6-v2")
a.add_argument("--threads", type=int, default=2)
a.add_argument("--repeats", type=int, default=15)
a.add_argument("--out")
a.add_argument("--batch", type=int, default=32)
a.add_argument("--sorted", action="store_true")
a.add_argument("--prefix", default="")
a.add_argument("--pooling", default="mean")
a.add_argument("--max-tokens", type=int, default=256)
a.add_argument("--limit", type=int, default=2000)
a.add_argument("--texts", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts.jsonl"))
A = a.parse_args()


def load():
    folder = os.path.join(A.models, A.model)
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(A.max_tokens)
    options = ort.SessionOptions()
    options.intra_op_num_threads = A.threads
    session = ort.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
    return tokenizer, session


def run(tokenizer, session, texts):
    ids = [e.ids for e in tokenizer.encode_batch([A.prefix + t for t in texts])]
    width = max(map(len, ids))
    data = np.zeros((len(ids), width), np.int64)
    mask = np.zeros((len(ids), width), np.int64)
    for row, line in enumerate(ids):
        data[row, : len(line)] = line
        mask[row, : len(line)] = 1
    feeds = {}
    for wanted in session.get_inputs():
        name = wanted.name
        if name == "input_ids":
            feeds[name] = data
        elif name == "attention_mask":
            feeds[name] = mask
        elif name == "token_type_ids":
            feeds[name] = np.zeros_like(data)
        elif name == "position_ids":
            feeds[name] = np.broadcast_to(np.arange(width, dtype=np.int64), data.shape).copy()
        else:
            shape = [len(ids) if at == 0 else (size if isinstance(size, int) else 0) for at, size in enumerate(wanted.shape)]
            feeds[name] = np.zeros(shape, np.float32)
    states = session.run(["last_hidden_state"], feeds)[0]
    if A.pooling == "last":
        vectors = states[np.arange(len(ids)), mask.sum(1) - 1]
    else:
        vectors = (states * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def embed(tokenizer, session, texts):
    order = list(range(len(texts)))
    if A.sorted:
        order.sort(key=lambda at: len(texts[at]))
    size = A.batch or len(texts)
    out = [None] * len(texts)
    for start in range(0, len(texts), size):
        part = order[start : start + size]
        for at, vector in zip(part, run(tokenizer, session, [texts[at] for at in part])):
            out[at] = vector
    return np.array(out)


def served():
    """The standard library's server and client in this process, over the loopback."""
    import http.client, http.server, threading

    model = load()
    embed(*model, batch[:1])

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Status line and body leave in two writes: without this the second waits for the first's receipt.
        disable_nagle_algorithm = True

        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            items = [{"index": at, "embedding": vector.tolist()} for at, vector in enumerate(embed(*model, texts))]
            body = json.dumps({"data": items}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = http.client.HTTPConnection(*server.server_address)
    times = []
    for _ in range(A.repeats + 1):
        begin = time.perf_counter()
        client.request("POST", "/v1/embeddings", json.dumps({"input": batch[:1]}))
        vector = np.array(json.loads(client.getresponse().read())["data"][0]["embedding"])
        times.append((time.perf_counter() - begin) * 1e3)
    assert abs(np.linalg.norm(vector) - 1) < 1e-5
    return dict(texts=1, least_ms=min(times[1:]), all_ms=times[1:])


rows = [json.loads(line) for line in open(A.texts, encoding="utf-8")]
batch = [r["text"] for r in rows if r["group"] == "batch"]
mixed = [r["text"] for r in rows if r["group"] == "mixed"][: A.limit]
row = {}
if A.mode == "first":
    begin = time.perf_counter()
    embed(*load(), batch[:1])
    row["first_s"] = time.perf_counter() - begin
elif A.mode in ("one", "batch"):
    model = load()
    texts = batch[:1] if A.mode == "one" else batch
    embed(*model, texts)
    times = []
    for _ in range(A.repeats):
        begin = time.perf_counter()
        embed(*model, texts)
        times.append((time.perf_counter() - begin) * 1e3)
    row.update(texts=len(texts), least_ms=min(times), all_ms=times)
elif A.mode == "each":
    model = load()
    embed(*model, batch[:1])
    times = []
    for _ in range(-(-A.repeats // len(batch))):
        for text in batch:
            begin = time.perf_counter()
            embed(*model, [text])
            times.append((time.perf_counter() - begin) * 1e3)
    row.update(texts=1, least_ms=min(times), all_ms=times)
elif A.mode == "served":
    row.update(served())
elif A.mode == "mixed":
    model = load()
    embed(*model, mixed[:1])
    begin = time.perf_counter()
    embed(*model, mixed)
    seconds = time.perf_counter() - begin
    row.update(texts=len(mixed), seconds=seconds, a_second=len(mixed) / seconds)
elif A.mode == "parity":
    # One text a run: no padding at all.
    A.batch = 1
    ours = np.fromfile(A.out, np.float32).reshape(500, -1)
    theirs = embed(*load(), mixed[:500])
    cosines = (ours * theirs).sum(1)
    tokenizer = load()[0]
    tokenizer.no_truncation()
    whole = np.array([len(tokenizer.encode(A.prefix + t).ids) <= A.max_tokens for t in mixed[:500]])
    row.update(
        texts=500,
        least_cosine=float(cosines[whole].min()),
        largest_difference=float(np.abs(ours - theirs)[whole].max()),
        longer_than_the_model=int((~whole).sum()),
    )
row.update(mode=A.mode, model=A.model, threads=A.threads, program="python", batch=A.batch, sorted=A.sorted,
           process_s=time.perf_counter() - START, cpu_s=time.process_time(), peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
print(json.dumps(row))
