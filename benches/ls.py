#!/usr/bin/env python3
"""Measures the speed of ctx-ls and of other tools, and checks that ctx-ls and ctx-count agree.

    benches/ls.py agree FOLDER...      checks that ctx-ls and ctx-count find the same messages in each session
    benches/ls.py make HOME            makes up sessions of Claude Code: 1,000 files, 1 GB in total
    benches/ls.py speed HOME           measures time and memory of ctx-ls, cold and warm, on the sessions of HOME

CTX_BIN names the folder of our tools (default: target/release). `speed` also runs clustervision's `cv`, if CV names it, and
ccusage's start script, if CCUSAGE names it. "Cold" means that there is no index or catalogue yet; the files themselves are in
the cache of the system. The commands take turns, and the median counts. HOME is the home folder of all commands.
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
import time
import uuid

BIN = pathlib.Path(os.environ.get("CTX_BIN", "target/release"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("agree")
    one.add_argument("folder", nargs="+", type=pathlib.Path)
    one.add_argument("--damage", type=int, default=0, help="also so many damaged copies of each")
    one.set_defaults(run=agree)
    one = commands.add_parser("make")
    one.add_argument("home", type=pathlib.Path)
    one.add_argument("--sessions", type=int, default=1000)
    one.add_argument("--bytes", type=int, default=1_000_000_000)
    one.set_defaults(run=make)
    one = commands.add_parser("speed")
    one.add_argument("home", type=pathlib.Path)
    one.add_argument("--runs", type=int, default=9)
    one.set_defaults(run=speed)
    args = parser.parse_args()
    sys.exit(args.run(args))


# --- the same messages ------------------------------------------------------------


def agree(args):
    files = [f for folder in args.folder for f in sorted(folder.rglob("*")) if f.suffix in (".jsonl", ".json")]
    compared = differ = 0
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            copies = [file, *damaged(file, args.damage, pathlib.Path(folder))]
            for copy in copies:
                counted = run_json("ctx-count", "--encoding=chars4", copy)
                listed = run_json("ctx-ls", f"--store={folder}/store", copy)
                if listed is None:
                    continue
                compared += 1
                if counted["messages"] != listed["messages"]:
                    differ += 1
                    print(f"{copy}: ctx-count {counted['messages']}, ctx-ls {listed['messages']}")
    print(f"{compared} sessions compared, {differ} differ")
    return 1 if differ else 0


def damaged(file, count, folder):
    """Returns damaged copies: cut, with changed bytes, with runs of NUL, or with two lines joined."""
    rng = random.Random(file.name)
    for number in range(count):
        data = bytearray(file.read_bytes())
        at = rng.randrange(max(1, len(data)))
        match number % 5:
            case 0:
                del data[at:]
            case 1:
                data[at : at + 64] = bytes(64)
            case 2:
                line_end = data.find(b"\n", at)
                if line_end >= 0:
                    del data[line_end]
            case 3:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case _:
                del data[at : at + rng.randrange(2000)]
        copy = folder / f"{number}{file.suffix}"
        copy.write_bytes(data)
        yield copy


def run_json(tool, *args):
    command = [BIN / tool, "--json", "-q", *args]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = done.stdout.splitlines()
    return json.loads(lines[0]) if lines else None


# --- made-up sessions ---------------------------------------------------------------

WORDS = "the mooring of a boat is booked twice since the feed was read again in spring so check it and write a test".split()


def make(args):
    rng = random.Random(7)
    projects = args.home / ".claude/projects"
    size = args.bytes // args.sessions
    for number in range(args.sessions):
        folder = projects / f"-work-project-{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        # Some sessions are long, most are short.
        of_this = int(size * (4 if number % 10 == 0 else 2 / 3))
        (folder / f"{session}.jsonl").write_text("".join(lines(rng, session, number % 20, of_this)))


def lines(rng, session, project, size):
    parent, used, written = None, 20_000, 0

    def node(kind, **members):
        nonlocal parent
        own = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        line = {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": f"/work/project-{project}",
            "sessionId": session, "version": "2.1.197", "gitBranch": "main", "type": kind, **members,
            "uuid": own, "timestamp": "2026-11-22T10:00:00.000Z",
        }
        parent = own
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"

    def text(count):
        return " ".join(rng.choice(WORDS) for _ in range(count))

    while written < size:
        out = []
        if rng.random() < 0.1:
            out.append(node("user", message={"role": "user", "content": text(40)}))
        call, reply = f"toolu_{rng.getrandbits(64):x}", f"msg_{rng.getrandbits(64):x}"
        used += 900
        usage = {"input_tokens": 4, "cache_creation_input_tokens": 900, "cache_read_input_tokens": used - 900,
                 "output_tokens": 120, "service_tier": "standard"}
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": text(12)}}
        out.append(node("assistant", requestId=reply, message={
            "id": reply, "type": "message", "role": "assistant", "model": "claude-opus-4-5-20251101",
            "content": [block], "stop_reason": None, "usage": usage}))
        output = "\n".join(f"\t{text(9)}" for _ in range(rng.randrange(4, 160)))
        result = {"type": "tool_result", "tool_use_id": call, "content": output}
        out.append(node("user", message={"role": "user", "content": [result]},
                        toolUseResult={"stdout": output, "stderr": "", "interrupted": False}))
        if used > 160_000:
            boundary = node("system", subtype="compact_boundary", content="Conversation compacted",
                            logicalParentUuid=parent, compactMetadata={"trigger": "auto", "preTokens": used})
            boundary = json.loads(boundary) | {"parentUuid": None}
            out.append(json.dumps(boundary, separators=(",", ":")) + "\n")
            out.append(node("user", isCompactSummary=True, message={"role": "user", "content": text(900)}))
            used = 30_000
        written += sum(map(len, out))
        yield from out


# --- speed ----------------------------------------------------------------------------


def speed(args):
    home = args.home.resolve()
    files = [f for f in (home / ".claude/projects").rglob("*.jsonl")]
    total = sum(f.stat().st_size for f in files)
    derived = [home / ".local/state/ctx", home / ".cache/clustervision"]
    ours = [str(BIN.resolve() / "ctx-ls")]
    rows = [("ctx-ls, no index", ours, True), ("ctx-ls --jobs 1, no index", [*ours, "--jobs=1"], True), ("ctx-ls", ours, False)]
    if "CV" in os.environ:
        rows += [("cv ls, no catalogue", [os.environ["CV"], "ls"], True), ("cv ls", [os.environ["CV"], "ls"], False)]
    if "CCUSAGE" in os.environ:
        rows += [("ccusage session --offline", ["node", os.environ["CCUSAGE"], "session", "--offline"], False)]
    figures = {name: [] for name, _, _ in rows}
    for _ in range(args.runs):
        for name, command, is_cold in rows:
            if is_cold:
                for folder in derived:
                    shutil.rmtree(folder, ignore_errors=True)
            figures[name].append(clock(command, home))
    load = os.getloadavg()[0]
    print(f"{len(files)} sessions, {total / 1e6:.0f} MB; {os.cpu_count()} cores, load {load:.1f}\n")
    print(f"| | ms, median of {args.runs} | least ms | ms of processor time | peak MB |\n|---|--:|--:|--:|--:|")
    for name, command, is_cold in rows:
        if is_cold:
            for folder in derived:
                shutil.rmtree(folder, ignore_errors=True)
        wall, cpu = zip(*figures[name])
        print(f"| `{name}` | {statistics.median(wall):.1f} | {min(wall):.1f} | {statistics.median(cpu):.1f} | {peak(command, home):.1f} |")
    return 0


def clock(command, home):
    """Returns the milliseconds, and the milliseconds of processor time."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    begin = time.perf_counter()
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    took = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"failed: {command}")
    return took * 1e3, (used.ru_utime + used.ru_stime) * 1e3


def peak(command, home):
    """Returns the peak of memory in MB. GNU time measures it, because a child process starts with the memory of Python."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *command], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    return int(done.stderr.split()[-1]) / 1e3


if __name__ == "__main__":
    main()
