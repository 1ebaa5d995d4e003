#!/usr/bin/env python3
"""Makes a batch of many conversations, and measures how fast the tools process it.

    benches/fleet.py make SESSIONS BATCH [--conversations N] [--bin DIR]
    benches/fleet.py run BATCH [--bin DIR] [--runs N] [--tools count,check,...]
    benches/fleet.py fleet BATCH [--bin DIR] [--work DIR]

`make` converts the sessions below the folder SESSIONS to chat, cuts them where no tool call waits
for its result, and writes one conversation on each line; the file is the same each time. `run` measures
each tool in turns, with one job and with as many jobs as there are cores, and compares the outputs.
`fleet` compacts the batch with GNU parallel, with xargs and in a single run, and compares the bytes.
DIR is the folder of the tools (default: target/release).
"""

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

# A run does not fail because one of its conversations cannot be compacted.
FLAGS = ["--budget", "1500", "--tag-failed"]
CORES = os.cpu_count()


def records(path, bin):
    """Returns the messages of a session as chat, or none if the file is not a session."""
    done = subprocess.run([bin / "ctx-convert", "--to", "chat", "-q", path], capture_output=True)
    lines = done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []
    messages = []
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and "role" in message:
            messages.append(message)
    return messages


class Source:
    """A session, and the places where it can be cut."""

    def __init__(self, messages):
        self.messages = messages
        self.texts = [json.dumps(it, ensure_ascii=False, separators=(",", ":")) for it in messages]
        self.sizes = [len(text.encode()) for text in self.texts]
        first = next((at for at, it in enumerate(messages) if it["role"] == "user"), 0)
        self.head = first + 1
        self.cuts, waiting = [], set()
        for at, message in enumerate(messages):
            if not waiting and at >= self.head and message["role"] != "tool":
                self.cuts.append(at)
            waiting |= {call["id"] for call in message.get("tool_calls") or []}
            waiting.discard(message.get("tool_call_id"))
        if not waiting:
            self.cuts.append(len(messages))

    def conversation(self, dice, number, target):
        """Returns the first messages of the session, and a stretch of the others with about this many bytes."""
        head = self.texts[: self.head]
        case = dict(self.messages[self.head - 1])
        if isinstance(case.get("content"), str):
            case["content"] = f"Case {number:06}. {case['content']}"
            head[-1] = json.dumps(case, ensure_ascii=False, separators=(",", ":"))
        begin = at = dice.choice(self.cuts)
        size = sum(self.sizes[: self.head])
        for cut in self.cuts:
            if cut < begin:
                continue
            if size + sum(self.sizes[begin:cut]) > target and cut > begin:
                break
            at = cut
        return f'{{"id":"case-{number:06}","messages":[{",".join(head + self.texts[begin:at])}]}}\n'


def make(args):
    paths = sorted(path for path in args.sessions.rglob("*.json*") if path.is_file())
    sources = [Source(messages) for path in paths if len(messages := records(path, args.bin)) > 3]
    sources = [source for source in sources if source.cuts]
    dice = random.Random(17)
    written = 0
    with open(args.batch, "w", encoding="utf-8") as batch:
        for number in range(args.conversations):
            # Most conversations are short and some are very long, as in a log of many users.
            target = min(400_000, dice.lognormvariate(8.9, 1.0))
            line = dice.choice(sources).conversation(dice, number, target)
            written += len(line.encode())
            batch.write(line)
    print(f"{args.conversations} conversations of {len(sources)} sessions, {written} bytes")


