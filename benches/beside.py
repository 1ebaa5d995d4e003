#!/usr/bin/env python3
"""Compares ctx-compact and ctx-prune with other tools, on the same files of Claude Code.

    benches/beside.py files FILE...            tokens before and after, time, whether the client resumes, whether the change can be undone
    benches/beside.py appender FILE --runs 10  whether lines survive if another process appends them while the tool runs
    benches/beside.py exam EXAM FOLDER         what the context still tells, at the size that each other tool leaves

Each trial runs on a copy of the file, in its own home folder, without proxies or telemetry. Environment variables:

    CTX_BIN         the folder of our tools [default: target/release]
    COZEMPIC        the program of cozempic; CLAUDE_RESCUE is the program of claude-rescue (both from PyPI)
    CV              clustervision's `cv`; CCUSAGE is the start script of ccusage (npm)
    CLAUDE_CLIENT   where tests/clients/agents.py has installed Claude Code; if it is not set, no session is resumed

Tools whose variable is not set are skipped with a message. EXAM is a folder with files of questions as evidence.py reads them;
each file names `native` (a session below FOLDER) and `native_cut` (the number of its lines before the cut). ctx-count counts
the tokens of the file; if there is a client, the tokens of the request that it sends are counted, too.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # No cache folders in the repository.
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "clients"))
import agents  # noqa: E402

BIN = pathlib.Path(os.environ.setdefault("CTX_BIN", "target/release")).resolve()
from contexts import KINDS, chat, marks  # noqa: E402

# If nothing forbids it, these tools change the settings of the agent, look for updates and count their users.
QUIET = {"COZEMPIC_NO_AUTO_INIT": "1", "COZEMPIC_NO_GLOBAL_INIT": "1", "COZEMPIC_NO_AUTO_UPDATE": "1", "COZEMPIC_NO_TELEMETRY": "1",
         "DO_NOT_TRACK": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="only the tools whose name has this in it")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("files")
    one.add_argument("file", nargs="+", type=pathlib.Path)
    one.set_defaults(run=files)
    one = commands.add_parser("appender")
    one.add_argument("file", type=pathlib.Path)
    one.add_argument("--runs", type=int, default=10)
    one.set_defaults(run=appender)
    one = commands.add_parser("exam")
    one.add_argument("exam", type=pathlib.Path)
    one.add_argument("folder", type=pathlib.Path)
    one.add_argument("--contexts", type=pathlib.Path, help="write the contexts there, for a reader")
    one.set_defaults(run=exam)
    args = parser.parse_args()
    sys.exit(args.run(args))


# --- one file in a home -----------------------------------------------------------


class Trial:
    """A copy of a session, in the folder where Claude Code looks for sessions."""

    def __init__(self, source):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ctx-beside-"))
        self.bytes = source if isinstance(source, bytes) else source.read_bytes()
        self.home = self.folder / "home"
        place = CLIENT.place(str(self.home), self.bytes.decode(errors="replace"))
        self.path, self.identity, self.work = pathlib.Path(place[0]), place[1], place[2]
        self.path.write_bytes(self.bytes)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command):
        """Returns the exit status, the output and the seconds of processor time."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), **QUIET}
        with tempfile.TemporaryFile("w+") as said:
            child = subprocess.Popen(list(map(str, command)), cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            return child.returncode, said.read(), used.ru_utime + used.ru_stime


class Done:
    """The result of a tool: the session that can be continued, or the reason why there is none."""

    def __init__(self, trial, ran, path=None, refused=None):
        self.code, self.said, self.seconds = ran
        self.refused = refused
        self.path = path or trial.path
        self.identity = self.path.stem


# --- the tools --------------------------------------------------------------------


class Ours:
    needs = None
    is_ours = True

    def __init__(self, name, program, *flags):
        self.name, self.program, self.flags = name, program, flags

    def shrink(self, trial, *more, min_idle="0s"):
        store = trial.folder / "store"
        ran = trial.run([BIN / self.program, "--store", store, "--min-idle", min_idle, *self.flags, *more, trial.path])
        did_nothing = ran[0] != 0 or trial.path.read_bytes() == trial.bytes
        return Done(trial, ran, refused=last_line(ran[1]) or "no smaller" if did_nothing else None)

    def undo(self, trial, _done):
        trial.run([BIN / "ctx-rollback", "--store", trial.folder / "store", "--min-idle", "0s", "--undo", trial.path])
        return trial.path.read_bytes() == trial.bytes


class Budget(Ours):
    """Compacts to a share of the session's tokens, with its own policy if one is given."""

    def __init__(self, name, share, policy=None):
        self.share, self.policy = share, policy
        super().__init__(name, "ctx-compact", "--force", "--no-calibrate")

    def shrink(self, trial, *more, min_idle="0s"):
        if self.policy:
            path = trial.folder / "policy.toml"
            path.write_text(self.policy)
            more = ("--config", path, *more)
        return super().shrink(trial, "--budget", str(int(self.share * tokens_of(trial.path))), *more, min_idle=min_idle)


class Cozempic:
    needs, name, is_ours = "COZEMPIC", "cozempic, aggressive", False

    def shrink(self, trial):
        ran = trial.run([os.environ[self.needs], "treat", trial.path, "-rx", "aggressive", "--execute"])
        why = re.search(r"\((C\d+[^)]*)", ran[1])
        return Done(trial, ran, refused=None if "Final size" in ran[1] else why[1] if why else last_line(ran[1]))

    def undo(self, trial, _done):
        """Returns True if the tool leaves a copy with the old bytes next to the file; it has no undo command."""
        return any(copy.read_bytes() == trial.bytes for copy in trial.path.parent.glob("*.bak"))


class NewSession:
    """Tools that write a new session with another id and leave the old one unchanged."""

    is_ours = False

    def undo(self, trial, _done):
        return trial.path.read_bytes() == trial.bytes


class CvPrune(NewSession):
    needs, name = "CV", "cv prune --drop-thinking"

    def shrink(self, trial):
        ran = trial.run([os.environ[self.needs], "prune", "--drop-thinking", "--json", trial.path])
        found = re.search(r'"new_path": "([^"]+)"', ran[1])
        return Done(trial, ran, pathlib.Path(found[1])) if found else Done(trial, ran, refused=last_line(ran[1]))


class CvDistill(NewSession):
    needs, name = "CV", "cv distill --session"

    def shrink(self, trial):
        ran = trial.run([os.environ[self.needs], "distill", "--session", "--json", "--out", trial.folder / "out", trial.path])
        found = re.search(r'"path": "([^"]+)"', ran[1])
        if not found:
            return Done(trial, ran, refused=last_line(ran[1]))
        # The client looks here for the sessions of this folder.
        path = trial.path.parent / pathlib.Path(found[1]).name
        shutil.copy(found[1], path)
        return Done(trial, ran, path)


class Rescue(NewSession):
    needs, name = "CLAUDE_RESCUE", "claude-rescue recover"

    def shrink(self, trial):
        ran = trial.run([os.environ[self.needs], "recover", "--project", trial.path.parent, trial.identity])
        found = re.search(r"to:\s*\n\s*(\S+\.jsonl)", ran[1])
        return Done(trial, ran, pathlib.Path(found[1])) if found else Done(trial, ran, refused="has one chain" if "only one chain" in ran[1] else last_line(ran[1]))


DROP = ["--drop", "before-compaction,dead-branches,rewritten,sidechains,progress,file-history,copies,reasoning"]
PRUNE = ["-i", *DROP, "--trim", "--max-chars", "1000"]
# Shorter results and no reasoning make room for more messages.
SHORTENED = '[prune]\nmax_chars = 500\ndrop = ["reasoning", "empty", "noise", "superseded", "duplicates"]\n'
# Settings that leave less and less, to find one that reaches the size of another tool.
LESS = [["--trim", "--max-chars", str(chars)] for chars in (int(10000 / 1.2**step) for step in range(26))] + [["--clear"]]
TOOLS = [
    Cozempic(), CvPrune(), CvDistill(), Rescue(),
    Ours("ctx-prune --trim", "ctx-prune", *PRUNE),
    Ours("ctx-compact", "ctx-compact", "--force"),
    Budget("ctx-compact --budget, 40 %", 0.4),
    Budget("ctx-compact --budget, 40 %, shortened", 0.4, SHORTENED),
]


def at_hand(args):
    """Returns the tools that are installed, and prints which ones are missing."""
    for tool in TOOLS:
        if args.only not in tool.name:
            continue
        if tool.needs is None or os.environ.get(tool.needs):
            yield tool
        else:
            print(f"skipped: {tool.name}: {tool.needs} does not name it", file=sys.stderr)


def last_line(text):
    return (text.strip().splitlines() or [""])[-1]


# --- the content of a file, and the client's view of it ---------------------------


class Client(agents.ClaudeCode):
    """Places sessions for Claude Code, also if the client itself is not installed."""

    def __init__(self):
        self.installed = os.environ.get("CLAUDE_CLIENT")
        super().__init__(self.installed or "")

    def resume(self, trial, done):
        """Returns the messages of the first request, and removes the lines that the client appended."""
        before = done.path.read_bytes()
        requests, _ = self.requests(str(trial.home), done.identity, trial.work)
        done.path.write_bytes(before)
        return self.messages(requests)

    def own(self, messages):
        """Returns the messages without those that the client adds at each start."""
        for message in messages:
            content = message["content"]
            content = [{"type": "text", "text": content}] if isinstance(content, str) else content
            content = [block for block in content if self.block(message["role"], block)]
            if content:
                yield {"role": message["role"], "content": content}


def tokens_of(path, *flags):
    said = subprocess.run([BIN / "ctx-count", "--json", *flags, path], capture_output=True, text=True)
    return json.loads(said.stdout.splitlines()[0])["tokens"]


def tokens_sent(messages):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as out:
        out.writelines(json.dumps(message) + "\n" for message in CLIENT.own(messages))
        out.flush()
        return tokens_of(out.name, "--dialect", "anthropic", "--encoding", "o200k_base")


def is_legal(messages):
    """Returns True if each call has its result in the next message, and each result has a call."""
    waiting = set()
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        if {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"} != waiting:
            return False
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return not waiting and messages[0]["role"] == "user"


# --- files ------------------------------------------------------------------------


def files(args):
    before = {file: tokens_of(file) for file in args.file}
    print(f"{len(before)} sessions, {sum(f.stat().st_size for f in before)} bytes, {sum(before.values())} tokens in their contexts")
    if not CLIENT.installed:
        print("skipped: CLAUDE_CLIENT does not name a client: nothing is resumed", file=sys.stderr)
    rows = [Row("as it is")]
    for file in args.file:
        with Trial(file) as trial:
            rows[0].add(trial, Done(trial, (0, "", 0)), before[file])
    for tool in at_hand(args):
        row = Row(tool.name)
        for file in args.file:
            with Trial(file) as trial:
                done = tool.shrink(trial)
                row.add(trial, done, before[file], tool)
                note = done.refused or f"{before[file]} -> {row.after[-1]} tokens"
                print(f"{tool.name}: {file.name}: {note}", file=sys.stderr, flush=True)
        rows.append(row)
    print(Row.HEAD)
    for row in rows:
        print(row)
    if not args.only:
        ccusage(args.file)


class Row:
    HEAD = ("| tool | sessions changed | share of their tokens left | bytes of the files left | the client resumes | sends legal messages"
            " | tokens sent / counted | undo is exact | ms of processor time, median |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")

    def __init__(self, name):
        self.name, self.all = name, 0
        self.before, self.after, self.bytes, self.bytes_before = [], [], 0, 0
        self.resumed, self.legal, self.sent, self.undone, self.ms = [], [], [], [], []

    def add(self, trial, done, before, tool=None):
        self.all += 1
        self.ms.append(1000 * done.seconds)
        if done.refused:
            return
        self.before.append(before)
        self.after.append(tokens_of(done.path))
        self.bytes += done.path.stat().st_size
        self.bytes_before += len(trial.bytes)
        if CLIENT.installed:
            messages = CLIENT.resume(trial, done)
            self.resumed.append(messages is not None)
            self.legal.append(bool(messages) and is_legal(messages))
            if messages:
                self.sent.append(tokens_sent(messages) / max(1, self.after[-1]))
        if tool:
            self.undone.append(tool.undo(trial, done))

    def __str__(self):
        def of(found):
            return f"{sum(found)} of {len(found)}" if found else "-"

        left = f"{sum(self.after) / sum(self.before):.2f}" if self.before else "-"
        size = f"{self.bytes / self.bytes_before:.2f}" if self.before else "-"
        sent = f"{min(self.sent):.2f}-{max(self.sent):.2f}" if self.sent else "-"
        return (f"| {self.name} | {len(self.before)} of {self.all} | {left} | {size} | {of(self.resumed)} | {of(self.legal)} | {sent}"
                f" | {of(self.undone)} | {statistics.median(self.ms):.0f} |")


def ccusage(sources):
    """ccusage changes nothing, so this measures the time in which it reads all sessions once."""
    script = os.environ.get("CCUSAGE")
    if not script:
        return print("skipped: ccusage: CCUSAGE does not name it", file=sys.stderr)
    trials = [Trial(file) for file in sources]
    folder = trials[0].path.parent
    for trial in trials[1:]:
        shutil.copy(trial.path, folder)
    code, _, seconds = trials[0].run(["node", script, "session", "--offline", "--json"])
    _, _, ours = trials[0].run([BIN / "ctx-count", "--json", *folder.glob("*.jsonl")])
    for trial in trials:
        trial.__exit__()
    print(f"ccusage session, all of them: exit {code}, {1000 * seconds:.0f} ms; ctx-count, all of them: {1000 * ours:.0f} ms")


# --- while another process appends -----------------------------------------------------------

APPEND = r"""
import json, os, sys, time, uuid
path, stop, parent, session = sys.argv[1:5]
number = 0
while not os.path.exists(stop):
    number += 1
    own = str(uuid.uuid4())
    line = {"parentUuid": parent, "isSidechain": False, "type": "user", "sessionId": session, "uuid": own,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), "message": {"role": "user", "content": f"appended-{number}."}}
    # Opens the file, writes once and closes it, as the client does.
    with open(path, "ab", buffering=0) as out:
        out.write((json.dumps(line, separators=(",", ":")) + "\n").encode())
    parent = own
    print(number, flush=True)
    time.sleep(0.02)
"""


def appender(args):
    print("| tool | runs that wrote | lines appended | lost from the session | lost from the file it wrote | torn |\n|---|--:|--:|--:|--:|--:|")
    for tool in at_hand(args):
        variants = [("", {})]
        if tool.is_ours:
            variants = [("", {"min_idle": "10m"}), (" --min-idle 0s", {"min_idle": "0s"})]
        for name, more in variants:
            wrote, sums, whys = 0, collections.Counter(), collections.Counter()
            for _ in range(args.runs):
                found, done = beside(tool, args.file, more)
                wrote += done.refused is None
                sums.update(found)
                if done.refused:
                    whys[f"exit {done.code}"] += 1
            why = f" ({', '.join(f'{n} times {w}' for w, n in whys.items())})" if whys else ""
            cells = [sums[key] for key in ("appended", "lost", "not carried", "torn")]
            print(f"| {tool.name}{name} | {wrote} of {args.runs}{why} | " + " | ".join(map(str, cells)) + " |", flush=True)


def beside(tool, file, more):
    source = file.read_bytes()
    # The last line of the session ends with a newline, as a running agent leaves it.
    with Trial(source if source.endswith(b"\n") else source + b"\n") as trial:
        stop = trial.folder / "stop"
        last = [json.loads(line) for line in trial.bytes.splitlines() if b'"uuid"' in line][-1]["uuid"]
        agent = subprocess.Popen([sys.executable, "-c", APPEND, trial.path, stop, last, trial.identity], stdout=subprocess.PIPE, text=True)
        time.sleep(0.3)
        done = tool.shrink(trial, **more)
        time.sleep(0.2)
        stop.touch()
        written = [f"appended-{line}.".encode() for line in agent.communicate()[0].split()]
        now, made = trial.path.read_bytes(), done.path.read_bytes()
        torn = sum(not is_object(line) for line in now.splitlines()) - sum(not is_object(line) for line in trial.bytes.splitlines())
        return {"appended": len(written), "lost": sum(line not in now for line in written), "not carried": sum(line not in made for line in written),
                "torn": max(0, torn)}, done


def is_object(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


# --- what the context still tells -------------------------------------------------


def exam(args):
    """Measures the evidence recall of each tool, and of our tools at the size that it leaves."""
    print("| tool | sessions changed | tokens before | recall | tokens after | recall | ctx-prune --trim: tokens | recall | ctx-compact --budget: tokens | recall |\n|---|"
          + "--:|" * 9)
    for tool in at_hand(args):
        kinds = ["as it is", tool.name, f"ctx-prune, as {tool.name}", f"ctx-compact, as {tool.name}"]
        before, after, pruned, summed_up = rows = [Marks(name, args.contexts) for name in kinds]
        for sheet, source in questions(args):
            stem = sheet.stem
            with Trial(source) as trial:
                done = tool.shrink(trial)
                if done.refused:
                    print(f"{tool.name}: {stem}: {done.refused}", file=sys.stderr)
                    continue
                after.add(sheet, done.path)
            with Trial(source) as trial:
                before.add(sheet, trial.path)
                if tool.is_ours:
                    continue
                Ours("", "ctx-compact", "--force", "--no-calibrate", "--budget", str(after.sizes[-1])).shrink(trial)
                summed_up.add(sheet, trial.path)
            with Trial(source) as trial:
                for flags in LESS:
                    trial.path.write_bytes(source)
                    Ours("", "ctx-prune", "-i", *DROP, *flags).shrink(trial)
                    if tokens_of(trial.path) <= after.sizes[-1]:
                        break
                pruned.add(sheet, trial.path)
        cells = " | ".join(f"{sum(row.sizes)} | {row}" for row in ([before, after] if tool.is_ours else rows))
        print(f"| {tool.name} | {len(after.sizes)} | {cells} |{' - |' * 4 if tool.is_ours else ''}", flush=True)
        for row in rows:
            if row.known:
                print(f"{row.name}: {row.by_category()}", file=sys.stderr)


def questions(args):
    for sheet in sorted(args.exam.glob("*.json")):
        asked = json.loads(sheet.read_text())
        if "native" in asked:
            lines = (args.folder / asked["native"]).read_bytes().splitlines(keepends=True)
            yield sheet, b"".join(lines[: asked["native_cut"]])


class Marks:
    """The evidence that is found in the contexts of several sessions."""

    def __init__(self, name, folder):
        self.name, self.folder, self.sizes, self.known = name, folder, [], []

    def add(self, sheet, path):
        # The whole session, including what an earlier compaction by the agent removed from its context.
        session = chat(path)
        known = list(marks(sheet, session, session).values())
        self.known += known
        self.sizes.append(tokens_of(path))
        print(f"{self.name}: {sheet.stem}: {self.sizes[-1]} tokens, {statistics.mean(kept for _, kept in known):.2f}", file=sys.stderr, flush=True)
        if self.folder:
            into = self.folder / re.sub(r"\W+", "-", self.name) / (sheet.stem + ".txt")
            into.parent.mkdir(parents=True, exist_ok=True)
            into.write_text("".join(f"[{message['role']}]\n{text(message)}\n\n" for message in map(json.loads, session.splitlines())))

    def by_category(self):
        found = {kind: [kept for other, kept in self.known if other == kind] for kind in KINDS}
        return "  ".join(f"{kind} {statistics.mean(kept):.2f} ({len(kept)})" for kind, kept in found.items() if kept)

    def __str__(self):
        return f"{statistics.mean(kept for _, kept in self.known):.2f}" if self.known else "-"


def text(message):
    """Returns the text of a chat message that a reader sees."""
    said = message.get("content") or ""
    parts = [said] if isinstance(said, str) else [part.get("text", "") for part in said]
    return "\n".join(parts + [f"{call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls") or []])


CLIENT = Client()
if __name__ == "__main__":
    main()
