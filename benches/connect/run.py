#!/usr/bin/env python3
"""The table of speed, memory and recall, each size beside plain numpy in the same run.

usage: run.py --stream MAKE_STREAM [--bench BINARY] [--sizes 1000,20000,100000,1000000]
              [--work FOLDER] [--sample K] [--graph]

MAKE_STREAM is the script that makes a stream of notes with vectors (--n, --seed, --vectors,
--out); FOLDER keeps the streams between runs. BINARY is what `cargo bench --no-run --bench connect`
names. From 1,000,000 notes on one chunk in K (16) is connected and the rest estimated; --sample 1
connects all. numpy multiplies the vectors of each project with themselves in single precision, in
blocks, and counts pairs at 0.75 or more; it is left out above 100,000 notes.
"""
import argparse, json, os, subprocess, sys, time

import numpy as np


def make(script, n, folder):
    if not os.path.exists(os.path.join(folder, 'meta.json')):
        kind = 'f32' if n <= 20000 else 'f16'
        subprocess.run([sys.executable, script, '--n', str(n), '--seed', '7', '--vectors', kind,
                        '--out', folder], check=True, stderr=subprocess.DEVNULL)


def plain(folder):
    meta = json.load(open(os.path.join(folder, 'meta.json')))
    kind = np.float32 if meta['vectors'] == 'f32' else np.float16
    vectors = np.memmap(os.path.join(folder, 'vectors.bin'), dtype=kind, mode='r')
    vectors = vectors.reshape(-1, meta['dim'])
    projects = [json.loads(line)['project'] for line in open(os.path.join(folder, 'notes.jsonl'))]
    places = {name: [] for name in projects}
    for place, name in enumerate(projects):
        places[name].append(place)
    start, pairs = time.perf_counter(), 0
    for rows in places.values():
        part = np.asarray(vectors[rows], dtype=np.float32)
        for at in range(0, len(part), 1024):
            near = part[at:at + 1024] @ part[:at + 1024].T >= 0.75
            pairs += int(near.sum())
    return time.perf_counter() - start, pairs


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument('--stream', required=True)
    ask.add_argument('--bench')
    ask.add_argument('--sizes', default='1000,20000,100000,1000000')
    ask.add_argument('--work', default='connect-streams')
    ask.add_argument('--sample', type=int, default=16)
    ask.add_argument('--graph', action='store_true')
    args = ask.parse_args()
    binary = args.bench or built()
    print('| notes | from empty | against numpy | 20 more | of the time before, for each note | open | '
          'clusters touched / all | chain of 320 | peak memory | index files | recall |')
    print('|---|---|---|---|---|---|---|---|---|---|---|')
    before = None
    for n in map(int, args.sizes.split(',')):
        folder = os.path.join(args.work, f's{n}')
        make(args.stream, n, folder)
        sample = args.sample if n >= 1_000_000 else 1
        command = [binary, folder, '--sample', str(sample)] + (['--graph'] if args.graph else [])
        run = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        ratio = f"{run['from_empty_s'] / plain(folder)[0]:.2f}" if n <= 100_000 else '–'
        each = run['from_empty_s'] / n
        growth = f'{each / before:.2f}' if before else '–'
        before = each
        estimated = f' (1 in {sample})' if sample > 1 else ''
        print(f"| {n:,} | {run['from_empty_s']:.2f} s{estimated} | {ratio} | {run['more_on_top_s']:.3f} s | "
              f"{growth} | {run['open_s']:.2f} s | {run['touched_s'] * 1000:.1f} ms / {run['clusters_s']:.2f} s | "
              f"{run['chain_of_320']['seconds'] * 1000:.2f} ms | {run['peak_mb']:.0f} MB | "
              f"{run['index_mb']:.0f} MB | {run['recall']:.4f} |", flush=True)
        with open(os.path.join(args.work, f'connect-{n}.json'), 'w') as out:
            json.dump(run, out, indent=1)


def built():
    command = ['cargo', 'bench', '--no-run', '--bench', 'connect', '--message-format', 'json']
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = [json.loads(line).get('executable') for line in lines if '"connect"' in line]
    return [name for name in names if name][-1]


if __name__ == '__main__':
    main()
