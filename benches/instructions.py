#!/usr/bin/env python3
"""Counts the instructions per megabyte of input with valgrind, which measures speed without noise.

    benches/instructions.py --check              # compare target/debug with benches/instructions.tsv
    benches/instructions.py --write              # update benches/instructions.tsv; the commit must say why
    benches/instructions.py --bin target/release SESSION...    # print the counts, on your sessions

Wall time varies by 10 % and more on a busy machine, so a slow change can land unseen. Instruction
counts vary by less than 1 %. --check fails if a command needs over 3 % more than its figure; if a
command needs over 3 % less, --check only prints a note. It uses the debug build, which CI has anyway:
the counts are higher than those of a release build, but the same changes of the code affect them.

Without SESSION, the input is two copies of examples/session.jsonl. All commands run with one job.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "benches" / "instructions.tsv"
ALLOWED = 0.03

COMMANDS = [
    ["ctx-count", "INPUT"],
    ["ctx-check", "INPUT"],
    ["ctx-extract", "INPUT"],
    ["ctx-compact", "--preset", "default", "--force", "--score=false", "-q", "INPUT"],
    ["ctx-compact", "--preset", "sanbot", "--force", "--score=false", "-q", "INPUT"],
    ["ctx-summarize", "--budget", "50000", "INPUT"],
]


def name(command):
    return " ".join(command[:-1])


def instructions(binary, command, session):
    """Runs the command on a copy of the session, with its own store, and returns its instructions."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "session.jsonl")
        copy.write_bytes(session)
        log = Path(folder, "valgrind.log")
        arguments = [str(copy) if word == "INPUT" else word for word in command[1:]]
        program = [str(binary / command[0]), *arguments]
        if not Path(program[0]).exists():
            sys.exit(f"instructions: {program[0]}: no such program; build it with cargo build")
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--log-file={log}", "--cachegrind-out-file=/dev/null"]
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8"}
        run = subprocess.run(valgrind + program, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        count = re.search(r"I\s+refs:\s+([\d,]+)", log.read_text())
        # Status 1 of ctx-check reports problems in the session, after all of its work.
        has_ended_well = run.returncode == 0 or (run.returncode == 1 and command[0] == "ctx-check")
        if not has_ended_well or not count:
            sys.exit(f"instructions: {name(command)} ended with {run.returncode}: {run.stderr}")
        return int(count[1].replace(",", ""))


def read_figures():
    figures = {}
    for line in FIGURES.read_text().splitlines():
        if line and not line.startswith("#"):
            command, count = line.split("\t")
            figures[command] = float(count)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "target" / "debug")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("sessions", nargs="*", type=Path)
    options = parser.parse_args()

    if options.sessions:
        session = b"".join(path.read_bytes() for path in options.sessions)
    else:
        session = (ROOT / "examples" / "session.jsonl").read_bytes() * 2
    megabytes = len(session) / 1e6
    counts = {}
    # Other processes do not change a count, so the commands can run at the same time.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = pool.map(lambda command: instructions(options.bin.resolve(), command, session), COMMANDS)
        for command, count in zip(COMMANDS, counted):
            counts[name(command)] = count / 1e6 / megabytes
            print(f"{name(command)}\t{counts[name(command)]:.1f}", flush=True)

    if options.write:
        lines = [f"{command}\t{count:.1f}\n" for command, count in counts.items()]
        head = "# Millions of instructions per megabyte of examples/session.jsonl, twice, by the debug build.\n"
        FIGURES.write_text(head + "# Written by benches/instructions.py --write.\n" + "".join(lines))
    if options.check:
        figures = read_figures()
        risen = False
        for command, count in counts.items():
            change = count / figures[command] - 1
            if change > ALLOWED:
                risen = True
                print(f"instructions: {command} needs {change:.1%} more than its figure", file=sys.stderr)
            elif change < -ALLOWED:
                print(f"instructions: {command} needs {-change:.1%} less than its figure: run --write")
        if risen:
            sys.exit("instructions: make it faster, or run --write and give the reason in the commit")


if __name__ == "__main__":
    main()
