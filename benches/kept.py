#!/usr/bin/env python3
"""Measures how much of what an agent needed later a compaction keeps in its context.

    CTX_TRANSCRIPTS=~/sessions benches/kept.py
    CTX_TRANSCRIPTS=~/sessions benches/kept.py 'ctx-summarize --budget $CTX_BUDGET_TOKENS --method llm'

Each session (*.jsonl below the folder, chat records) is cut at several places, and the part before
the cut is compacted to a share of its tokens: by a window of the latest messages, by such a window
after long tool results were trimmed, by the first and the latest messages, by `ctx-summarize
--budget`, by `ctx-compact --budget`, and by the commands of the command line, which read the session
on stdin and write it to stdout. `ctx-score --future` measures the share of the values needed by the
rest of the session that the context still has (A_ctx), and the same share of the values that the
window could not hold (A_ctxfar). Prints Markdown: the means over the cuts after which something was
needed, and the share of the budget that the context uses. The budget is a share of the tokens of all
messages except the system messages, which always stay.

Needs the tools on PATH or in CTX_BIN, and Python 3.
"""

import argparse
import os
import pathlib
import sys
from statistics import mean

sys.dont_write_bytecode = True  # No cache folders in the repository.
from contexts import budget_of, by_name, numbers, records, role, say_failures, scored, tokens


def cut(session, share):
    """Returns the first `share` of a session; no call is separated from its results."""
    lines = records(session)
    at = int(len(lines) * share)
    while at < len(lines) and role(lines[at]) == "tool":
        at += 1
    return b"".join(lines[:at])


def cases(folder, args):
    for path in sorted(pathlib.Path(folder).rglob("*.jsonl")):
        whole = path.read_bytes()
        for place in args.cuts:
            before = cut(whole, place)
            size = tokens(before)
            if size >= args.least:
                yield path, before, size


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    parser.add_argument("--shares", type=numbers, default=[0.25, 0.10])
    parser.add_argument("--cuts", type=numbers, default=[0.5, 0.8])
    parser.add_argument("--least", type=int, default=4000, help="tokens before the cut")
    args = parser.parse_args()
    folder = os.environ.get("CTX_TRANSCRIPTS") or sys.exit("CTX_TRANSCRIPTS names no folder")
    methods = by_name(args.commands)

    found, used, sizes = {}, {}, []
    for path, before, size in cases(folder, args):
        sizes.append(size)
        for share in args.shares:
            budget = budget_of(before, share)
            for name, method in methods.items():
                after = method(before, budget)
                used.setdefault((name, share), []).append(tokens(after) / budget)
                result = scored(before, after, "--future", path, "--window-tokens", str(budget))["future"]
                for measure in ("a_ctx", "a_ctxfar"):
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
                    found.get((name, share, "a_ctx"), [0]),
                    found.get((name, share, "a_ctxfar"), [0]),
                    used[name, share],
                )
            )
            for share in args.shares
        ]
        print(f"| {name} |", " | ".join(cells), "|")
    say_failures()


if __name__ == "__main__":
    main()
