"""Lets our tools write sessions, and the judges read them: what a tool writes adds no refusal that its input did not have."""

import argparse
import collections
import dataclasses
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

import examples
import generate
import judge
import shrink

CONVERSIONS = {f"convert to {to}": [["ctx-convert", "--to", to, "--now", "2026-11-29T00:00:00Z"]] for to in judge.APIS + judge.LOGS}
COMPACT = ["ctx-compact", "--force", "--score=false"]
OPERATIONS = {
    "compact": [COMPACT + flags for flags in (["--keep-messages", "2"], ["--keep-turns", "1"], ["--keep-turns", "2", "--method", "rule"], ["--target-tokens", "600"],
                                              ["--budget", "500"], ["--keep-messages", "5", "--summary-tokens", "200"])],
    "prune": [["ctx-prune", *flags] for flags in (["--trim", "--max-chars", "200", "--protect-last", "1"], ["--clear", "--protect-last", "0"],
                                                  ["--drop", "reasoning", "--protect-last", "0"], ["--window-messages", "4"],
                                                  ["--trim", "--max-chars", "300", "--drop", "superseded,duplicates,noise", "--max-argument-chars", "40"])],
    "repair": [["ctx-check", "--repair"]],
    **CONVERSIONS,
}
COLUMNS = ("runs", "wrote", "same", "refused", "left", "before", "after", "added", "bad")


@dataclasses.dataclass(order=True)
class Example:
    """An operation that adds a refusal. The smallest one is shown."""

    size: int
    name: str
    operation: str
    command: list
    dialect: str
    data: bytes

    def show(self, kind, tools, keep):
        """Makes the session small, keeps it in a file, and returns the command that shows the refusal."""
        allowed = set(step(tools, self.operation, self.command, self.dialect, self.data)[1])

        def shows(data):
            _, before, _, added, _ = step(tools, self.operation, self.command, self.dialect, data)
            return kind in added and allowed.issuperset(before)

        data = shrink.shrink(self.data, shows)
        path = os.path.join(keep, f"{hashlib.sha256(data).hexdigest()[:12]}.jsonl")
        pathlib.Path(path).write_bytes(data)
        return f"{shlex.join(self.command)} --dialect {self.dialect} < {path}   # {self.name}\n" + data.decode("utf-8", "replace")[:2000]


