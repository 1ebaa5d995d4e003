"""L5: agents that replace a file by a rename, at the moment when a tool renames one."""

import os
import re
import signal
import threading
import time
from dataclasses import dataclass

import formats
from bench import content, line, sha256
from faults import calls_of
from oracle import KILLED

CALLS = "renameat2 renameat rename linkat link unlinkat unlink".split()
# The moment when the agent acts and the tool is killed: before the call or after it.
WAYS = {
    "before": ("begins",),
    "after": ("ends",),
    "before and after": ("begins", "ends"),
    "before, killed after": ("begins", "kill"),
}
# The seconds by which the call is delayed: the next number is tried if the agent was too late.
HELD_UP = [0.03, 0.3, 3]
# Simulates a file system that can neither exchange two names nor refuse to replace a file.
NO_EXCHANGE = ("-e", "inject=renameat2:error=EINVAL")


@dataclass(frozen=True)
class Meeting:
    """An agent that acts at one call."""

    fault: str
    way: str
    call: str
    number: int
    around: tuple = ()

    @property
    def where(self):
        return f"{self.way} {self.call} {self.number}"

    @property
    def moments(self):
        return WAYS[self.way]

    def wrong(self, case):
        """Runs the tool with the agent; returns a description of what is wrong afterwards, or None."""
        for held_up in HELD_UP:
            case.bench.reseed()
            agent = Agent(files_of(case), case.operation.agent)
            watch = Watch(case.bench.tmp / "said", self, agent)
            done = case.bench.run(case.command, self.strace(watch.fifo, held_up))
            watch.end()
            if not watch.is_late:
                return judge(case, agent, done)
        return "the agent does not make it"

    def strace(self, output, held_up):
        delay = int(held_up * 1e6)
        inject = f"{self.call}:delay_enter={delay}:delay_exit={delay}:when={self.number}"
        # Trace all calls: the next one shows that the agent was too late.
        return ("strace", "-f", "-qq", "-o", str(output), *self.around, "-e", f"inject={inject}")


def meetings(case):
    """Returns the meetings by fault: agents of each kind, at each call that gives or takes a name."""
    names = {path.name for path in files_of(case)}
    for fault, around in [("agent", ()), ("agent, no exchange", NO_EXCHANGE)]:
        found = []
        for place in calls_of(case.bench, case.command, around):
            # If the file system cannot exchange names, that call fails at once.
            if place.call not in CALLS or (around and place.call == "renameat2"):
                continue
            # Without an exchange of names, a change by an agent between the last check and the rename is lost; no system call could prevent that.
            is_lossy = around and place.call == "rename" and place.onto in names
            for way, moments in WAYS.items():
                if not is_lossy or "begins" not in moments:
                    found.append(Meeting(fault, way, place.call, place.number, around))
        yield fault, found


def files_of(case):
    """The sessions that the operation changes, the memory that it writes, or all files."""
    before, after, work = case.before, case.after, case.bench.work
    changed = [name for name in after.files if after.files[name] != before.files.get(name)]
    memory = [name for name in after.memory if after.memory[name] != before.memory.get(name)]
    folders = [folder for folder in case.bench.memory_folders() if folder.exists()]
    sessions = changed or [name for name in before.files if name == "live.jsonl"]
    return [
        *(work / name for name in sessions),
        *(folder.parent / name for name in memory for folder in folders if folder.name == name.split("/")[0]),
    ]


class Agent:
    """Remembers its files, and rewrites each of them with one more line."""

    def __init__(self, files, name=""):
        self.name = name  # the agent in whose format the sessions are
        self.newest = {path: path.read_bytes() if path.exists() else b"" for path in files}
        self.found = set()  # hashes of what it has replaced
        self.came = 0

    def come(self):
        self.came += 1
        for path in self.newest:
            if path.exists():
                self.found.add(sha256(path))
            text = f"what the agent said at {self.came}"
            self.newest[path] = self.with_more(path, text)
            beside = path.with_name(f"{path.name}.theirs")
            beside.write_bytes(self.newest[path])
            beside.rename(path)

    def with_more(self, path, text):
        before = self.newest[path]
        if path.suffix == ".jsonl" and self.name:
            return formats.said(self.name, before.decode(), text).encode()
        added = line("user", text) if path.suffix == ".jsonl" else f"- {text}\n"
        return before + added.encode()

    def wrote(self, path):
        """Whether a file next to the memory has what the agent wrote into the memory."""
        memory = [newest for file, newest in self.newest.items() if file.parent == path.parent]
        return path.parent.name in ("extracted", "summary") and path.read_bytes() in memory

    def misses(self, files):
        """The name of a file whose newest content is in none of these; None if there is none."""
        there = [content(path) for path in files]
        for path, newest in self.newest.items():
            if not any(newest in found for found in there):
                return path.name
        return None


