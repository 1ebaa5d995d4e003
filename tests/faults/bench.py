"""A folder in which tools run one after the other, and its content."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# The limit of a run in seconds, longer than any run takes even on a busy machine.
PATIENCE = 60


# The times in the lines that the tools write for agents. opencode's ids begin with a time.
TIMES = re.compile(rb'"timestamp":"[^"]*"|"(?:time|created|completed)":\d+|(?<="(?:msg|prt)_)[0-9a-f]{12}')


def sha256(path):
    """Returns the hash of the content without the times in an agent's lines, which depend on the run."""
    return hashlib.sha256(TIMES.sub(b"", content(path))).hexdigest()


def content(path):
    """Returns the content of a file, unpacked if it is packed, or the bytes themselves if that fails."""
    if path.suffix != ".zst":
        return path.read_bytes()
    unpacked = subprocess.run(["zstdcat", str(path)], capture_output=True, check=False)
    return unpacked.stdout if unpacked.returncode == 0 else path.read_bytes()


def snapshots_in(*folders):
    """Yields the bytes of snapshots, plain and packed."""
    return [path for folder in folders for end in ("jsonl", "jsonl.zst") for path in folder.glob(f"*.{end}")]


@dataclass
class Facts:
    """The state of the folder, without times and ids."""

    files: dict  # session files and outputs by name: hashes
    committed: list  # the hash of each snapshot
    packed: list  # hashes of the snapshots that exist only as packed bytes
    held: int  # how many snapshots are held
    trash: set  # names of snapshots in the trash
    memory: dict  # memory files by name: hashes
    offloaded: set  # names of offloaded files
    told: str  # the session's summaries, without their times
    other: set  # hashes of other *.jsonl files with retained sessions

    def bytes(self):
        """Returns the hashes of all sessions that a user can reach."""
        files = set(self.files.values())
        return files | set(self.committed) | self.other


