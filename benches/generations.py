#!/usr/bin/env python3
"""Measures what a summary still tells after ten generations, each made from the previous one and the messages since.

    benches/generations.py EXAM SESSIONS
    benches/generations.py EXAM SESSIONS 'ctx-summarize -q --budget $CTX_BUDGET_TOKENS --method llm'
    benches/generations.py EXAM SESSIONS --lost         # which evidence is lost, when, and from which line

EXAM and SESSIONS are those of evidence.py. A session begins with the records that the questions are about, which are those before
the cut. They are compacted to a share of their tokens. Then messages are appended until the context is as long as it was before
(--grow sets another length): first the rest of the session, then other sessions of the folder. After that the context is
compacted again, ten times in all. The questions that count are those that the first summary answers by itself, without the
messages that were kept. The result is the share of these questions that the context of each later generation answers. The
methods are `ctx-summarize --budget`, `ctx-compact --budget` and the commands of the command line, which read the session on
stdin and write it to stdout.

Prints Markdown. Needs the tools on PATH or in CTX_BIN, and Python 3.
"""

import argparse
import itertools
import json
import pathlib
import re
import sys
import tempfile
from statistics import mean

sys.dont_write_bytecode = True  # No cache folders in the repository.
from contexts import KINDS, PLAIN, budget_of, by_name, exchanges, is_system, marks, records, role, say_failures, short, systems, tokens
from evidence import sheets


# --- a session that grows ------------------------------------------------------------


def others(sheet):
    """Yields the rest of the session, and then the other sessions of its folder, starting with the next one, without end."""
    yield b"".join(records(sheet.whole.read_bytes())[len(records(sheet.before)) :])
    paths = sorted(sheet.whole.parent.glob("*.jsonl"))
    at = paths.index(sheet.whole)
    for turn in itertools.count():
        for path in paths[at + 1 :] + paths[:at]:
            yield again(path.read_bytes(), turn)


def again(session, turn):
    """Returns a copy of an exchange in which the calls have new ids, so that it can be appended again."""
    return re.sub(rb'("(?:tool_call_id|id)": ?")', rb"\g<1>" + str(turn).encode() + b"-", session) if turn else session


def material(sheet):
    """Yields the exchanges that are appended later: the tokens and the records of each."""
    for session in others(sheet):
        lines = records(session)
        for size, at in exchanges(session):
            yield size, b"".join(lines[number] for number in at)


def piece(stream, size):
    """Takes exchanges from the stream until they have this many tokens."""
    said = b""
    while size > 0:
        more, text = next(stream)
        size, said = size - more, said + text
    return said


# --- what the context still tells --------------------------------------------------------------


class Evidence:
    """The questions of a sheet, group by group, so that the missing part of an answer can be named."""

    def __init__(self, sheet, folder):
        asked = json.loads(sheet.path.read_text(encoding="utf-8"))["questions"]
        self.before, self.path = sheet.before, pathlib.Path(folder, sheet.path.name)
        self.groups, self.kinds, parts = {}, {}, []
        for question in asked:
            name = question["id"]
            self.kinds[name], self.groups[name] = question["category"], question["evidence"]
            parts += [dict(question, id=f"{name}/{at}", evidence=[group]) for at, group in enumerate(question["evidence"])]
        self.path.write_text(json.dumps({"questions": parts}), encoding="utf-8")

    def told(self, context):
        """Returns the groups of evidence that the context has."""
        return {name for name, (_, kept) in marks(self.path, self.before, context).items() if kept}

    def answered(self, told):
        return {name for name, groups in self.groups.items() if all(f"{name}/{at}" in told for at in range(len(groups)))}


def summary(before, after):
    """Returns the text that a command has written itself: no system messages, no results, no earlier messages."""
    old = set(records(before))
    return b"".join(r for r in records(after) if r not in old and not is_system(r) and role(r) != "tool")


def line_about(quote, context):
    """Returns the line of a context that has most words of a quote."""
    lines = (line for record in records(context) for line in str(json.loads(record).get("content") or "").split("\n"))
    return max(lines, key=lambda line: len(words(quote) & words(line)), default="")