class Watch(threading.Thread):
    """Reads the output of strace while a tool runs, and starts the agent in time."""

    def __init__(self, fifo, meeting, agent):
        super().__init__(daemon=True)
        self.fifo, self.meeting, self.agent = fifo, meeting, agent
        self.said, self.is_over, self.is_late = "", threading.Event(), False
        os.mkfifo(fifo)
        # Traces both, so that it does not wait for strace.
        self.output = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        self.start()

    def run(self):
        self.meet()
        while not self.is_over.is_set():
            self.read()

    def meet(self):
        moments = self.meeting.moments
        begun = self.wait(rf"^(\d+) +{self.meeting.call}\(", self.meeting.number)
        if not begun:
            return
        if "begins" in moments:
            self.agent.come()
            self.read()
            self.is_late = "(DELAYED)" in self.said
        ended = self.wait(r"()\(DELAYED\)\n")
        if not ended:
            return
        if "ends" in moments:
            self.agent.come()
        if "kill" in moments:
            try:
                os.kill(int(begun.group(1)), signal.SIGKILL)
            except ProcessLookupError:
                self.is_late = True
                return
        self.read()
        # The process was killed, or has made its next call.
        goes_on = re.compile(rf"{begun.group(1)} +\w+\(")
        self.is_late = self.is_late or bool(goes_on.match(self.said, ended.end()))

    def wait(self, pattern, number=1):
        """The match with this number among the calls of one process."""
        while True:
            count = {}
            for found in re.finditer(pattern, self.said, re.MULTILINE):
                process = found.group(1)
                count[process] = count.get(process, 0) + 1
                if count[process] == number:
                    return found
            if self.is_over.is_set():
                return None
            self.read()

    def read(self):
        try:
            self.said += os.read(self.output, 1 << 20).decode(errors="replace")
        except BlockingIOError:
            time.sleep(0.0005)

    def end(self):
        self.is_over.set()
        self.join()
        os.close(self.output)
        self.fifo.unlink()


def judge(case, agent, done):
    """Describes what is wrong after a run with the agent; None if nothing is."""
    if not agent.came:
        return case.judge(done)
    if done is None:
        return "it hangs"
    bench = case.bench
    lost = agent.misses(bench.reachable())
    if lost:
        return f"what the agent wrote to {lost} is lost"
    if case.operation.naive:
        return None
    return (
        case.lost(case.kept - agent.found)
        or case.damage()
        or exit_status(case, agent, done)
        or goes_on(case, agent)
    )


def exit_status(case, agent, done):
    """Whether the exit status is correct."""
    status, said = done.returncode, done.stderr.decode(errors="replace")[-300:]
    if status in (2, 4):
        for path, newest in agent.newest.items():
            found = path.read_bytes()
            is_memory = path.suffix != ".jsonl"
            if found != newest and not (is_memory and case.operation.remembers and newest in found):
                return f"exit {status}, but {path.name} is not the agent's: {said}"
        return None
    if status in (0, 5, KILLED, *case.operation.answers) or (status == 3 and case.operation.partial):
        return None
    return f"exit {status}: {said}"


def goes_on(case, agent):
    """The next run, without an agent, cleans up, and the text of the agent can be found."""
    again = case.bench.run(case.command)
    if again.returncode not in case.operation.again:
        said = again.stderr.decode(errors="replace")[-300:]
        return f"the next run ends with {again.returncode}: {said}"
    # What people wrote into the memory is never removed, wherever it is.
    left = [name for name in case.left() if not agent.wrote(case.bench.work / name)]
    if left:
        return f"left: {', '.join(left[:3])}"
    lost = agent.misses(case.bench.reachable(at_last=True))
    return case.damage() or (f"what the agent wrote to {lost} is lost in the end" if lost else None)
