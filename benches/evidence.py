#!/usr/bin/env python3
"""Measures what a compacted context still tells of its session, by questions and the quotes that answer them.

    benches/evidence.py EXAM SESSIONS
    benches/evidence.py EXAM SESSIONS 'ctx-summarize --budget $CTX_BUDGET_TOKENS --method llm'
    CV=~/.cargo/bin/cv benches/evidence.py EXAM SESSIONS --only claude-code

EXAM is a folder with files of questions as `ctx-score --evidence` reads them. Each file names `session` (chat records, below
SESSIONS) and `cut`, the number of records before the cut. These records are compacted to shares of their tokens by a window of
the latest messages, by such a window after long tool results were trimmed, by the first and the latest messages, by
`ctx-summarize --budget`, `ctx-compact --budget` and the commands of the command line, which read the session on stdin and
write it to stdout. Evidence recall is the share of the questions whose answer the context still has. A_ctx and A_ctxfar are
measured as in kept.py, at these cuts.

If a file also names `native` (the agent's own session, below SESSIONS) and `native_cut`, and CV names clustervision's `cv`,
there is a table for `cv distill` and one for `cv prune`: it compares the command with all methods, at the number of tokens
that the command leaves.

Prints Markdown, or with --list the mark of each question. Needs the tools on PATH or in CTX_BIN, and Python 3.
"""

import argparse
import json
import os
import pathlib
import sys
from statistics import mean

sys.dont_write_bytecode = True  # No cache folders in the repository.
from contexts import KINDS, budget_of, by_name, chat, numbers, records, say_failures, scored, short, tokens

# In these sessions users talk with an agent that serves them, or with a person; all others work on code.
SERVICE = ("tau-bench", "crosswoz")


class Sheet:
    """A file of questions, and the sessions that the questions are about."""

    def __init__(self, path, sessions):
        self.path, self.stem = path, path.stem
        asked = json.loads(path.read_text(encoding="utf-8"))
        self.whole = sessions / asked["session"]
        self.before = b"".join(records(self.whole.read_bytes())[: asked["cut"]])
        self.kind = "service" if any(name in asked["session"] for name in SERVICE) else "coding"
        self.words = {question["id"]: question["question"] for question in asked["questions"]}
        self.native = None
        if "native" in asked:
            lines = (sessions / asked["native"]).read_bytes().splitlines(keepends=True)
            self.native = b"".join(lines[: asked["native_cut"]])


def sheets(exam, sessions, only=""):
    for path in sorted(exam.glob("*.json")):
        sheet = Sheet(path, sessions)
        if only in str(sheet.whole):
            yield sheet


class Row:
    """The results of a method over all sessions."""

    def __init__(self, name):
        self.name, self.tokens, self.of, self.marks, self.later = name, 0, 0, [], {}

    def add(self, sheet, after, args, budget=None, size=None):
        """Adds the result of one session."""
        flags = ["--evidence", sheet.path]
        if budget:
            flags += ["--future", sheet.whole, "--window-tokens", str(budget)]
        told = scored(sheet.before, after, *flags)
        size = size or tokens(after)
        self.tokens += size
        self.of += tokens(sheet.before)
        marks = told["evidence"]["marks"]
        self.marks += [(sheet.kind, mark["category"], mark["kept"]) for mark in marks]
        for name, measure in (told["future"] or {}).items():
            if measure["needed"]:
                self.later.setdefault(name, []).append(measure["share"])
        share = mean(mark["kept"] for mark in marks)
        print(f"{self.name}: {sheet.stem}: {size} tokens, {share:.2f}", file=sys.stderr, flush=True)
        if args.list:
            for mark in marks:
                sign = "+" if mark["kept"] else "-"
                print(self.name, sign, mark["id"], mark["category"], sheet.words[mark["id"]], sep="\t")

    def share(self, *wanted):
        found = [kept for *about, kept in self.marks if set(wanted) <= set(about)]
        return short(mean(found)) if found else "-"

    def cells(self):
        later = (short(mean(self.later[name])) if name in self.later else "-" for name in ("a_ctx", "a_ctxfar"))
        parts = [[], ["coding"], ["service"], *([kind] for kind in KINDS)]
        return [self.name, f"{self.tokens:,}", *(self.share(*part) for part in parts), " / ".join(later)]


def table(title, rows):
    print(f"\n{title}\n")
    print("| context | tokens | all | coding | service |", " | ".join(KINDS), "| A_ctx / A_ctxfar |")
    print("|---|" + "--:|" * (5 + len(KINDS)))
    for row in rows:
        print("|", " | ".join(row.cells()), "|", flush=True)


def at_share(share, asked, methods, args):
    rows = [Row(name) for name in methods]
    for sheet in asked:
        budget = budget_of(sheet.before, share, args.least)
        for row, method in zip(rows, methods.values()):
            row.add(sheet, method(sheet.before, budget), args, budget)
    return rows


def beside(tool, asked, methods, args):
    """Compares what the tool leaves of the agents' own files with all methods at the same size."""
    from beside import Trial

    rows = [Row(f"`{tool.name}`"), *(Row(name) for name in methods)]
    for sheet in asked:
        with Trial(sheet.native) as trial:
            done = tool.shrink(trial)
            if done.refused:
                print(f"{tool.name}: {sheet.stem}: {done.refused}", file=sys.stderr)
                continue
            budget = tokens(done.path.read_bytes())
            rows[0].add(sheet, chat(done.path), args, budget, budget)
        for row, method in zip(rows[1:], methods.values()):
            row.add(sheet, method(sheet.before, budget), args, budget)
    return rows


def peers():
    if not os.environ.get("CV"):
        print("skipped: cv distill, cv prune: CV does not name it", file=sys.stderr)
        return []
    from beside import CvDistill, CvPrune

    return [CvDistill(), CvPrune()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exam", type=pathlib.Path, help="the folder of the questions")
    parser.add_argument("sessions", type=pathlib.Path, help="the folder of the sessions")
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    parser.add_argument("--shares", type=numbers, default=[0.10, 0.28])
    parser.add_argument("--least", type=int, default=300, help="tokens that each budget has")
    parser.add_argument("--only", default="", help="only sessions whose path has this in it")
    parser.add_argument("--list", action="store_true", help="print the mark of each question")
    args = parser.parse_intermixed_args()

    asked, methods = list(sheets(args.exam, args.sessions, args.only)), by_name(args.commands)
    if not asked:
        sys.exit(f"no questions about such sessions in {args.exam}")
    whole = Row("as it is")
    for sheet in asked:
        whole.add(sheet, sheet.before, argparse.Namespace(list=False))
    tables = {f"{len(asked)} sessions, {len(whole.marks)} questions": [whole]}
    for share in args.shares:
        tables[f"{share:.0%} of the tokens"] = at_share(share, asked, methods, args)
    native = [sheet for sheet in asked if sheet.native]
    for tool in peers() if native else []:
        about = f"{len(native)} sessions of Claude Code, as many tokens as `{tool.name}` leaves"
        tables[about] = beside(tool, native, methods, args)
    if not args.list:
        for title, rows in tables.items():
            table(title, rows)
        say_failures()


if __name__ == "__main__":
    main()
