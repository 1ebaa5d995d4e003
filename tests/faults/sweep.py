#!/usr/bin/env python3
"""Kills each tool that changes files at every call that changes something, lets every call
fail, one at a time, for once and from then on; then asks the oracle whether a single byte is
lost, and whether the exit status is true. The naive controls must be caught by it.

    tests/faults/sweep.py [--bin DIR] [--sample N] [--only OPERATION] [--fault FAULT] [--list]

--sample takes N points of each operation and fault instead of all.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
from bench import Bench  # noqa: E402
from faults import build_library, can_trace, points  # noqa: E402
from operations import OPERATIONS  # noqa: E402
from oracle import Case  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).parent
    parser.add_argument("--bin", default=here / "../../target/debug", type=Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", action="append")
    parser.add_argument("--fault", action="append")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def sweep(job):
    """One operation under all faults: how it went, by fault."""
    operation, args, tmp, library = job
    bench = Bench(Path(tmp) / operation.name, args.bin.resolve())
    bench.tmp.mkdir()
    case = Case(bench, operation)
    tried, bad = Counter(), []
    if case.is_refused():
        return operation, tried, bad, case.done.stderr.decode()
    for fault, found in points(bench, case.command, library):
        if args.fault and fault not in args.fault:
            continue
        # A control is caught at some places only, most of them where it is killed.
        most = 10 if operation.naive else args.sample
        if most and len(found) > most and not (operation.naive and fault == "kill"):
            # The same ones each time, and others for each operation.
            found = random.Random(operation.name + fault).sample(found, most)
        for point in found:
            bench.reseed()
            wrong = case.judge(point.run(bench, case.command))
            tried[fault] += 1
            if wrong:
                bad.append((fault, point.where, wrong))
    shutil.rmtree(bench.tmp)
    return operation, tried, bad, None


def main():
    args = arguments()
    if not can_trace():
        print("sweep: skipped: strace is not here, or may not trace")
        return 0
    chosen = [it for it in OPERATIONS if not args.only or it.name in args.only]
    # Memory where there is some: thousands of runs call fsync.
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ctx-sweep.", dir=base) as tmp:
        library = build_library(tmp)
        if not library:
            print("sweep: no short reads and writes: there is no C compiler")
        jobs = [(operation, args, tmp, library) for operation in chosen]
        with multiprocessing.Pool(args.jobs) as pool:
            return told(pool.imap_unordered(sweep, jobs))


def told(results):
    """Tells of each operation; the exit status."""
    total, failures = Counter(), 0
    for operation, tried, bad, refused in results:
        if refused is not None:
            print(f"{operation.name}: refused: {refused.strip()}")
            continue
        total += tried
        print(f"{operation.name}: {tried.total()} points, {len(bad)} bad", flush=True)
        if operation.naive:
            if not bad:
                failures += 1
                print(f"BAD {operation.name}: the oracle does not catch it")
            continue
        failures += len(bad)
        for fault, where, wrong in bad:
            print(f"BAD {operation.name} {fault} {where}: {wrong.strip()}")
    print("by fault: " + ", ".join(f"{fault} {count}" for fault, count in sorted(total.items())))
    print(f"sweep: {total.total()} points, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
