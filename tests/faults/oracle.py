"""The conditions that must be true after any fault."""

import re

from bench import sha256

KILLED = -9
# The Rust runtime aborts the process if it gets no memory, which is like a kill.
ABORTED = -6
NO_MEMORY = ("memory allocation of", "failed to allocate an alternative stack", "guard page")
# The loader of the system found no library, or failed to report that it has no memory, so the
# tool has not started.
NOT_LOADED = 127
LOADER_FAULT = -11


# A line of a memory file that a person wrote.
MINE = "- mine, for ever\n"


class Case:
    """An operation with its seed, and the result of a run without a fault."""

    def __init__(self, bench, operation):
        self.bench, self.operation = bench, operation
        bench.clear()
        self.command = operation.seed(bench)
        bench.keep()
        bench.reseed()
        self.before, self.old = bench.facts(), self.sessions()
        self.done = bench.run(self.command)
        self.after, self.new = bench.facts(), self.sessions()
        # Files that the run itself removes may be gone; all others may not.
        self.kept = self.before.bytes() & (self.after.bytes() | self.within())
        self.strays = bench.strays()

    def sessions(self):
        """Returns the content of those files of which the new ones may have only a part."""
        names = self.bench.work.glob("*.jsonl") if self.operation.appends else ()
        return {path.name: path.read_bytes() for path in names}

    def is_refused(self):
        return not self.operation.naive and self.done.returncode != 0

    def within(self):
        """Returns the hashes of the content to which references lead."""
        name = self.operation.puts_back
        if not name or not (self.bench.work / name).exists():
            return set()
        command = self.bench.tool("offload", "-s", "demo", "--restore", name)
        done = self.bench.run([*command, "-o", str(self.bench.tmp / "back")])
        if done is None or done.returncode != 0:
            return set()
        return {sha256(self.bench.tmp / "back")}

    def judge(self, done, early=False):
        """Returns a description of what is wrong after a run with a fault, or None. With `early` the fault
        happened before the tool started."""
        status = done and done.returncode
        if early and status in (NOT_LOADED, LOADER_FAULT):
            return self.changed(self.bench.facts()) or self.goes_on()
        wrong = self.consistent(status) or self.exit_status(done)
        if wrong:
            return wrong
        now = self.bench.facts()
        if self.operation.naive or (self.is_lesser(now, status) and now.files != self.after.files):
            return None
        return self.goes_on()

    def noticed(self, done):
        """Returns a message if the run ended differently than without a fault."""
        if done is None or self.operation.naive or done.returncode == self.done.returncode:
            return None
        said = done.stderr.decode(errors="replace")[-300:]
        return f"exit {done.returncode} instead of {self.done.returncode}: {said}"

    def is_lesser(self, now, status):
        """Returns True if the session was summarized without the unreadable content, with a warning."""
        saved = set(self.before.files.values()) <= set(now.committed)
        return self.operation.sums_up and status == 3 and saved

    def is_torn(self, name, status):
        """Returns True if the run was killed while it appended lines; the next run removes the torn part."""
        if status != KILLED or name not in self.old or name not in self.new:
            return False
        now, old = (self.bench.work / name).read_bytes(), self.old[name]
        # The times in our lines differ from run to run in their digits.
        timeless = [re.sub(rb"\d", b"0", text) for text in (now, self.new[name])]
        return now.startswith(old) and timeless[1].startswith(timeless[0])

    def consistent(self, status=None):
        """Returns a message unless live files are old or new, no byte is lost, and nothing is damaged."""
        now = self.bench.facts()
        for name in {*self.before.files, *self.after.files, *now.files}:
            of = [facts.files.get(name) for facts in (self.before, self.after, now)]
            # A result that cannot be put back stays a reference, in a copy of the old session.
            copied = self.operation.partial and of[2] in self.before.files.values()
            lesser = self.is_lesser(now, status) or self.is_torn(name, status)
            if of[2] not in of[:2] and not copied and not lesser:
                return f"{name} is neither old nor new"
        lost = self.lost(self.kept)
        if lost:
            return lost
        if self.operation.naive and self.before.bytes() - now.bytes():
            return "old bytes are lost"
        if any(MINE not in path.read_text() for path in self.mine()):
            return "what somebody wrote is lost"
        return self.damage()

    def mine(self):
        """Returns the memory files that a person has edited."""
        seed = self.bench.kept
        found = [path for path in seed.rglob("*.md") if MINE in path.read_text()]
        return [self.bench.work / path.relative_to(seed) for path in found]

    def lost(self, kept):
        """Returns a message if content with these hashes can no longer be found anywhere."""
        lost = kept - self.bench.facts().bytes()
        return "old bytes are lost" if lost and lost - self.within() else None

    def damage(self):
        """Returns a message if `ctx-snapshot --verify` finds damage."""
        if not self.bench.store.exists():
            return None
        verified = self.bench.run(self.bench.tool("snapshot", "--verify", "--read-data"))
        if verified.returncode != 0:
            return f"--verify finds damage: {verified.stderr.decode()[-300:]}"
        return None

    def exit_status(self, done):
        """Returns a message if the exit status is wrong."""
        if done is None:
            return "it hangs"
        now, status = self.bench.facts(), done.returncode
        said = done.stderr.decode(errors="replace")[-300:]
        if self.operation.passes_on and done.stdout and not self.is_saved(now):
            return "it has passed on what is not saved"
        if status in (KILLED, NOT_LOADED):
            return None
        if status == ABORTED and any(reason in said for reason in NO_MEMORY):
            return None
        if status == 0:
            if not self.happened(now):
                return f"exit 0, but it has not happened: {said}"
            return None if done.stdout == self.told(done) else f"exit 0, but stdout is not whole: {said}"
        if status == 5 and self.operation.partial:
            # The rest is reported, or the store records the part that is done.
            told = now.told == self.after.told != self.before.told
            if told or b"left as it is" in done.stderr:
                return None
        if status == 5:
            return None if self.happened(now) else f"exit 5, but it has not happened: {said}"
        if status == 3 and self.operation.partial:
            return None
        if status in self.operation.answers:
            return None
        if status in (2, 4):
            wrong = self.changed(now)
            return f"exit {status}, but {wrong}: {said}" if wrong else None
        if self.operation.naive:
            return None
        return f"exit {status}: {said}"

    def told(self, done):
        """Returns the expected stdout. Where it has ids, which contain times, any stdout is accepted."""
        has_ids = self.operation.name in SAYS_IDS
        return done.stdout if has_ids else self.done.stdout

    def happened(self, now):
        after = self.after
        return (
            now.files == after.files
            and self.is_saved(now)
            and (not self.operation.packs or now.packed == after.packed)
            and (now.held, now.memory, now.trash) == (after.held, after.memory, after.trash)
            and after.offloaded <= now.offloaded
        )

    def is_saved(self, now):
        return set(self.after.committed) <= set(now.committed)

    def changed(self, now):
        """Returns a message if anything has changed, apart from snapshots that were taken."""
        before = self.before
        if now.files != before.files:
            return "a file has changed"
        if not set(before.committed) <= set(now.committed):
            return "a snapshot has left"
        if now.held != before.held:
            return "what is held has changed"
        if now.trash != before.trash:
            return "the trash has changed"
        # A compaction updates the memory before it changes the session.
        if now.memory != before.memory and not self.operation.remembers:
            return "the memory has changed"
        return None

    def strays_now(self):
        return self.bench.strays() - self.strays - {"store"}

    def goes_on(self):
        """Returns a message unless the next run, which has no fault, completes the work and cleans up."""
        again = self.bench.run(self.command)
        said = again.stderr.decode(errors="replace")[-300:]
        if again.returncode not in self.operation.again:
            return f"the next run ends with {again.returncode}: {said}"
        wrong = self.consistent()
        if wrong:
            return f"after the next run {wrong}"
        now = self.bench.facts()
        if self.operation.goes_on:
            if not self.happened(now) and again.returncode == 0:
                return "the next run does not get there"
            # A run that was killed after its commit has committed one snapshot more.
            commits = self.before.files != self.after.files or self.after.committed != self.before.committed
            if len(now.committed) > len(self.after.committed) + commits:
                return f"{len(now.committed)} snapshots instead of {len(self.after.committed)}"
        if self.operation.forgets and any(self.bench.store.rglob("demo-*")):
            return "not all is forgotten"
        left = self.left()
        return f"left: {', '.join(left[:3])}" if left else None

    def left(self):
        """Returns the files that are left over after the next run, or at the latest after ctx-gc."""
        if self.strays_now():
            self.bench.run(self.bench.tool("gc", "-q"))
        return sorted(self.strays_now())


SAYS_IDS = {
    "first", "snapshot", "stdin", "hold", "release", "rollback", "rollback_of_rollback", "undo",
    "restore", "gc", "undelete", "purge", "forget", "undelete_packed", "forget_packed",
}  # fmt: skip
