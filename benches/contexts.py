"""What the measurements of contexts share: commands and plain methods that make one small, and what it still tells.

Sessions are the bytes of chat records. The tools are those on PATH, or in CTX_BIN.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

OURS = {
    "`ctx-summarize --budget`": "ctx-summarize -q --budget $CTX_BUDGET_TOKENS",
    "`ctx-compact --budget`": "ctx-compact -q --force --budget $CTX_BUDGET_TOKENS",
}
# Of a long result this much stays.
TRIM = ["--trim", "--max-chars", "2000"]
# How often a command gave nothing that counts.
failures = {}

if "CTX_BIN" in os.environ:
    os.environ["PATH"] = os.environ["CTX_BIN"] + os.pathsep + os.environ["PATH"]


def run(command, stdin=b""):
    """What a tool writes; the program ends where it fails."""
    done = subprocess.run(command, input=stdin, capture_output=True)
    if done.returncode:
        sys.exit(f"failed: {command}\n{done.stderr.decode()}")
    return done.stdout


def tokens(session):
    total = run(["ctx-count", "--json"], session).splitlines()[-1]
    return json.loads(total)["tokens"]


def records(session):
    return session.splitlines(keepends=True)


def role(record):
    return json.loads(record).get("role")


def is_system(record):
    return role(record) in ("system", "developer")


def systems(session):
    return b"".join(r for r in records(session) if is_system(r))


def budget_of(session, share, least=0):
    """A share of the tokens without the system messages, which stay."""
    fixed = tokens(systems(session))
    return fixed + max(int((tokens(session) - fixed) * share), least)


# --- what makes a session small: a function of the session and the budget ------------


def compacted(command, session, budget):
    """What a command writes; where it fails, the agent has its system messages."""
    environment = {**os.environ, "CTX_BUDGET_TOKENS": str(budget)}
    done = subprocess.run(command, shell=True, input=session, capture_output=True, env=environment)
    if done.returncode == 0 and tokens(done.stdout) <= budget:
        return done.stdout
    failures[command] = failures.get(command, 0) + 1
    return systems(session)


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


def trimmed(session, budget):
    return window(session, budget, TRIM)


def exchanges(session):
    """The records without the system messages, a call with its results; and their tokens."""
    groups = []
    for line in run(["ctx-count", "--annotate"], session).splitlines():
        record = json.loads(line)
        if record.get("role") in ("system", "developer"):
            continue
        if record.get("role") != "tool" or not groups:
            groups.append([0, []])
        groups[-1][0] += record["_ctx"]["tokens"]
        groups[-1][1].append(record["_ctx"]["line"] - 1)
    return groups


def head_and_tail(session, budget):
    """The first messages that fit into half of the budget, and the latest that fit into the rest."""
    groups, lines = exchanges(session), records(session)
    left = budget - tokens(systems(session) or b'{"role":"system","content":""}\n')
    kept, half = [], left / 2
    while groups and groups[0][0] <= half:
        half, left = half - groups[0][0], left - groups[0][0]
        kept += groups.pop(0)[1]
    while groups and groups[-1][0] <= left:
        left -= groups[-1][0]
        kept += groups.pop()[1]
    chosen = set(kept)
    return b"".join(r for at, r in enumerate(lines) if at in chosen or is_system(r))


PLAIN = {
    "the latest messages": window,
    "results trimmed, then the latest messages": trimmed,
    "the first and the latest messages": head_and_tail,
}


def by_name(commands):
    """All methods: the plain ones, ours, and the commands given."""
    all_of_them = {**OURS, **{f"`{command}`": command for command in commands}}
    return {**PLAIN, **{name: functools.partial(compacted, command) for name, command in all_of_them.items()}}


def say_failures():
    for command, count in failures.items():
        print(f"\n`{command}` failed, or wrote too much, {count} times; that counts as nothing kept.")


def numbers(text):
    return [float(part) for part in text.split(",")]


def short(share):
    return f"{share:.2f}".lstrip("0")


# --- what is still there ---------------------------------------------------------------


def chat(path):
    """What an agent's own file sends, as chat records: so a result is a message of its own in all of them."""
    return run(["ctx-convert", "-q", "--to", "chat", path])


def scored(before, after, *flags):
    """What `ctx-score --json` says of two sessions."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, name) for name in ("before", "after")]
        for path, content in zip(paths, (before, after)):
            path.write_bytes(content)
        # An empty store: what a snapshot has is not in the context.
        return json.loads(run(["ctx-score", "--json", *flags, "--store", f"{folder}/store", *paths]))


# Of questions: the kinds in the order of the tables.
KINDS = ["intent", "constraint", "decision", "state", "cause", "location", "value"]


def marks(sheet, before, after):
    """The kind of each question of a file, and whether its answer still stands."""
    found = scored(before, after, "--evidence", sheet)["evidence"]["marks"]
    return {mark["id"]: (mark["category"], mark["kept"]) for mark in found}