def timed(command, stdout, **more):
    """Returns the seconds, the processor seconds and the exit status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.DEVNULL, **more)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, busy, done.returncode


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def commands(args, small):
    batch = str(args.batch)
    return {
        "count": ["ctx-count", "--batch", "--json", batch],
        "check": ["ctx-check", "--batch", "--json", batch],
        "compact": ["ctx-compact", "--batch", "-q", *FLAGS],
        "score": ["ctx-score", "--batch", "--json", batch, small],
    }


def run(args):
    args.work.mkdir(parents=True, exist_ok=True)
    small = args.work / "small.jsonl"
    size = args.batch.stat().st_size / 1e6
    print("| tool | MB/s, 1 job | processor s | MB/s, a job a core | processor s | times as fast |")
    print("|---|--:|--:|--:|--:|--:|")
    for tool, command in commands(args, str(small)).items():
        if tool not in args.tools:
            continue
        found = {1: [], CORES: []}
        seen = set()
        for _ in range(args.runs):
            for jobs in found:
                out = args.work / f"{tool}.out"
                with open(args.batch, "rb") as source, open(out, "wb") as target:
                    line = [args.bin / command[0], *command[1:], "--jobs", str(jobs)]
                    found[jobs].append(timed(line, target, stdin=source))
                seen.add((digest(out), found[jobs][-1][2]))
                if tool == "compact":
                    out.replace(small)
                out.unlink(missing_ok=True)
        if len(seen) != 1:
            sys.exit(f"{tool}: the number of jobs changes what is written: {seen}")
        one, many = ([statistics.median(it[at] for it in runs) for at in (0, 1)] for runs in found.values())
        print(
            f"| `ctx-{tool}` | {size / one[0]:.1f} | {one[1]:.1f} | {size / many[0]:.1f} | {many[1]:.1f}"
            f" | {one[0] / many[0]:.2f} |",
            flush=True,
        )


def fleet(args):
    """Compacts the batch in a single run, with GNU parallel and with xargs; all must write the same."""
    args.work.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "PATH": f"{args.bin}:{os.environ['PATH']}", "BATCH": str(args.batch)}
    compact = f"ctx-compact --batch -q {' '.join(FLAGS)}"
    ways = {
        "one run": f"{compact} < $BATCH > one.jsonl",
        "GNU parallel": f"parallel --pipe --block 10M -k -j {CORES} '{compact} --jobs 1' < $BATCH > parallel.jsonl",
        "xargs": "mkdir parts new && split -C 10M -a 4 $BATCH parts/ && ls parts |"
        f" xargs -P {CORES} -I {{}} sh -c '{compact} --jobs 1 < parts/{{}} > new/{{}}'"
        " && cat new/* > xargs.jsonl && rm -r parts new",
    }
    size = args.batch.stat().st_size / 1e6
    print("| way | s | processor s | MB/s |")
    print("|---|--:|--:|--:|")
    for way, command in ways.items():
        for name in ("parts", "new"):
            shutil.rmtree(args.work / name, ignore_errors=True)
        wall, busy, status = timed(["bash", "-eo", "pipefail", "-c", command], None, env=env, cwd=args.work)
        if status != 0:
            sys.exit(f"{way} ended with {status}")
        print(f"| {way} | {wall:.1f} | {busy:.1f} | {size / wall:.1f} |", flush=True)
    outputs = {name: digest(args.work / f"{name}.jsonl") for name in ("one", "parallel", "xargs")}
    if len(set(outputs.values())) != 1:
        sys.exit(f"they differ: {outputs}")
    print("all wrote the same bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--bin", type=Path, default=Path("target/release"))
    shared.add_argument("--work", type=Path, default=Path("/tmp/ctx-fleet"))
    for name, act in (("make", make), ("run", run), ("fleet", fleet)):
        command = what.add_parser(name, parents=[shared])
        command.set_defaults(act=act)
        if act is make:
            command.add_argument("sessions", type=Path)
            command.add_argument("--conversations", type=int, default=100_000)
        command.add_argument("batch", type=Path)
        if act is run:
            command.add_argument("--runs", type=int, default=3)
            command.add_argument("--tools", type=lambda text: text.split(","), default="count,check,compact,score".split(","))
    args = parser.parse_args()
    args.bin, args.batch, args.work = args.bin.resolve(), args.batch.resolve(), args.work.resolve()
    args.act(args)


main()
