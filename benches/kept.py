#!/usr/bin/env python3
"""How much of what an agent needed later is still in its context after a compaction.

    CTX_TRANSCRIPTS=~/sessions benches/kept.py
    CTX_TRANSCRIPTS=~/sessions benches/kept.py 'ctx-summarize --budget $CTX_BUDGET_TOKENS --method llm'

Each session (*.jsonl below the folder, chat records) is cut at several places, and what is
before the cut is compacted to a share of its tokens: by a window of the latest messages, by
the same after long tool results were trimmed, by `ctx-summarize --budget`, and by the
commands given, which read the session on stdin and write it to stdout. `ctx-score --future`
says how many of the values that the rest of the session needed are still there (A_ctx), and
how many of those that the window could not hold (A_ctxfar). Prints Markdown: means over the
cuts where something was needed, and the share of the budget that the context takes. The budget is a share of the tokens without the system
messages, which stay.

Needs the tools on PATH or in CTX_BIN, and Python 3.
"""

import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from statistics import mean

SUMMARIZE = "ctx-summarize --budget $CTX_BUDGET_TOKENS"
failures = {}
# Of a long result this much stays.
TRIM = ["--trim", "--max-chars", "2000"]


def run(command, stdin):
    """What a tool writes; the program ends where it fails."""
    done = subprocess.run(command, input=stdin, capture_output=True)
    if done.returncode:
        sys.exit(f"failed: {command}\n{done.stderr.decode()}")
    return done.stdout


def compacted(command, session, budget):
    """What a command writes; where it fails, the agent has its system messages."""
    environment = {**os.environ, "CTX_BUDGET_TOKENS": str(budget)}
    done = subprocess.run(command, shell=True, input=session, capture_output=True, env=environment)
    if done.returncode == 0 and tokens(done.stdout) <= budget:
        return done.stdout
    failures[command] = failures.get(command, 0) + 1
    return systems(session)


def tokens(session):
    total = run(["ctx-count", "--json"], session).splitlines()[-1]
    return json.loads(total)["tokens"]


def records(session):
    return session.splitlines(keepends=True)


def role(record):
    return json.loads(record).get("role")


def systems(session):
    return b"".join(r for r in records(session) if role(r) in ("system", "developer"))


def cut(session, share):
    """The first `share` of a session; no call is parted from its results."""
    lines = records(session)
    at = int(len(lines) * share)
    while at < len(lines) and role(lines[at]) == "tool":
        at += 1
    return b"".join(lines[:at])


def window(session, budget, trim=()):
    """The latest messages that fit into the budget, after the system messages."""
    few, many = 0, len(records(session)) + 1
    best = systems(session)
    while few + 1 < many:
        number = (few + many) // 2
        found = run(["ctx-prune", *trim, "--window-messages", str(number)], session)
        if tokens(found) <= budget:
            few, best = number, found
        else:
            many = number
    return best


def scored(before, after, whole, budget):
    """The figures of `ctx-score --future`."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, content in (("before", before), ("after", after), ("whole", whole)):
            names.append(str(pathlib.Path(folder, name)))
            pathlib.Path(names[-1]).write_bytes(content)
        command = ["ctx-score", "--json", "--future", names[2], "--window-tokens", str(budget)]
        return json.loads(run([*command, "--store", f"{folder}/store", *names[:2]], b""))["future"]


def cases(folder, args):
    for path in sorted(pathlib.Path(folder).rglob("*.jsonl")):
        whole = path.read_bytes()
        for place in args.cuts:
            before = cut(whole, place)
            size = tokens(before)
            if size >= args.least:
                yield whole, before, size


def numbers(text):
    return [float(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    parser.add_argument("--shares", type=numbers, default=[0.25, 0.10])
    parser.add_argument("--cuts", type=numbers, default=[0.5, 0.8])
    parser.add_argument("--least", type=int, default=4000, help="tokens before the cut")
    args = parser.parse_args()
    folder = os.environ.get("CTX_TRANSCRIPTS") or sys.exit("CTX_TRANSCRIPTS names no folder")
    if "CTX_BIN" in os.environ:
        os.environ["PATH"] = os.environ["CTX_BIN"] + os.pathsep + os.environ["PATH"]

    methods = {
        "the latest messages": window,
        "results trimmed, then the latest messages": lambda s, b: window(s, b, TRIM),
    }
    for command in [SUMMARIZE, *args.commands]:
        methods[f"`{command}`"] = functools.partial(compacted, command)

    found, used, sizes = {}, {}, []
    for whole, before, size in cases(folder, args):
        sizes.append(size)
        fixed = tokens(systems(before))
        for share in args.shares:
            budget = fixed + int((size - fixed) * share)
            for name, method in methods.items():
                after = method(before, budget)
                used.setdefault((name, share), []).append(tokens(after) / budget)
                result = scored(before, after, whole, budget)
                for measure in ("A_ctx", "A_ctxfar"):
                    if result[measure]["needed"]:
                        found.setdefault((name, share, measure), []).append(
                            result[measure]["share"]
                        )

    if not sizes:
        sys.exit("no session is long enough")
    print(f"{len(sizes)} cuts, {mean(sizes):,.0f} tokens on average before the cut.\n")
    print("| A_ctx / A_ctxfar / used |", " | ".join(f"{share:.0%}" for share in args.shares), "|")
    print("|---|" + "--:|" * len(args.shares))
    for name in methods:
        cells = [
            " / ".join(
                f"{mean(values):.2f}"
                for values in (
                    found.get((name, share, "A_ctx"), [0]),
                    found.get((name, share, "A_ctxfar"), [0]),
                    used[name, share],
                )
            )
            for share in args.shares
        ]
        print(f"| {name} |", " | ".join(cells), "|")
    for command, count in failures.items():
        print(f"\n`{command}` failed, or wrote too much, {count} times; that counts as nothing kept.")


if __name__ == "__main__":
    main()
