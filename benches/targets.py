#!/usr/bin/env python3
"""Measures whether compactions reach their targets, and keep what a policy or a flag says.

    CTX_TRANSCRIPTS=~/sessions benches/targets.py
    CTX_TRANSCRIPTS=~/sessions benches/targets.py --window 16k --preset turns --overflow

Each session (*.jsonl below the folder, chat records) is compacted in its own folder with each preset at
each window, by `ctx-compact --if-due` as in a nightly job. Of the sessions that needed a compaction, the
table shows how many became smaller; how many stayed above their target, and how many of these
`ctx-compact --budget` brings below it (there should be none); how many use less than 60 % of the target
for which records were shortened; and the exit statuses of the runs. `--floor 'keep-messages 20'` adds a
flag that says what is kept. Then the last records of each result are compared with those of the session:
none may be missing, though long ones may be shorter. Prints Markdown.

Needs the tools on PATH or in CTX_BIN, and Python 3.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PRESETS = ["default", "sanbot", "synapse", "pomelobot", "turns", "xopcbot", "openclaw"]
WINDOWS = ["", "64k", "32k", "16k"]


def tool(name):
    folder = os.environ.get("CTX_BIN")
    return os.path.join(folder, name) if folder else name


def run(place, name, *flags):
    environment = {"HOME": str(place), "PATH": os.environ["PATH"]}
    command = [tool(name), *flags]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True)


def is_reached_by_budget(place, target, floor):
    """Returns True if --budget brings the session to the target, with the same floor."""
    flags = [*floor, "--budget", str(target), "--strict-target", "--json", "s.jsonl"]
    done = run(place, "ctx-compact", "-n", *flags)
    return done.returncode == 0 and json.loads(done.stdout)["tokens_after"] <= target


def roles(lines):
    for line in lines:
        try:
            yield json.loads(line).get("role")
        except ValueError:
            yield None


def identity(line):
    """Returns the part of a record that no shortening changes."""
    record = json.loads(line)
    calls = [call["id"] for call in record.get("tool_calls") or []]
    return record.get("role"), record.get("tool_call_id"), calls


def is_empty(line):
    record = json.loads(line)
    content = record.get("content") or ""
    is_blank = not content.strip() if isinstance(content, str) else not content
    return is_blank and not record.get("tool_calls")


def kept(before, after, floor):
    """Returns True if the last records of a session and of its compaction are the same."""
    name, count = floor.split()
    lines = before.splitlines(keepends=True)
    if name == "keep-messages":
        at = [n for n, role in enumerate(roles(lines)) if role not in (None, "system", "developer")]
    else:
        at = [n for n, role in enumerate(roles(lines)) if role == "user"]
    if not at:
        return True
    first = at[-min(int(count), len(at))]
    asked = [identity(line) for line in lines[first:] if not is_empty(line)]
    left = [identity(line) for line in after.splitlines() if not is_empty(line)]
    return left[-len(asked) :] == asked


def case(path, preset, window, args):
    """Compacts a session and yields words for the outcome, which are counted."""
    flags = ["--if-due", "--preset", preset, "--json", "-q"]
    flags += ["--window", window] if window else []
    flags += ["--overflow"] if args.overflow else []
    floor = ["--" + args.floor.split()[0], args.floor.split()[1]] if args.floor else []
    flags += floor
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        session = place / "s.jsonl"
        before = path.read_bytes()
        session.write_bytes(before)
        was_legal = run(place, "ctx-check", "-q", "s.jsonl").returncode == 0
        done = run(place, "ctx-compact", *flags, "s.jsonl")
        yield f"exit {done.returncode}"
        if not done.stdout:
            return
        report = json.loads(done.stdout)
        outcome = report["outcome"]
        if outcome in ("not-due", "nothing-to-do", "flushed"):
            yield "not due"
            return
        yield "due"
        yield outcome
        size, target = report["tokens_after"], report.get("target_tokens")
        if target and size > target:
            yield "above"
            session.write_bytes(before)
            if is_reached_by_budget(place, target, floor):
                yield "above, though --budget reaches it"
            return
        was_shared = any(attempt["what"] == "budget" for attempt in report["attempts"])
        # A session that the model refused below its target must become clearly smaller; it does not count here.
        was_above = target and report["tokens_before"] > target
        if was_above and was_shared and size < 0.6 * target:
            yield "under 60 %"
        after = session.read_bytes()
        if was_legal and run(place, "ctx-check", "-q", "s.jsonl").returncode:
            yield "illegal"
        if args.floor and after != before and not kept(before, after, args.floor):
            yield "floor broken"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", action="append", help="one of them; may be repeated")
    parser.add_argument("--window", action="append", help="instead of the default and 64k, 32k, 16k")
    parser.add_argument("--overflow", action="store_true", help="the model refused each session")
    parser.add_argument("--floor", metavar="'FLAG N'", help="keep-messages or keep-turns, and how many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    folder = os.environ.get("CTX_TRANSCRIPTS") or sys.exit("CTX_TRANSCRIPTS names no folder")
    paths = sorted(pathlib.Path(folder).rglob("*.jsonl"))
    columns = ["due", "above", "above, though --budget reaches it", "under 60 %", "floor broken", "illegal"]
    print(f"{len(paths)} sessions.\n")
    print("| preset, window |", " | ".join(columns), "| ended |")
    print("|---|" + "--:|" * len(columns) + "---|")
    total = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for preset in args.preset or PRESETS:
            for window in args.window or WINDOWS:
                each = pool.map(lambda path: list(case(path, preset, window, args)), paths)
                counts = collections.Counter(word for words in each for word in words)
                total += counts
                show(f"{preset}, {window or 'its own'}", counts, columns)
    show("all", total, columns)


def show(name, counts, columns):
    cells = [str(counts[column]) for column in columns]
    ended = sorted(word for word in counts if word.startswith("exit") or "-" in word)
    ended = ", ".join(f"{counts[word]} {word}" for word in ended)
    print(f"| {name} |", " | ".join(cells), f"| {ended} |", flush=True)


if __name__ == "__main__":
    main()
