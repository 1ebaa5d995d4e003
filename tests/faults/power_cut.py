#!/usr/bin/env python3
"""C6, C7: simulates power cuts. Each tool that changes files runs on its own ext4 file system, which writes
nothing unless a program flushes it. At each flush, rename and link, and at the end, the content
that has reached the disk is copied and mounted, and the oracle checks it. If a run has reported
success, its work must be there. The oracle must find the errors of the naive controls.

    tests/faults/power_cut.py [--bin DIR] [--sample N] [--only OPERATION] [--data MODE] [--jobs N]

--sample takes N points of each operation instead of all. --data sets how ext4 orders data and
names: "ordered" is the default of ext4; with "writeback" (C7) a name may reach the disk long before
its bytes. Without --data both are tested. Needs root, loop devices and strace.
"""

import argparse
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
from bench import Bench  # noqa: E402
from faults import calls_of, can_trace, traced  # noqa: E402
from operations import OPERATIONS, is_possible  # noqa: E402
from oracle import Case  # noqa: E402

# Calls that flush something to the disk, or give it a name.
CALLS = "fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat".split()
MODES = ["ordered", "writeback"]
SIZE = 24 << 20
# The control that must end with a file of 0 bytes; otherwise this test loses nothing unflushed.
MUST_BE_EMPTY = "control_empty"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).parent
    parser.add_argument("--bin", default=here / "../../target/debug", type=Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", action="append")
    parser.add_argument("--data", choices=MODES, action="append")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


class Disk:
    """A folder in which images of disks are mounted, one after the other."""

    def __init__(self, folder, mode):
        self.folder, self.at, self.mode = folder, folder / "disk", mode
        self.at.mkdir(parents=True)

    def format(self, image):
        with open(image, "wb") as file:
            file.truncate(SIZE)
        at_once = "lazy_itable_init=0,lazy_journal_init=0"
        subprocess.run(["mkfs.ext4", "-q", "-E", at_once, image], check=True)

    def insert(self, image):
        """Mounts an image. ext4 then writes nothing before a program asks for it, not even if it guesses
        that the program wanted it (auto_da_alloc)."""
        options = f"loop,commit=300,noauto_da_alloc,data={self.mode}"
        subprocess.run(["mount", "-o", options, image, self.at], check=True, capture_output=True)

    def remove(self):
        for _ in range(50):
            if subprocess.run(["umount", self.at], capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"cannot unmount {self.at}")

    def copy(self, image, name):
        """Copies an image, which may be mounted; the copy has the current content of the disk."""
        copied = self.folder / name
        subprocess.run(["cp", "--sparse=always", image, copied], check=True)
        return copied


class Cuts:
    """One operation on its own disk."""

    def __init__(self, folder, mode, operation, tools):
        self.disk, self.operation = Disk(folder, mode), operation
        self.seed = folder / "seed-disk"
        self.disk.format(self.seed)
        self.disk.insert(self.seed)
        self.bench = Bench(self.disk.at, tools)
        # The disk has only the folder of the operation.
        self.bench.kept = folder / "seed"
        self.case = Case(self.bench, operation)
        self.calls = [] if self.case.is_refused() else self.places()
        self.bench.reseed()
        self.disk.remove()
        self.empty = 0

    def places(self):
        found = calls_of(self.bench, self.case.command)
        return [(place.call, place.number) for place in found if place.call in CALLS]

    def cut(self, place):
        """Cuts the power when a call begins, or at the end; returns a description of what is wrong then."""
        around = traced((place[0], f"signal=KILL:when={place[1]}")) if place else ()
        disk = self.disk
        disk.insert(disk.copy(self.seed, "run"))
        done = self.bench.run(self.case.command, around)
        reached = disk.copy(disk.folder / "run", "reached")
        disk.remove()
        disk.insert(reached)
        try:
            live = self.bench.work / "live.jsonl"
            self.empty += live.exists() and live.stat().st_size == 0
            return self.case.judge(done)
        finally:
            disk.remove()


def cut_all(job):
    """Runs an operation with all its cuts; returns their number, what is wrong, and the empty sessions."""
    operation, mode, args, tmp = job
    folder = Path(tmp) / f"{operation.name}-{mode}"
    cuts = Cuts(folder, mode, operation, args.bin.resolve())
    if cuts.case.is_refused():
        return operation, mode, 0, [cuts.case.done.stderr.decode()], 0
    calls = cuts.calls
    if args.sample and len(calls) > args.sample:
        # The choice is the same in each run, but differs between operations.
        calls = random.Random(operation.name).sample(calls, args.sample)
    bad = []
    for place in [None, *calls]:
        wrong = cuts.cut(place)
        if wrong:
            where = f"{place[0]} {place[1]}" if place else "end"
            bad.append(f"{where}: {wrong.strip()}")
    shutil.rmtree(folder)
    return operation, mode, 1 + len(calls), bad, cuts.empty


def skipped(tmp):
    """Returns the reason why no power can be cut here, or None."""
    if not can_trace():
        return "strace is not here, or may not trace"
    if not shutil.which("mkfs.ext4"):
        return "mkfs.ext4 is not here"
    disk = Disk(Path(tmp) / "try", MODES[0])
    disk.format(disk.folder / "image")
    try:
        disk.insert(disk.folder / "image")
    except subprocess.CalledProcessError:
        return "no ext4 can be mounted here (root, loop devices)"
    disk.remove()
    return None


def main():
    args = arguments()
    chosen = [it for it in OPERATIONS if not args.only or it.name in args.only]
    chosen = [it for it in chosen if not it.caught_by or "power" in it.caught_by]
    chosen = [it for it in chosen if is_possible(it)]
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ctx-power.", dir=base) as tmp:
        why = skipped(tmp)
        if why:
            print(f"power_cut: skipped: {why}")
            return 0
        jobs = [(operation, mode, args, tmp) for mode in args.data or MODES for operation in chosen]
        with multiprocessing.Pool(args.jobs) as pool:
            return told(pool.imap_unordered(cut_all, jobs))


def told(results):
    """Prints the result of each operation; returns the exit status."""
    total = failures = controls = caught = 0
    for operation, mode, cuts, bad, empty in results:
        print(f"{operation.name} data={mode}: {cuts} cuts, {len(bad)} bad, {empty} empty", flush=True)
        if not operation.naive:
            total += cuts
            failures += len(bad) + (empty > 0)
            for wrong in bad:
                print(f"BAD {operation.name} data={mode} {wrong}")
            continue
        controls += cuts
        caught += len(bad)
        if not bad or (operation.name == MUST_BE_EMPTY and not empty):
            failures += 1
            print(f"BAD {operation.name} data={mode}: the oracle does not catch it")
    print(f"power_cut: {total} cuts, {failures} failures; {caught} of {controls} controls caught")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
