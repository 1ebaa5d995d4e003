#!/usr/bin/env python3
"""Measures the time of runs on a store that has many snapshots.

    benches/store.py
    benches/store.py --dir /dev/shm --sizes 10,1000,50000
    benches/store.py --dir ~/bench --writes-only

Makes stores with the numbers of small snapshots in --sizes, a hundred for each session, and as many in the trash. Times
one snapshot and one compaction, each of them also with a preloaded library that removes all waiting for the disk;
`--list` of one session and `--verify` of all sessions (these take turns; the median of --runs counts); and the runs that
empty the store: `--purge`, and a collection that leaves one snapshot of each session. On a file system in memory
(/dev/shm) nothing waits for a disk. Prints Markdown, in milliseconds.

Needs the tools on PATH or in CTX_BIN, a C compiler as cc, and Python 3.
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PER_SESSION = 100
LINE = '{"role":"user","content":"What about the parser of dates?"}\n'


BIN = os.environ.get("CTX_BIN") and pathlib.Path(os.environ["CTX_BIN"]).resolve()


def run(tool, *args, cwd, preload=None, status=(0,)):
    """Returns the milliseconds that a tool takes."""
    # CTX_BIN may be relative to the current folder, so it is resolved before that changes.
    program = BIN / tool if BIN else tool
    env = {**os.environ, "CTX_HOME": str(cwd / "store")}
    if preload:
        env["LD_PRELOAD"] = str(preload)
    begun = time.monotonic()
    done = subprocess.run([program, *args], cwd=cwd, env=env, capture_output=True)
    took = (time.monotonic() - begun) * 1000
    if done.returncode not in status:
        sys.exit(f"{tool} {args}: {done.returncode}\n{done.stderr.decode()}")
    return took


def save(folder, session, number, taken):
    """Writes a snapshot as ctx-snapshot does."""
    stamp = taken.strftime("%Y%m%dT%H%M%S.%fZ")
    name = f"{session}-{stamp}-{number:04}"
    data = LINE.encode() * 4
    meta = {
        "format": 1,
        "id": name,
        "session": session,
        "sequence": number,
        "created": taken.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "kind": "snapshot",
        "bytes": len(data),
        "lines": 4,
        "tail_bytes": 0,
        "dialect": "chat",
        "messages": 4,
        "bad_lines": 0,
        "sha256": hashlib.sha256(data).hexdigest(),
        "held": False,
    }
    body = json.dumps(meta, separators=(",", ":"))[:-1]
    seal = hashlib.sha256(body.encode()).hexdigest()
    (folder / f"{name}.jsonl").write_bytes(data)
    (folder / f"{name}.meta.json").write_text(f'{body},"meta_sha256":"{seal}"}}\n')


def session():
    turns = range(60)
    user = ['{"role":"user","content":"Question %d: %s"}' % (n, "why is it so? " * 20) for n in turns]
    reply = ['{"role":"assistant","content":"Answer %d: %s"}' % (n, "it is so. " * 20) for n in turns]
    return "".join(f"{ask}\n{said}\n" for ask, said in zip(user, reply))


def make(place, size):
    """Makes a store with `size` snapshots and as many in the trash; ctx-snapshot itself takes the first one."""
    (place / "s.jsonl").write_text(LINE)
    run("ctx-snapshot", "s.jsonl", cwd=place)
    store = place / "store"
    now = datetime.datetime.now(datetime.timezone.utc)
    bin_name = now.strftime("%Y%m%dT%H%M%S.%fZ") + "-0000"
    folders = [store / "memory/session-summaries", store / "trash" / bin_name]
    folders[1].mkdir(parents=True)
    for number in range(2 * size):
        taken = now - datetime.timedelta(seconds=2 * size - number)
        save(folders[number % 2], f"session-{number // 2 // PER_SESSION}", number + 10, taken)
    # The lock file holds the last number. It is emptied here, so that one run finds the number
    # again.
    (store / "lock").write_text("")
    run("ctx-snapshot", "s.jsonl", cwd=place)


def no_sync(place):
    """Builds a library that removes all waiting for the disk from a preloaded program."""
    library = place / "no_sync.so"
    source = pathlib.Path(__file__).with_name("no_sync.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def medians(runs, works):
    """Returns the median of each work; they take turns, so that a busy moment affects all of them."""
    took = [[work() for work in works] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*took)]


def measure(place, runs, writes_only):
    def snapshot(preload=None):
        return run("ctx-snapshot", "s.jsonl", cwd=place, preload=preload)

    def compact(preload=None):
        (place / "s.jsonl").write_text(session())
        return run(
            "ctx-compact", "--force", "-q", "--keep-messages", "4", "s.jsonl", cwd=place, preload=preload
        )

    compact()
    library = no_sync(place)
    names = [
        "`ctx-snapshot FILE`",
        "`ctx-compact FILE`",
        "`ctx-snapshot FILE`, no fsync",
        "`ctx-compact FILE`, no fsync",
    ]
    works = [snapshot, compact, lambda: snapshot(library), lambda: compact(library)]
    yield from zip(names, medians(runs, works))
    if writes_only:
        return
    listed = ["--list", "-s", "session-0"]
    yield "`ctx-snapshot --list -s ID`", *medians(runs, [lambda: run("ctx-snapshot", *listed, cwd=place)])
    yield "`ctx-snapshot --verify`", *medians(runs, [lambda: run("ctx-snapshot", "--verify", cwd=place)])
    yield "`ctx-gc --purge`", run("ctx-gc", "--purge", cwd=place)
    yield "`ctx-gc --keep-last 1`", run("ctx-gc", "--keep-last", "1", cwd=place)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10,1000,50000")
    parser.add_argument("--dir", help="where the stores are made")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--writes-only", action="store_true", help="only a snapshot and a compaction")
    args = parser.parse_args()
    table = {}
    sizes = [int(size) for size in args.sizes.split(",")]
    for size in sizes:
        place = pathlib.Path(tempfile.mkdtemp(dir=args.dir))
        try:
            make(place, size)
            for name, took in measure(place, args.runs, args.writes_only):
                table.setdefault(name, []).append(took)
        finally:
            shutil.rmtree(place)
    print("| snapshots |", " | ".join(f"{size:,}" for size in sizes), "|")
    print("|---|" + "--:|" * len(sizes))
    for name, row in table.items():
        print(f"| {name} |", " | ".join(f"{took:,.1f}" if took < 100 else f"{took:,.0f}" for took in row), "|")


if __name__ == "__main__":
    main()