def run(tools, command, dialect, data):
    """Runs a tool as a filter; returns its exit status and stdout."""
    args = [os.path.join(tools, command[0]), *command[1:], "--dialect", dialect]
    try:
        done = subprocess.run(args, input=data, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "none after 120 s", b""
    return done.returncode, done.stdout


def written(operation, command, dialect):
    """Returns the dialect that an operation writes."""
    return command[2] if operation in CONVERSIONS else dialect


def step(tools, operation, command, dialect, data):
    """Runs one operation. Returns how it ended, the refusals of its input and output, those that count against it, and what it wrote."""
    code, out = run(tools, command, dialect, data)
    # What converts and repairs answers for all that it writes; compaction and pruning for what they add.
    adds = not (operation in CONVERSIONS or operation == "repair")
    before = judge.refusals(dialect, data, strict=adds)
    if code not in (0, 1, 2):
        return "crashed", before, {}, {f"crash: exit status {code}": 1}, None
    if code == 0 and not out and len(judge.requests(dialect, data)[1]) > 1:
        return "wrote", before, {}, {"tools: exit status 0, and nothing is written": 1}, None
    if code == 2 or not out:
        return "refused", before, {}, {}, None
    after = judge.refusals(written(operation, command, dialect), out, strict=operation != "repair")
    added = after - before + judge.parted(dialect, data, out) if adds else after
    if operation == "repair":
        accepted, _ = run(tools, ["ctx-check", "--quiet"], dialect, out)
        if code == 1:
            # The tool has said that it could not repair everything.
            added = {}
        if accepted != code:
            added = {**added, f"tools: --repair exits with {code}, ctx-check on the copy with {accepted}": 1}
    end = "left" if operation == "repair" and code == 1 else "same" if out == data else "wrote"
    return end, before, after, added, out


def trial(work):
    """Tries the operations one after the other; returns a row for each: operation, dialect that it writes, figures, example."""
    name, dialect, data, commands, tools = work
    rows = []
    for operation, command in commands:
        end, before, after, added, out = step(tools, operation, command, dialect, data)
        target = written(operation, command, dialect)
        example = Example(len(data), name, operation, command, dialect, data) if added else None
        rows.append((operation, target, end, sum(before.values()), sum(after.values()), dict(added), example))
        if out:
            dialect, data = target, out
    return rows


def check_judges():
    """Ends the run if the judges do not see what is wrong with an example."""
    for dialect, kind, records in examples.EXAMPLES:
        if not any(kind in found for found in judge.refusals(dialect, judge.bytes_of(records), strict=True)):
            sys.exit(f"the judges do not see {kind} in {records}")
    for before, after in examples.PARTED:
        if not judge.parted("responses", judge.bytes_of(before), judge.bytes_of(after)):
            sys.exit(f"the judges do not see what {after} has lost")


def generated(count, seed, tools):
    for number in range(count):
        dialect, is_legal, data = generate.session(number, seed)
        if is_legal and (found := judge.refusals(dialect, data)):
            # The pool calls this in a thread of its own, where only an exception ends the run.
            raise ValueError(f"session {number} is meant to be legal: {dict(found)}")
        rng = random.Random(f"operations/{seed}/{number}")
        names = rng.choices(list(OPERATIONS), weights=[2, 2, 2] + [1] * len(CONVERSIONS), k=rng.randint(1, 3))
        yield f"session {number}", dialect, data, [(name, rng.choice(OPERATIONS[name])) for name in names], tools


def recorded(operands, tools):
    """Yields each session with each operation, one at a time."""
    for operand in map(pathlib.Path, operands):
        for path in sorted(operand.rglob("*.json*")) if operand.is_dir() else [operand]:
            checked = subprocess.run([os.path.join(tools, "ctx-check"), "--json", path], capture_output=True).stdout
            dialect = json.loads(checked or "{}").get("dialect")
            if dialect in judge.APIS + judge.LOGS:
                data = path.read_bytes()
                yield from ((str(path), dialect, data, [(name, command)], tools) for name, commands in OPERATIONS.items() for command in commands)


def show(rows):
    """Prints the table. Returns the kinds of refusals that were added, with how often and the smallest example of each."""
    table, kinds, examples = collections.defaultdict(collections.Counter), collections.Counter(), {}
    for operation, dialect, end, before, after, added, example in rows:
        table[operation.split()[0], dialect].update({"runs": 1, end: 1, "before": before, "after": after, "added": sum(added.values()), "bad": bool(added)})
        for kind in added:
            key = operation.split()[0], dialect, kind
            kinds[key] += 1
            examples[key] = min(example, examples.get(key, example))
    line = "{:<10} {:<12} {:>6} {:>6} {:>6} {:>8} {:>6} {:>8} {:>8} {:>8} {:>8}"
    print(line.format("operation", "dialect", *COLUMNS))
    total = collections.Counter()
    for (operation, dialect), row in sorted(table.items()):
        total.update(row)
        print(line.format(operation, dialect, *(row[key] for key in COLUMNS)))
    print(line.format("all", "", *(total[key] for key in COLUMNS)), flush=True)
    return [(key, count, examples[key]) for key, count in kinds.most_common()]


def shown(work):
    (operation, dialect, kind), count, example, tools, keep = work
    return f"{count} × {operation} ({dialect}): {kind}\n{example.show(kind, tools, keep)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, help="the folder of the tools")
    parser.add_argument("sessions", nargs="*", help="sessions, or folders of them; without, sessions are generated")
    parser.add_argument("--full", action="store_true", help="generate 10,000 sessions, not 300")
    parser.add_argument("--count", type=int, help="generate so many sessions")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for the sessions of the examples [default: a new one]")
    args = parser.parse_args()
    check_judges()
    keep = args.keep or tempfile.mkdtemp(prefix="ctx-api-")
    os.makedirs(keep, exist_ok=True)
    count = args.count if args.count is not None else 10_000 if args.full else 0 if args.sessions else 300
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, CTX_HOME=home, XDG_STATE_HOME=home)
        work = [recorded(args.sessions, args.tools), generated(count, args.seed, args.tools)]
        with multiprocessing.Pool(args.jobs) as pool:
            kinds = show(row for each in work for rows in pool.imap(trial, each, chunksize=8) for row in rows)
            for text in pool.imap(shown, ((*kind, args.tools, keep) for kind in kinds)):
                print(f"\n{text}", flush=True)
    sys.exit(1 if kinds else 0)


if __name__ == "__main__":
    main()