def words(text):
    """Returns the words of a text; Chinese has no spaces between words."""
    return set(re.findall(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+", text.lower()))


class Line:
    """A session that is compacted in several generations."""

    def __init__(self, sheet, name, method, args):
        self.sheet, self.name, self.method, self.args = sheet, name, method, args
        self.budget = budget_of(sheet.before, args.share, args.least)
        self.more = int(args.grow * (tokens(sheet.before) - tokens(systems(sheet.before))))

    def live(self, evidence):
        """Returns the questions that the first summary answers, and which of these each generation answers."""
        later, context = material(self.sheet), self.method(self.sheet.before, self.budget)
        first = evidence.answered(evidence.told(summary(self.sheet.before, context)))
        known, told = [first], evidence.told(context)
        self.write(1, context)
        for number in range(2, self.args.generations + 1):
            last, context = context, self.method(context + piece(later, self.more), self.budget)
            self.write(number, context)
            before, told = told, evidence.told(context)
            known.append(first & evidence.answered(told))
            if self.args.lost:
                self.say(evidence, number, known[-2] - known[-1], before - told, last, context)
        return known

    def write(self, number, context):
        if self.args.write:
            path = self.args.write / re.sub(r"\W+", "-", self.name).strip("-") / f"{number}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(context)

    def say(self, evidence, number, lost, missing, last, context):
        for name in sorted(lost):
            for at, group in enumerate(evidence.groups[name]):
                if f"{name}/{at}" in missing:
                    print(f"{self.name}: generation {number}: {name} {evidence.kinds[name]}: {group[0]}")
                    print(f"    stood in: {line_about(group[0], last)[:300]}")
                    print(f"    now:      {line_about(group[0], context)[:300]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("exam", type=pathlib.Path, help="the folder of the questions")
    parser.add_argument("sessions", type=pathlib.Path, help="the folder of the sessions")
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    parser.add_argument("--share", type=float, default=0.25, help="what a generation leaves of the context")
    parser.add_argument("--grow", type=float, help="what is said between two, as a share of the beginning [default: what the budget took away]")
    parser.add_argument("--least", type=int, default=600, help="tokens that each budget has")
    parser.add_argument("--generations", type=int, default=10)
    parser.add_argument("--only", default="", help="only sessions whose path has this in it")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER", help="write the context of each generation there")
    parser.add_argument("--lost", action="store_true", help="print the evidence that goes")
    args = parser.parse_intermixed_args()

    args.grow = 1 - args.share if args.grow is None else args.grow
    asked, rows = list(sheets(args.exam, args.sessions, args.only)), {}
    methods = {name: method for name, method in by_name(args.commands).items() if name not in PLAIN}
    with tempfile.TemporaryDirectory() as folder:
        for name, method in methods.items():
            rows[name] = []
            for sheet in asked:
                evidence = Evidence(sheet, folder)
                line = Line(sheet, f"{sheet.stem}: {name}", method, args)
                known = line.live(evidence)
                rows[name].append((evidence.kinds, known))
                print(f"{line.name}: {', '.join(str(len(k)) for k in known)}", file=sys.stderr, flush=True)
    report(asked, rows, args)


def report(asked, rows, args):
    numbers = range(args.generations)
    print(f"\n{len(asked)} sessions to {args.share:.0%} of the tokens, each time with {args.grow:.0%} more; of what the first summary answers, each generation answers\n")
    print("| | questions |", " | ".join(str(number + 1) for number in numbers), "|")
    print("|---|" + "--:|" * (1 + args.generations))
    for name, found in rows.items():
        counts = [sum(len(known[number]) for _, known in found) for number in numbers]
        print(f"| {name} | {counts[0]} |", " | ".join(share(count, counts[0]) for count in counts), "|")
    print(f"\nAfter generation {args.generations}, of those after the first\n")
    print("| |", " | ".join(KINDS), "|")
    print("|---|" + "--:|" * len(KINDS))
    for name, found in rows.items():
        cells = []
        for kind in KINDS:
            first, last = (sum(kinds[q] == kind for kinds, known in found for q in known[at]) for at in (0, -1))
            cells.append(f"{last} of {first}")
        print(f"| {name} |", " | ".join(cells), "|")
    say_failures()


def share(count, of):
    return short(count / of) if of else "-"


if __name__ == "__main__":
    main()
