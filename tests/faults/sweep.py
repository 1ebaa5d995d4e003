#!/usr/bin/env python3
"""Injects faults into each tool that changes files. The tool is killed at every call that changes something;
every call fails once, or from then on; and an agent replaces the session at every call that gives or
takes a name. After each fault the oracle checks that no byte is lost and that the exit status is
correct. It must find the errors of the naive controls.

    tests/faults/sweep.py [--bin DIR] [--sample N] [--only OPERATION] [--agent NAME]
                          [--fault FAULT] [--jobs N] [--results FILE] [--table]

--sample takes N points of each operation and fault instead of all. --agent takes the operations on
sessions in the format of this agent; those on chat messages are of the agent "chat". --results writes each result
into a file, and skips points that the file already has. --table prints the number of points by
operation and fault.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import tally  # noqa: E402
from agents import meetings  # noqa: E402
from bench import Bench  # noqa: E402
from faults import build_library, can_trace, points  # noqa: E402
from operations import OPERATIONS, is_possible  # noqa: E402
from oracle import Case  # noqa: E402
from tally import Tally  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).parent
    parser.add_argument("--bin", default=here / "../../target/debug", type=Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", action="append")
    parser.add_argument("--agent", action="append")
    parser.add_argument("--fault", action="append")
    # An operation waits for most of its time.
    parser.add_argument("--jobs", type=int, default=3 * os.cpu_count())
    parser.add_argument("--results", type=Path)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


def sweep(job):
    """Runs one operation with all faults; returns the tallies, or the reason why the operation is refused."""
    operation, args, tmp, library = job
    bench = Bench(Path(tmp) / operation.name, args.bin.resolve())
    bench.tmp.mkdir()
    case = Case(bench, operation)
    if case.is_refused():
        return operation, [], case.done.stderr.decode()
    known = {found.fault for found in tally.read(args.results) if found.operation == operation.name}
    tallies = []
    for fault, found in [*points(bench, case.command, library), *meetings(case)]:
        if (args.fault and fault not in args.fault) or fault in known:
            continue
        if operation.caught_by and fault not in operation.caught_by:
            continue
        tallies.append(tried(case, fault, chosen(operation, fault, found, args.sample)))
        if args.results:
            tallies[-1].write(args.results)
    shutil.rmtree(bench.tmp)
    return operation, tallies, None


def chosen(operation, fault, found, sample):
    """Returns the points to try. The choice is the same in each run, but differs between operations."""
    # Only some places show the error of a control, mostly those where it is killed or meets an agent.
    most = 10 if operation.naive else sample
    if not most or len(found) <= most or (operation.naive and fault in ("kill", "agent")):
        return found
    return random.Random(operation.name + fault).sample(found, most)


def tried(case, fault, found):
    bad = []
    for point in found:
        wrong = point.wrong(case)
        if wrong:
            bad.append((point.where, wrong.strip()))
    return Tally(case.operation.name, fault, len(found), bad)


def main():
    args = arguments()
    if not can_trace():
        print("sweep: skipped: strace is not here, or may not trace")
        return 0
    found = tally.read(args.results)
    # Use memory if possible, because thousands of runs call fsync.
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ctx-sweep.", dir=base) as tmp:
        library = build_library(tmp)
        if not library:
            print("sweep: no short reads and writes: there is no C compiler")
        jobs = [(operation, args, tmp, library) for operation in OPERATIONS if is_asked(operation, args)]
        with multiprocessing.Pool(args.jobs) as pool:
            for operation, tallies, refused in pool.imap_unordered(sweep, jobs):
                if refused is not None:
                    print(f"{operation.name}: refused: {refused.strip()}")
                found += tallies
                tell(operation, tallies)
    if args.table:
        naive = {operation.name for operation in OPERATIONS if operation.naive}
        print(tally.table([one for one in found if one.operation not in naive]))
    return told([operation for operation, *_ in jobs], found)


def is_asked(operation, args):
    if args.only and operation.name not in args.only:
        return False
    if args.agent and (operation.agent or "chat") not in args.agent:
        return False
    # Faults that only a power cut shows are not tested here.
    by = set(operation.caught_by) - {"power"}
    if operation.caught_by and not (by & set(args.fault) if args.fault else by):
        return False
    return is_possible(operation)


def tell(operation, tallies):
    points = sum(one.points for one in tallies)
    bad = sum(len(one.bad) for one in tallies)
    print(f"{operation.name}: {points} points, {bad} bad", flush=True)
    if not operation.naive:
        for one in tallies:
            for where, wrong in one.bad:
                print(f"BAD {operation.name} {one.fault} {where}: {wrong}")


def told(operations, tallies):
    """Prints the results; returns the exit status."""
    failures = 0
    for operation in operations:
        own = [one for one in tallies if one.operation == operation.name]
        bad = sum(len(one.bad) for one in own)
        if operation.naive and not bad and any(one.points for one in own):
            failures += 1
            print(f"BAD {operation.name}: the oracle does not catch it")
        failures += 0 if operation.naive else bad
    points = sum(one.points for one in tallies)
    print(f"sweep: {points} points, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
