"""Code that the measurements of contexts share: commands and plain methods that compact a context, and the
search for what the result still tells.

Functions take and return sessions as the bytes of chat records. The tools are taken from PATH, or from CTX_BIN.
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
# A long result is trimmed to this many characters.
TRIM = ["--trim", "--max-chars", "2000"]
# How often each command failed, so that its output does not count.
failures = {}

if "CTX_BIN" in os.environ:
    os.environ["PATH"] = os.environ["CTX_BIN"] + os.pathsep + os.environ["PATH"]


def run(command, stdin=b""):
    """Returns the output of a tool; if the tool fails, the program ends."""
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
    """Returns a share of the tokens of all messages except the system messages, which always stay."""
    fixed = tokens(systems(session))
    return fixed + max(int((tokens(session) - fixed) * share), least)


# --- methods that compact: functions of a session and a budget ------------


def compacted(command, session, budget):
    """Returns the output of a command; if the command fails, only the system messages are left."""
    environment = {**os.environ, "CTX_BUDGET_TOKENS": str(budget)}
    done = subprocess.run(command, shell=True, input=session, capture_output=True, env=environment)
    if done.returncode == 0 and tokens(done.stdout) <= budget:
        return done.stdout
    failures[command] = failures.get(command, 0) + 1
    return systems(session)


def window(session, budget, trim=()):
    """Returns the system messages and the latest messages that fit into the budget."""
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
    """Returns the records except the system messages, each call together with its results, and their tokens."""
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
    """Returns the first messages that fit into half of the budget, and the latest that fit into the rest."""
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
    """Returns all methods by name: the plain ones, ours, and the commands of the command line."""
    all_of_them = {**OURS, **{f"`{command}`": command for command in commands}}
    return {**PLAIN, **{name: functools.partial(compacted, command) for name, command in all_of_them.items()}}


def say_failures():
    for command, count in failures.items():
        print(f"\n`{command}` failed, or wrote too much, {count} times; that counts as nothing kept.")


def numbers(text):
    return [float(part) for part in text.split(",")]


def short(share):
    return f"{share:.2f}".lstrip("0")


# --- what the context still tells ---------------------------------------------------------------


def chat(path):
    """Returns the context of an agent's own file as chat records, in which each result is a message by itself."""
    return run(["ctx-convert", "-q", "--to", "chat", path])


def scored(before, after, *flags):
    """Returns the report of `ctx-score --json` on two sessions."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, name) for name in ("before", "after")]
        for path, content in zip(paths, (before, after)):
            path.write_bytes(content)
        # The store is empty, because text that only a snapshot has is not in the context.
        return json.loads(run(["ctx-score", "--json", *flags, "--store", f"{folder}/store", *paths]))


# The kinds of questions, in the order of the tables.
KINDS = ["intent", "constraint", "decision", "state", "cause", "location", "value"]


def marks(sheet, before, after):
    """Returns for each question of a file its kind, and whether the context still has its answer."""
    found = scored(before, after, "--evidence", sheet)["evidence"]["marks"]
    return {mark["id"]: (mark["category"], mark["kept"]) for mark in found}
