#!/usr/bin/env python3
"""Time and memory of the tools that read and compact a long session of Claude Code, compared with jq.

    benches/big.py make FILE      a made-up session of 400 MB
    benches/big.py run FILE       measures ctx-count, ctx-check, ctx-compact and ctx-rollback on it

`make` writes the same session each time. It has the proportions of recorded sessions, as `ctx-count --by reach` shows them: half of
the bytes are before the last of its 100 compactions, a fifth are second copies of results, and a sixth is sent; the rest are file
snapshots, progress records, abandoned branches and subagents. The sixth that is sent is far more than any window can hold. With
`--last 0.005` what is sent after the last compaction fits into a window.

`run` changes a copy of FILE in the same folder, with a store there, and removes both at the end; each undo has to restore the same
bytes. The commands take turns, and the median counts. Times are processor times, because other work on the machine changes them
least. Several `--bin NAME=FOLDER` compare builds; without it the build in CTX_BIN or target/release is measured. `run` needs jq,
and GNU time at /usr/bin/time for the peaks of memory.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import uuid

WINDOWS = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("make")
    one.add_argument("file", type=pathlib.Path)
    one.add_argument("--bytes", type=int, default=400_000_000)
    one.add_argument("--last", type=float, default=0.47, help="the share of the bytes behind the last compaction")
    one.set_defaults(run=make)
    one = commands.add_parser("run")
    one.add_argument("file", type=pathlib.Path)
    one.add_argument("--bin", action="append", default=[], metavar="NAME=FOLDER")
    one.add_argument("--runs", type=int, default=3)
    one.add_argument("--only", help="rows that hold this word")
    one.set_defaults(run=run)
    args = parser.parse_args()
    sys.exit(args.run(args))


# --- a made-up session ------------------------------------------------------------

WORDS = """the mooring of a boat is booked twice since feed was read again in spring so check it and write test for each berth
harbour crane ferry tide pilot anchor deck cargo ledger invoice customs night import parser cursor retry timeout index migrate
""".split()
NAMES = "parse load store merge split verify count promote import_feed waitlist ledger tariff".split()


class Session:
    """The lines of a session, with the members that Claude Code adds to each."""

    def __init__(self, out):
        self.rng = random.Random(13)
        self.out = out
        self.written = 0
        self.parent = None
        self.minute = 0
        self.used = 30_000
        self.open = 0
        self.pool = [self.code_line() for _ in range(20_000)]

    def code_line(self):
        rng = self.rng
        name, word, number = rng.choice(NAMES), rng.choice(WORDS), rng.randrange(10_000)
        return rng.choice([
            f"    {name}_{word} = {name}({word!r}, limit={number})",
            f"        if {word}.{name}(row[{number % 12}]) is None:",
            f"{number:>6}→  {self.words(9)}",
            f"src/{word}/{name}.py:{number}:    return {name}_{word}(\"{self.words(3)}\")",
            f"2026-05-{number % 28 + 1:02} {number % 24:02}:17:{number % 60:02} INFO {name}: {self.words(6)} id={number:x}",
            f"FAILED tests/test_{name}.py::test_{word} - AssertionError: {number} != {number + 1}",
        ])

    def words(self, count):
        return " ".join(self.rng.choices(WORDS, k=count))

    def id(self, kind=""):
        return f"{kind}{self.rng.getrandbits(96):024x}"

    def time(self):
        self.minute += 1
        day, minute = divmod(self.minute // 20, 1440)
        return f"2026-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}T{minute // 60:02}:{minute % 60:02}:{self.minute % 20 * 3:02}.000Z"

    def line(self, value):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
        data = text.encode()
        self.written += len(data)
        self.out.write(data)

    def node(self, kind, parent=None, side=None, **members):
        """Adds a line to the tree; it becomes the parent of the next line."""
        own = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        hangs_on = parent or self.parent
        line = {"parentUuid": hangs_on, "isSidechain": side is not None, "userType": "external", "cwd": "/work/harbour",
                "sessionId": "0b5e1f4e-0000-4000-8000-000000000013", "version": "2.1.197", "gitBranch": "main", "slug": "calm-tide",
                "type": kind, **members, "uuid": own, "timestamp": self.time()}
        if side is not None:
            line["agentId"] = side
        self.line(line)
        if kind != "progress":
            self.parent = own
        return own

    def blocks(self, *blocks, side=None):
        """Adds a reply: each block is a line that records the usage of the whole reply."""
        reply, request = self.id("msg_"), self.id("req_")
        usage = {"input_tokens": 4, "cache_creation_input_tokens": 900, "cache_read_input_tokens": self.used - 900,
                 "cache_creation": {"ephemeral_5m_input_tokens": 900, "ephemeral_1h_input_tokens": 0},
                 "output_tokens": 120, "service_tier": "standard"}
        for block in blocks:
            self.node("assistant", side=side, requestId=request, message={
                "model": "claude-opus-4-5-20251101", "id": reply, "type": "message", "role": "assistant", "content": [block],
                "stop_reason": None, "stop_sequence": None, "usage": usage})

    def ask(self):
        asked = self.node("user", message={"role": "user", "content": self.words(60)})
        if self.rng.random() < 0.5:
            files = {f"src/{name}.py": {"backupFileName": self.id()[:16] + "@v2", "version": 2, "backupTime": self.time()} for name in NAMES}
            self.line({"type": "file-history-snapshot", "messageId": asked,
                       "snapshot": {"messageId": asked, "trackedFileBackups": files, "timestamp": self.time()}, "isSnapshotUpdate": False})

    def exchange(self, side=None):
        rng = self.rng
        call = self.id("toolu_")
        blocks = [{"type": "tool_use", "id": call, "name": rng.choice(["Bash", "Read", "Grep"]),
                   "input": {"command": self.words(8), "description": self.words(5)}}]
        if rng.random() < 0.3:
            blocks.insert(0, {"type": "text", "text": self.words(50)})
        if rng.random() < 0.2:
            blocks.insert(0, {"type": "thinking", "thinking": self.words(60), "signature": self.id() * 12})
        self.blocks(*blocks, side=side)
        if rng.random() < 0.5:
            self.node("progress", side=side, toolUseID=call, parentToolUseID=call,
                      data={"type": "bash_progress", "output": self.words(20), "fullOutput": "", "elapsedTimeSeconds": 3, "totalLines": 0})
        output = "\n".join(rng.choices(self.pool, k=rng.randrange(4, 110)))
        file = {"filePath": "/work/harbour/src/feed.py", "content": output, "numLines": 90, "startLine": 1}
        # The second copy has the text that the screen shows, often with a patch.
        copy = {"type": "text", "file": file} if rng.random() < 0.5 else {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        if rng.random() < 0.35:
            copy["originalFile"] = "\n".join(rng.choices(self.pool, k=rng.randrange(20, 160)))
        source = self.parent
        self.node("user", side=side, message={"role": "user", "content": [{"tool_use_id": call, "type": "tool_result", "content": output}]},
                  toolUseResult=copy, sourceToolAssistantUUID=source)
        if side is None:
            self.used += 900 + len(output) // 4

    def turn(self):
        rng = self.rng
        self.ask()
        asked = self.parent
        for _ in range(rng.randrange(2, 14)):
            self.exchange()
        if rng.random() < 0.08:
            # The user withdraws the reply, so the next line is attached to the request.
            self.parent = asked
            for _ in range(3):
                self.exchange()
        if rng.random() < 0.03:
            own, agent = self.parent, self.id()[:7]
            for _ in range(5):
                self.exchange(side=agent)
            self.parent = own
        self.blocks({"type": "text", "text": self.words(80)})
        self.node("system", subtype="turn_duration", durationMs=88_362, isMeta=False)

    def compaction(self):
        last, self.parent = self.parent, None
        self.node("system", subtype="compact_boundary", content="Conversation compacted", isMeta=False, level="info",
                  logicalParentUuid=last, compactMetadata={"trigger": "auto", "preTokens": self.used})
        self.node("user", isVisibleInTranscriptOnly=True, isCompactSummary=True, message={"role": "user", "content":
                  "This session is being continued from a previous conversation.\n" + self.words(900)})
        self.used = 30_000


def make(args):
    behind = int(args.bytes * args.last)
    window = (args.bytes - behind) // WINDOWS
    with args.file.open("wb", buffering=1 << 20) as out:
        session = Session(out)
        session.line({"type": "summary", "summary": "The bookings of the harbour", "leafUuid": session.id()})
        for number in range(1, WINDOWS + 1):
            while session.written < number * window:
                session.turn()
            session.compaction()
        while session.written < args.bytes:
            session.turn()
    return 0


# --- speed and memory ---------------------------------------------------------------


def run(args):
    bins = dict(name.split("=", 1) for name in args.bin) or {"": os.environ.get("CTX_BIN", "target/release")}
    size = args.file.stat().st_size
    figures = {}
    with tempfile.TemporaryDirectory(dir=args.file.parent) as folder:
        folder = pathlib.Path(folder)
        for _ in range(args.runs):
            for row, figure in measured(args, bins, folder):
                figures.setdefault(row, []).append(figure)
    load = os.getloadavg()[0]
    medians = {row: [statistics.median(values) for values in zip(*all)] for row, all in figures.items()}
    of_jq = medians["`jq -c .`"][0]
    print(f"{size:,} bytes; {os.cpu_count()} cores, load {load:.1f}\n")
    print(f"| | s of processor time, median of {args.runs} | ms per MB | times the time of jq | s | peak MB |\n|---|--:|--:|--:|--:|--:|")
    for row, (cpu, wall, peak) in medians.items():
        print(f"| {row} | {cpu:.2f} | {cpu * 1e9 / size:.1f} | {cpu / of_jq:.2f} | {wall:.1f} | {peak:.1f} |")
    return 0


def measured(args, bins, folder):
    """Runs each command once and returns the measurements."""
    yield "`jq -c .`", clock(["jq", "-c", ".", args.file])
    for name, bin in bins.items():
        bin, named = pathlib.Path(bin), f"{name}: " if name else ""
        copy, store = folder / "session.jsonl", folder / "store"
        reads = [["ctx-count"], ["ctx-count", "--by", "reach"], ["ctx-count", "--calibrate"], ["ctx-check"]]
        for command in reads:
            if wanted(args, command):
                yield f"{named}`{' '.join(command)}`", clock([bin / command[0], *command[1:], args.file], may_say_no=True)
        now = ["--min-idle", "0s", "--force"]
        for command in (["ctx-compact", *now], ["ctx-compact", *now, "--budget", "100000"]):
            undo = ["ctx-rollback", "--undo"]
            if not wanted(args, command):
                continue
            shutil.copyfile(args.file, copy)
            yield f"{named}`{' '.join(command)}`", clock([bin / command[0], *command[1:], "-q", "--store", store, copy])
            if copy.stat().st_size <= args.file.stat().st_size:
                sys.exit(f"{bin}: nothing was compacted")
            figure = clock([bin / undo[0], undo[1], *now[:2], "-q", "--store", store, copy])
            if subprocess.run(["cmp", args.file, copy]).returncode != 0:
                sys.exit(f"{bin}: the undo is not exact")
            if "--budget" not in command:
                yield f"{named}`{' '.join(undo)}`", figure
            shutil.rmtree(store)


def wanted(args, command):
    return args.only is None or args.only in " ".join(command)


def clock(command, may_say_no=False):
    """Returns processor seconds, seconds, and the peak of memory in MB. GNU time measures the peak, because a child process of
    Python starts with the memory of Python."""
    timed = ["/usr/bin/time", "-f", "%U %S %e %M", *command]
    done = subprocess.run(timed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode > (1 if may_say_no else 0):
        sys.exit(f"failed: {command}: {done.stderr[-500:]}")
    user, system, wall, peak = done.stderr.split()[-4:]
    return float(user) + float(system), float(wall), int(peak) / 1e3


if __name__ == "__main__":
    main()