class Bench:
    """The folder `work`, and the tools."""

    def __init__(self, tmp, tools):
        self.tmp, self.tools = Path(tmp), Path(tools)
        self.work = self.tmp / "work"
        self.store = self.work / "store"
        # meta.json contains paths, so a copy of the seed must be at the path of the seed.
        self.kept = self.tmp / "seed"
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CTX_", "XDG_", "LC_", "RUST_"))
        }
        # Filters use this store as well, because some need a store when they replace a session.
        self.env.update(
            LC_ALL="C", HOME=str(self.tmp), TMPDIR=str(self.tmp / "temp"), CTX_HOME=str(self.store)
        )

    def clear(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        (self.tmp / "temp").mkdir(exist_ok=True)

    def keep(self):
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.work, self.kept, symlinks=True)

    def reseed(self):
        for folder in (self.work, self.tmp / "temp"):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.kept, self.work, symlinks=True)
        (self.tmp / "temp").mkdir()

    def tool(self, name, *args):
        """Returns a command that uses the store of this folder."""
        return [str(self.tools / f"ctx-{name}"), "--store", str(self.store), *map(str, args)]

    def filter(self, name, *args):
        """Returns a command of a tool that has no store."""
        return [str(self.tools / f"ctx-{name}"), *map(str, args)]

    def run(self, command, around=(), env=None, limit=None):
        """Runs a command with the file `stdin` as its input; returns None if the command hangs."""
        stdin = self.work / "stdin"
        with open(stdin if stdin.exists() else os.devnull, "rb") as stdin:
            try:
                return subprocess.run(
                    [*around, *command],
                    cwd=self.work,
                    stdin=stdin,
                    capture_output=True,
                    env={**self.env, **(env or {})},
                    timeout=PATIENCE,
                    preexec_fn=limit,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return None

    def must(self, command):
        """Runs a command that prepares the folder, and must succeed."""
        done = self.run(command)
        if done is None or done.returncode != 0:
            raise RuntimeError(f"cannot seed: {command}: {done and done.stderr.decode()}")
        return done.stdout

    def write(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def memory_folders(self):
        """Returns the folders of the memory files and of the master file."""
        roots = (self.work / "memory", self.store / "memory")
        return [root / name for root in roots for name in ("extracted", "summary")]

    def facts(self):
        snapshots = self.store / "memory/session-summaries"
        committed, packed, held = [], [], 0
        for meta in sorted(snapshots.glob("*.meta.json")):
            plain = meta.with_name(meta.name.removesuffix(".meta.json") + ".jsonl")
            zst = plain.with_name(plain.name + ".zst")
            data = plain if plain.exists() else zst
            committed.append(sha256(data) if data.exists() else f"no {plain.name}")
            packed += [committed[-1]] if data == zst else []
            held += '"held":true' in re.sub(r"\s", "", meta.read_text())
        sessions = [path for path in self.work.glob("*.jsonl") if path.is_file()]
        memory = [path for folder in self.memory_folders() for path in folder.glob("*.md")]
        # These are the bytes whose commit record is elsewhere, and the files that were replaced while they were open.
        other = [*snapshots_in(snapshots, *self.store.glob("trash/*")), *self.work.glob(".*.ctx-*")]
        told = "".join(path.read_text() for path in sorted(snapshots.glob("*.md")))
        return Facts(
            files={path.name: sha256(path) for path in sessions},
            committed=sorted(committed),
            packed=sorted(packed),
            held=held,
            trash={path.name for path in self.store.glob("trash/*/*.meta.json")},
            memory={f"{path.parent.name}/{path.name}": sha256(path) for path in memory},
            offloaded={path.name for path in self.store.glob("offloaded/*/*.*") if path.name[0] != "."},
            told=re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", told),
            other={sha256(path) for path in other if path.is_file()},
        )

    def reachable(self, at_last=False):
        """Returns the files that contain the content of a session. In the end all snapshots are committed,
        and nothing is left next to the sessions."""
        snapshots = snapshots_in(self.store / "memory/session-summaries", *self.store.glob("trash/*"))
        beside = self.work.glob(".*.ctx-*")
        if at_last:
            record = lambda path: path.with_name(path.name.split(".jsonl")[0] + ".meta.json")
            snapshots = [path for path in snapshots if record(path).exists()]
            beside = []
        # The memory includes what people wrote into its files at the moment of a kill.
        memory = [path for folder in self.memory_folders() for path in folder.glob("*")]
        memory += self.store.glob("memory/history/*")
        found = [*self.work.glob("*.jsonl"), *snapshots, *beside, *memory]
        return [path for path in found if path.is_file()]

    def strays(self):
        """Returns temporary files, and files next to the sessions that nobody requested."""
        found = set()
        for path in self.work.rglob("*"):
            inside = path.relative_to(self.work)
            ours = ".ctx-tmp-" in path.name or ".ctx-old-" in path.name
            noted = path.parent.name == "appending"
            if (ours and "trash" not in inside.parts) or noted:
                found.add(str(inside))
            elif len(inside.parts) == 1:
                found.add(path.name)
        return found


def line(role, content, **more):
    return json.dumps({"role": role, "content": content, **more}) + "\n"


def talk(turns, words=0):
    """Returns a session with this many turns."""
    long = " " + " ".join(map(str, range(words))) if words else ""
    turn = "{user}{assistant}"
    return "".join(
        turn.format(
            user=line("user", f"question {n}{long}"),
            assistant=line("assistant", f"we decided on answer {n}{long}"),
        )
        for n in range(1, turns + 1)
    )


def log(turns, words):
    """Returns a session with this many turns in the format of Claude Code."""
    lines, parent = "", None
    for n in range(1, turns + 1):
        for kind, said in (("user", "question"), ("assistant", "we decided on answer")):
            uuid = f"{kind[0]}{n}"
            place = {"parentUuid": parent, "isSidechain": False, "sessionId": "s1", "version": "2.1.197"}
            text = " ".join([said, str(n), *map(str, range(words))])
            message = {"id": f"m{uuid}", "role": kind, "content": text}
            at = {"uuid": uuid, "timestamp": f"2026-01-01T00:{n:02}:00.000Z"}
            lines += json.dumps({**place, "type": kind, "message": message, **at}) + "\n"
            parent = uuid
    return lines


def result(name, words):
    """Returns a call and its result."""
    call = {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return line("assistant", None, tool_calls=[call]) + line(
        "tool", " ".join(f"{name}{n}" for n in range(words)), tool_call_id=name
    )
