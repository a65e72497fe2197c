"""The same searches as benches/retrieval/latency.rs by numpy and sqlite3, for a ratio in one run.

    python3 benches/retrieval/reference.py STORE.sqlite3 QUERIES.jsonl

STORE is the file that `cargo bench --bench retrieval -- FOLDER OUT COUNT` leaves in OUT. Dense: all
vectors as one float32 matrix in memory, one product, argpartition. Lexical: an FTS5 table of its own
(unicode61) over the same texts, best 100 by bm25. Hybrid: reciprocal rank fusion of both, texts read.
Prints one line a column as the benchmark does. Needs numpy.
"""

import json
import re
import sqlite3
import sys
import time

import numpy as np

TOP = 100


def load(store):
    source = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    texts = dict(source.execute("SELECT seq, text FROM entry"))
    keys, parts = [], []
    for key, data in source.execute("SELECT entry, data FROM vector ORDER BY entry"):
        keys.append(key)
        parts.append(np.frombuffer(data, "<f4"))
    words = sqlite3.connect(":memory:")
    words.execute("CREATE VIRTUAL TABLE word USING fts5 (body)")
    words.executemany("INSERT INTO word (rowid, body) VALUES (?, ?)", texts.items())
    words.execute("INSERT INTO word (word) VALUES ('optimize')")
    return texts, np.array(keys), np.stack(parts), words


def lexical(words, query):
    asked = dict.fromkeys(re.findall(r"\w+", query.lower()))
    match = " OR ".join(f'"{word}"' for word in asked)
    sql = f"SELECT rowid FROM word WHERE word MATCH ? ORDER BY rank LIMIT {TOP}"
    return [row[0] for row in words.execute(sql, [match])] if match else []


def dense(keys, matrix, vector):
    cosines = matrix @ vector
    best = np.argpartition(-cosines, TOP)[:TOP]
    return keys[best[np.argsort(-cosines[best])]].tolist()


def fused(lists):
    scores = {}
    for ranking in lists:
        for rank, key in enumerate(ranking):
            scores[key] = scores.get(key, 0.0) + 1.0 / (60 + rank)
    return sorted(scores, key=lambda key: -scores[key])[:10]


def report(name, times):
    first, times = times[0], sorted(times)
    at = lambda share: times[int((len(times) - 1) * share)]
    print(f"reference {name}: first {first:.1f} ms, p50 {at(0.5):.1f} ms, p99 {at(0.99):.1f} ms", flush=True)


def main(store, queries):
    texts, keys, matrix, words = load(store)
    asked = [json.loads(line)["text"] for line in open(queries, encoding="utf-8")][::5]
    draw = np.random.default_rng(1)
    vectors = draw.normal(size=(len(asked), matrix.shape[1])).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    columns = {
        "lexical": lambda query, vector: lexical(words, query),
        "dense": lambda query, vector: dense(keys, matrix, vector),
        "hybrid": lambda query, vector: [
            texts[key] for key in fused([lexical(words, query), dense(keys, matrix, vector)])
        ],
    }
    for name, search in columns.items():
        times = []
        for query, vector in zip(asked, vectors):
            start = time.perf_counter()
            search(query, vector)
            times.append((time.perf_counter() - start) * 1e3)
        report(name, times)


main(*sys.argv[1:3])
