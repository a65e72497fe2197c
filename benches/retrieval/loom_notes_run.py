"""Rankings of loom-notes 1.1.0 with its fake models, for the same scorer as ours.

    python3.12 -m venv V && V/bin/pip install loom-notes==1.1.0
    V/bin/python benches/retrieval/loom_notes_run.py FOLDER OUT

Writes OUT/loom-fake.jsonl and prints how long a search took. One store a set of notes, each note a
document of its own; the fusion and the fake reranker are its own, nothing is left out by score.
"""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from loom_notes.service import build_service
from loom_notes.settings import Settings


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def fill(service, notes):
    """The names of each stored document: equal texts are one document."""
    names = {}
    for note in notes:
        title = note["text"].strip()[:60]
        added = await service.add_text(note["text"], title if len(title) > 2 else "note", "bench")
        names.setdefault(added.doc_id, []).append(note["id"])
    return names


async def measure(folder, out):
    notes, queries = rows(folder / "notes.jsonl"), rows(folder / "queries.jsonl")
    times = []
    with (out / "loom-fake.jsonl").open("w", encoding="utf-8") as file:
        for store in sorted({note["store"] for note in notes}):
            with tempfile.TemporaryDirectory() as data:
                service = build_service(Settings(data_dir=Path(data), fake_models=True))
                await service.start()
                names = await fill(service, [note for note in notes if note["store"] == store])
                for query in (query for query in queries if query["store"] == store):
                    start = time.perf_counter()
                    hits = await service.search(query["text"], k=20, min_score=0.0)
                    times.append((time.perf_counter() - start) * 1e3)
                    ranking = [name for hit in hits for name in names[hit.doc_id]]
                    file.write(json.dumps({"id": query["id"], "ranking": ranking[:20]}) + "\n")
                await service.close()
                print(f"{store}: done", flush=True)
    times.sort()
    middle, late = times[len(times) // 2], times[int((len(times) - 1) * 0.99)]
    print(f"loom-fake: p50 {middle:.1f} ms, p99 {late:.1f} ms a query")


asyncio.run(measure(Path(sys.argv[1]), Path(sys.argv[2])))
