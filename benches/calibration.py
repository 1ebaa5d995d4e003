#!/usr/bin/env python3
"""Makes the tables of docs/tokens.md: our count of each request, compared with the usage that the API reported.

    cargo build --release --bin ctx-count
    benches/calibration.py target/release/ctx-count claude-code/*.jsonl pi/*.jsonl

Reads session files of agents that record usage. The reported usage of each reply is compared with our count after the
earlier replies of the same file have calibrated it; so the first reply of a file is not compared. The last table shows
how many characters of a signature make a token, measured on requests that have little other content.
"""

import collections
import json
import re
import subprocess
import sys


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def sessions(tool, files):
    done = subprocess.run([tool, "--calibrate", "--json", *files], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def off(value, truth):
    return abs(value - truth) / truth


def gather(session, rows):
    for reply in session["replies"]:
        row = rows[reply["model"] or "?"]
        truth = reply["prompt"]
        row["replies"] += 1
        row["before"].append(off(reply["counted"], truth))
        if reply["tokens"] is None:
            row["first"] += 1
            continue
        row["after"].append(off(reply["tokens"], truth))
        row["held"].append(reply["low"] <= truth <= reply["high"])
        row["under"].append(truth <= reply["high"])
        row["width"].append((reply["high"] - reply["low"]) / truth)


SIGNATURE = re.compile(r'"(?:s|thinkingS)ignature":"([^"]*)"')


def signatures(file, session):
    """Returns the characters of signatures for each token that the API counted for them."""
    lines = open(file, encoding="utf-8", errors="replace").read().split("\n")
    for one, two in zip(session["replies"], session["replies"][1:]):
        sealed = sum(len(text) for line in lines[one["line"] - 1 : two["line"] - 1] for text in SIGNATURE.findall(line))
        other = session["factor"] * (two["counted"] - one["counted"] - sealed // 6)
        grown = two["prompt"] - one["prompt"] - other
        if sealed > 2_000 and 0 <= other < sealed / 10 and grown > 0 and one["model"] == two["model"]:
            yield one["model"], sealed / grown


def main():
    tool, files = sys.argv[1], sys.argv[2:]
    rows = collections.defaultdict(lambda: collections.defaultdict(list) | {"replies": 0, "first": 0})
    all_sessions = [session for session in sessions(tool, files) if session["calibrated"]]
    for session in all_sessions:
        gather(session, rows)
    total = collections.defaultdict(list) | {"replies": 0, "first": 0}
    for row in rows.values():
        for key, value in row.items():
            total[key] = total[key] + value
    factors = [session["factor"] for session in all_sessions if len(session["replies"]) > 20]
    print(f"{len(all_sessions)} sessions; factors of those with more than 20 replies:", end=" ")
    print(", ".join(f"{quantile(factors, share):.2f}" for share in (0, 0.5, 1)), "(least, median, most)\n")
    print("| model | replies | before: median | 95 % | after: median | 95 % | most | in the range | under its end | width: median |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for model in [*sorted(rows), "all"]:
        row = total if model == "all" else rows[model]
        share = lambda values: f"{100 * sum(values) / len(values):.1f} %" if values else "-"
        part = lambda key, at, digits=1: f"{100 * quantile(row[key], at):.{digits}f} %" if row[key] else "-"
        print(
            "|", model, "|", row["replies"], "|", part("before", 0.5), "|", part("before", 0.95),
            "|", part("after", 0.5, 2), "|", part("after", 0.95, 2), "|", part("after", 1), "|", share(row["held"]),
            "|", share(row["under"]), "|", part("width", 0.5), "|",
        )
    sealed = collections.defaultdict(list)
    for session in all_sessions:
        for model, characters in signatures(session["name"], session):
            sealed[model].append(characters)
    print("\n| model | replies | characters of signature a token: 25 % | median | 75 % |\n|---|---|---|---|---|")
    for model, of in sorted(sealed.items()):
        print("|", model, "|", len(of), "|", " | ".join(f"{quantile(of, share):.1f}" for share in (0.25, 0.5, 0.75)), "|")


if __name__ == "__main__":
    main()
