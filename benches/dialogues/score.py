#!/usr/bin/env python3
"""Measures how much of what two people told each other is kept by a compaction.

    CTX_BIN=target/release benches/dialogues/score.py
    benches/dialogues/score.py 'ctx-summarize --budget $CTX_BUDGET_TOKENS --method llm'
    benches/dialogues/score.py --write FOLDER     # the conversations and their evidence

make.py makes the conversations, in English and Chinese, as long as LoCoMo's. Each one is compacted
to 50, 25 and 10 % of its tokens by `ctx-summarize --budget`, by the commands of the command line (session on stdin, result on stdout),
by a plain window, by head and tail, and by a random choice of messages. A line of evidence counts as
kept if one statement of the result has all its facts, word for word, and names the person they belong
to, or the role of that person. With --turns it counts as kept if one message has three quarters of the
pairs of neighbouring words of its whole turn. Prints Markdown. --by splits the figures; --lost shows
what `ctx-summarize --budget` loses of the first conversation of each language.

Needs the tools on PATH or in CTX_BIN, and Python 3.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
from statistics import mean

sys.dont_write_bytecode = True
from make import LANGUAGES, conversation

SUMMARIZE = "ctx-summarize -q --budget $CTX_BUDGET_TOKENS"
PRIMING = 3  # The tokens that ctx-count adds for each conversation.
DRAWS = 10


def run(command, stdin, **environment):
    return subprocess.run(
        command, shell=True, input=stdin, capture_output=True, env={**os.environ, **environment}
    )


def checked(command, stdin):
    done = run(command, stdin)
    if done.returncode:
        sys.exit(f"failed: {command}\n{done.stderr.decode()}")
    return done.stdout


def total(session):
    return json.loads(checked("ctx-count --json", session).splitlines()[-1])["tokens"]


def sizes(session):
    """Returns the tokens of each message."""
    lines = checked("ctx-count --annotate", session).splitlines()
    return [json.loads(line)["_ctx"]["tokens"] for line in lines]


def session_of(turns):
    records = (json.dumps({"role": r, "content": t}, ensure_ascii=False) + "\n" for r, t in turns)
    return "".join(records).encode()


# Plain methods, which choose the messages to keep.


def fill(order, tokens, budget):
    """Takes messages in this order, until the next one does not fit."""
    kept, left = set(), budget - PRIMING
    for at in order:
        if tokens[at] > left:
            break
        left -= tokens[at]
        kept.add(at)
    return kept


def window(tokens, budget, _draw):
    return fill(reversed(range(len(tokens))), tokens, budget)


def head_and_tail(tokens, budget, _draw):
    kept = fill(range(len(tokens)), tokens, budget // 2)
    return kept | fill(reversed(range(len(tokens))), tokens, budget - budget // 2)


def at_random(tokens, budget, draw):
    order = random.Random(draw).sample(range(len(tokens)), len(tokens))
    return fill(order, tokens, budget)


PLAIN = {"window": (window, 1), "head and tail": (head_and_tail, 1), "random": (at_random, DRAWS)}


# The search for evidence in a result.

LABEL = re.compile(r"\s*(?:[-*#>⟦|]|\d+[.)]\s|\[?[\w-]{1,12}\]?[::]|\[[^\]]*\]|\s*$)")

# A summary says whose words it quotes. The role follows the number of the message, if there is one.
ROLES = {
    "user": r"(?:\[[^\]]*\]|\W)*(?:user|human|用户)\b\W*?[::]",
    "assistant": r"(?:\[[^\]]*\]|\W)*(?:assistant|agent|助手)\b\W*?[::]",
}


def statements(messages):
    """Returns the statements of a context: each message, or each item of a message with several lines, with
    the lines below that continue it."""
    for role, text in messages:
        found = []
        for line in text.splitlines():
            if LABEL.match(line) or not found:
                found.append(line)
            else:
                found[-1] += "\n" + line
        yield from ((role if len(found) == 1 else None, part) for part in found)


def stands(fact, text):
    """Returns True if a text has a fact as whole words; Chinese has no spaces between words."""
    at = re.escape(fact.lower())
    if fact.isascii():
        at = rf"(?<![a-z0-9]){at}(?![a-z0-9])"
    return re.search(at, text) is not None


def tells(role, text, evidence):
    named = (
        evidence.person.lower() in text
        or role == evidence.role
        or re.match(ROLES[evidence.role], text)
    )
    return bool(named) and all(stands(fact, text) for fact in evidence.facts)


def kept(messages, evidence):
    """Returns for each line of evidence whether it is kept."""
    parts = [(role, text.lower()) for role, text in statements(messages)]
    return [any(tells(role, text, line) for role, text in parts) for line in evidence]


WORD = re.compile(r"[^\W\u2e80-\uffff]+|[\u2e80-\uffff]")
ENOUGH = 0.75


def pairs(text):
    words = [word for word in WORD.findall(text.lower()) if word.isalnum()]
    return set(zip(words, words[1:]))


def kept_turns(messages, talk):
    """Returns for each line of evidence whether its whole turn is kept."""
    found = [pairs(text) for _, text in messages]

    def stays(line):
        wanted = pairs(talk.turns[line.turn][1])
        return any(len(wanted & there) >= ENOUGH * len(wanted) for there in found)

    return [stays(line) for line in talk.evidence]


def compacted(command, session, budget, failures):
    done = run(command, session, CTX_BUDGET_TOKENS=str(budget))
    if done.returncode or total(done.stdout) > budget:
        failures[command] = failures.get(command, 0) + 1
        return []
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return [(record["role"], record["content"]) for record in records]


def results(args, talk, failures):
    """Yields the method, the share of the tokens, and what is kept (once for each random draw)."""
    session = session_of(talk.turns)
    tokens, whole = sizes(session), total(session)

    def marks(messages):
        return kept_turns(messages, talk) if args.turns else kept(messages, talk.evidence)

    for share in args.shares:
        budget = int(whole * share)
        for name, (choose, draws) in PLAIN.items():
            for draw in range(draws):
                chosen = choose(tokens, budget, draw)
                messages = [turn for at, turn in enumerate(talk.turns) if at in chosen]
                yield name, share, marks(messages)
        for command in args.commands:
            messages = compacted(command, session, budget, failures)
            yield command, share, marks(messages)


def group(args, talk, line):
    if args.by == "kind":
        return line.kind
    if args.by == "role":
        return line.role
    if args.by == "place":
        return ("first third", "second third", "last third")[3 * line.turn // len(talk.turns)]
    return "all"


def measure(args, language):
    found, about, failures = {}, [], {}
    for seed in range(1, args.conversations + 1):
        talk = conversation(language, seed)
        if not all(kept(talk.turns, talk.evidence)):
            sys.exit(f"{language} {seed}: evidence that its own turn does not tell")
        session = session_of(talk.turns)
        about.append((len(talk.turns), len(talk.evidence), total(session)))
        for method, share, marks in results(args, talk, failures):
            for line, mark in zip(talk.evidence, marks):
                found.setdefault((group(args, talk, line), method, share), []).append(mark)
            if args.lost and seed == 1 and method == args.commands[0]:
                lost = [line for line, mark in zip(talk.evidence, marks) if not mark]
                for line in lost[:: max(1, len(lost) // args.lost)][: args.lost]:
                    print(f"{share:.0%} {line.kind} {line.facts}: {talk.turns[line.turn][1]}")
    return found, about, failures


def report(args, language):
    found, about, failures = measure(args, language)
    turns, lines, tokens = (f"{min(of):,} to {max(of):,}" for of in zip(*about))
    about_them = f"{turns} turns, {tokens} tokens, {lines} lines of evidence"
    print(f"\n{len(about)} conversations: {about_them}\n")
    for name in dict.fromkeys(key[0] for key in found):
        head = language if name == "all" else f"{language}, {name}"
        print(f"| {head} |", " | ".join(f"{share:.0%}" for share in args.shares), "|")
        print("|---|" + "--:|" * len(args.shares))
        for method in [*PLAIN, *args.commands]:
            cells = (f"{mean(found[name, method, s]):.2f}".lstrip("0") for s in args.shares)
            print(f"| {method if method in PLAIN else f'`{method}`'} |", " | ".join(cells), "|")
        print()
    for command, count in failures.items():
        print(f"`{command}` failed, or wrote too much, {count} times: that keeps nothing.")


def write(args, language, folder):
    for seed in range(1, args.conversations + 1):
        talk = conversation(language, seed)
        path = pathlib.Path(folder, f"{language}-{seed}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(session_of(talk.turns))
        lines = (json.dumps(line._asdict(), ensure_ascii=False) + "\n" for line in talk.evidence)
        path.with_suffix(".evidence").write_text("".join(lines), encoding="utf-8")


def numbers(text):
    return [float(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND", default=[])
    parser.add_argument("--shares", type=numbers, default=[0.5, 0.25, 0.1])
    parser.add_argument("--conversations", type=int, default=6, help="for each language")
    parser.add_argument("--language", choices=LANGUAGES, help="only this one")
    parser.add_argument("--by", choices=("kind", "place", "role"), help="split the figures")
    parser.add_argument("--turns", action="store_true", help="count whole turns, not their facts")
    parser.add_argument("--lost", type=int, default=0, metavar="N", help="show N lost lines")
    parser.add_argument("--write", metavar="FOLDER", help="only write the conversations there")
    args = parser.parse_args()
    args.commands = [SUMMARIZE, *args.commands]
    if "CTX_BIN" in os.environ:
        os.environ["PATH"] = os.environ["CTX_BIN"] + os.pathsep + os.environ["PATH"]
    for language in [args.language] if args.language else LANGUAGES:
        if args.write:
            write(args, language, args.write)
        else:
            report(args, language)


if __name__ == "__main__":
    main()
