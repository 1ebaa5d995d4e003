"""Makes the agents themselves read what our tools wrote, and prints a table of the trials."""

import argparse
import collections
import datetime
import os
import re
import shutil
import sys
import tempfile

import agents
import hand
import hook
import judge
import kimi
import opencode
import own
import qwen
import qwen_random
import sessions
import shapes
import terminal
from judge import Failed, Skipped

KINDS = ["compaction", "generations", "conversion", "view", "shape", "hand", "hook"]


def made_up(agent, installed):
    """Returns the trials of made-up sessions: for each its kind, its name, and a function that gets a folder."""
    # Sessions that the agent writes itself are only written when they are needed.
    made_up = {name: lambda text=text: text for name, text in sessions.MADE_UP[agent.name].items()}
    if agent.name in own.OWN:
        made_up.update({name: lambda name=name: own.text(agent, name) for name in own.OWN[agent.name][1]})
    if agent.name == "kimi":
        made_up.update({name: lambda name=name: kimi.own(agent, name) for name in kimi.OWN})
    if agent.name == "opencode":
        made_up.update({name: lambda name=name: opencode.text(agent, name) for name in opencode.OWN})
    if agent.name == "qwen":
        made_up.update({name: lambda name=name: qwen.text(agent, name) for name in qwen.OWN})
    for name, text in made_up.items():
        for tail in judge.TAILS:
            yield "compaction", f"{name} {tail}", lambda folder: judge.compaction(agent, text(), tail, folder, True)
        yield "generations", name, lambda folder: judge.generations(agent, text(), folder, True)
        # The Copilot CLI itself answers a call that has no result.
        if agent.name in (*own.OWN, "kimi", "opencode", "qwen") and name != "open":
            yield "view", name, lambda folder: judge.view(agent, text(), folder)
    if agent.name == "qwen":
        yield "view", "random sessions", lambda folder: qwen_random.view(agent, folder)
    for other in (kind(installed) for kind in agents.AGENTS if kind not in (agents.OpenClaw, agents.OldPi)):
        if other.format != agent.format and other.install() is None:
            yield "conversion", f"from {other.name}", lambda folder: judge.conversion(agent, sessions.MADE_UP[other.name]["plain"], other, folder)
    if agent.name in hand.STARTS:
        for step in hand.STEPS:
            yield "hand", step, lambda folder: hand.opening(agent, step, folder)
            if agent.name == "claude-code":
                yield "hand", f"{step}, where it may ask", lambda folder: hand.opening(agent, step, folder, asks=True)
    if agent.name == "claude-code":
        for name in shapes.SHAPES:
            yield "shape", name, lambda folder: shapes.shape(agent, name, folder)
        yield "hook", "examples/session.jsonl", lambda folder: hook.hook(agent, hook.example(), folder)


def of_operands(agent, operands):
    for name, text in found(agent, operands):
        for tail in judge.TAILS:
            yield "compaction", f"{name} {tail}", lambda folder: judge.compaction(agent, text, tail, folder, False)
        yield "generations", name, lambda folder: judge.generations(agent, text, folder, False)
        if agent.name == "claude-code":
            yield "hand", name, lambda folder: hand.recorded(agent, text, folder)
            yield "hook", name, lambda folder: hook.hook(agent, text, folder)


def found(agent, operands):
    for operand in operands:
        walk = [(os.path.dirname(operand), [], [os.path.basename(operand)])] if os.path.isfile(operand) else os.walk(operand)
        for folder, _, names in walk:
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(".jsonl"):
                    with open(path, newline="", errors="surrogateescape") as session:
                        text = session.read()
                    if agent.is_own(text):
                        yield os.path.splitext(name)[0], agent.here(text)


def tried(trial):
    """Runs a trial; returns its outcome and its message."""
    folder = tempfile.mkdtemp(prefix="ctx-clients-")
    try:
        return "ran", trial(folder)
    except Skipped as why:
        return "skipped", f"skipped: {why}"
    except Failed as why:
        return "failed", f"FAILED: {why}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(results, missing):
    rows = [("agent and version", "trials", "ran", "failed", "skipped")]
    for (agent, kind), ends in results.items():
        rows.append((agent, kind, ends["ran"] + ends["failed"], ends["failed"], ends["skipped"]))
    rows.append(("all", "", *(sum(row[at] for row in rows[1:]) for at in (2, 3, 4))))
    print()
    for row in rows:
        print("{:<24} {:<12} {:>5} {:>7} {:>8}".format(*row))
    for agent, why in missing.items():
        print(f"skipped: {agent}: {why}")


def write(path, results):
    """Updates the rows of the agents that ran in the table between the two marks in the file."""
    with open(path) as file:
        before, table, after = re.split(r"(?<=<!-- judges -->\n)|(?=<!-- end of judges -->)", file.read())
    rows = dict(re.findall(r"^\| ([^|]+?) \| (.*)$", table, re.M))
    heading, line = ("agent and version", rows.pop("agent and version")), ("---", rows.pop("---"))
    by_agent = collections.defaultdict(dict)
    for (agent, kind), ends in results.items():
        by_agent[agent][kind] = ends
    for agent, kinds in by_agent.items():
        trials = ", ".join(f"{kind} {ends['ran'] + ends['failed']}" for kind, ends in kinds.items())
        failed = sum(ends["failed"] for ends in kinds.values())
        rows[agent] = f"{trials} | {failed} | {datetime.date.today()} |"
    with open(path, "w") as file:
        table = [heading, line, *sorted(rows.items())]
        file.write(before + "".join(f"| {agent} | {row}\n" for agent, row in table) + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--installed", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--versions", action="append", metavar="tested|newest|NUMBER", help="which version of each agent; all that are named (tested)")
    parser.add_argument("--agent", choices=[agent.name for agent in agents.AGENTS])
    parser.add_argument("--kind", choices=KINDS, action="append", help="only trials of this kind (can be repeated)")
    parser.add_argument("--table", metavar="FILE", help="write the results into the table of judges in this file, such as docs/agents.md")
    parser.add_argument("sessions", nargs="*", help="recorded sessions, or folders of them; without, made-up ones are tried")
    args = parser.parse_args()
    args.installed = os.path.abspath(args.installed)
    results, missing = collections.defaultdict(collections.Counter), {}
    no_terminal = terminal.missing()
    print(f"node {agents.provide_node(args.installed)}")
    ran = set()
    for kind, wanted in ((kind, wanted) for kind in agents.AGENTS for wanted in args.versions or ["tested"]):
        if args.agent not in (None, kind.name):
            continue
        agent = kind(args.installed, wanted)
        if why := agent.install(is_named=args.agent is not None):
            missing[agent.name] = why
            continue
        # For some agents the newest version is also the tested one.
        label = f"{agent.name} {agent.version}"
        if label in ran:
            continue
        ran.add(label)
        for trials, name, trial in of_operands(agent, args.sessions) if args.sessions else made_up(agent, args.installed):
            if args.kind and trials not in args.kind:
                continue
            end, said = ("skipped", f"skipped: {no_terminal}") if trials == "hand" and no_terminal else tried(trial)
            results[label, trials][end] += 1
            print(f"{label} {trials} {name}: {said}", flush=True)
    show(results, missing)
    if args.table:
        write(args.table, results)
    sys.exit(1 if any(ends["failed"] for ends in results.values()) else 0)


main()
