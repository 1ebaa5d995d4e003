"""The operations that are tested: each makes files in a folder and returns the command to run."""

import shutil
from dataclasses import dataclass
from functools import partial
from typing import Callable

import formats
from bench import content, line, log, result, talk


@dataclass
class Operation:
    """An operation, and what is allowed after a fault."""

    name: str
    seed: Callable  # prepares a bench and returns the command
    partial: bool = False  # whether exit status 3 is allowed
    again: tuple = (0,)  # the allowed exit statuses of a run after a fault
    goes_on: bool = True  # whether one more run changes nothing more
    answers: tuple = ()  # other exit statuses that change nothing
    sums_up: bool = False  # whether exit status 3 means a summary without the unreadable content
    remembers: bool = False  # whether the memory may have new entries although the run failed
    passes_on: bool = False  # whether it passes on exactly what it has saved
    appends: bool = False  # whether a kill may leave a part of the lines that are appended to the old bytes
    forgets: bool = False  # whether the session must be gone from the store
    puts_back: str = ""  # the file whose references can be replaced by the old bytes
    packs: bool = False  # whether the snapshots must be packed afterwards
    needs: str = ""  # a program that its oracle needs
    agent: str = ""  # the agent in whose format the session is; chat messages without it
    naive: bool = False  # a control with a known error, which the oracle must find
    caught_by: tuple = ()  # the faults that show the error of a control, if not all faults do


OPERATIONS = []


def is_possible(operation):
    """Returns True if the program is installed that the oracle of the operation needs."""
    if operation.needs and not shutil.which(operation.needs):
        print(f"{operation.name}: skipped: {operation.needs} is not installed")
        return False
    return True


def operation(**settings):
    def add(seed):
        OPERATIONS.append(Operation(seed.__name__, seed, **settings))
        return seed

    return add


def saved(bench, turns, text=None):
    """Writes the live session and takes a snapshot of it."""
    bench.write("live.jsonl", text or talk(turns))
    bench.must(bench.tool("snapshot", "-s", "demo", "live.jsonl"))


@operation()
def first(bench):
    bench.write("live.jsonl", talk(3))
    return bench.tool("snapshot", "-s", "demo", "live.jsonl")


@operation()
def snapshot(bench):
    saved(bench, 2)
    return first(bench)


@operation(passes_on=True)
def stdin(bench):
    saved(bench, 2)
    bench.write("stdin", talk(3))
    return bench.tool("snapshot", "-s", "demo")


@operation()
def hold(bench):
    saved(bench, 2)
    return bench.tool("snapshot", "--hold", 1)


@operation()
def release(bench):
    bench.must(hold(bench))
    return bench.tool("snapshot", "--release", 1)


@operation()
def rollback(bench):
    saved(bench, 2)
    bench.write("live.jsonl", talk(4))
    return bench.tool("rollback", "-s", "demo", "--snapshot", 1, "live.jsonl")


@operation()
def rollback_of_rollback(bench):
    bench.must(rollback(bench))
    return bench.tool("rollback", "-s", "demo", "--snapshot", 2, "live.jsonl")


# Two undos cancel each other out, so a run after a killed one may give either state.
@operation(goes_on=False, again=(0, 2))
def undo(bench):
    bench.must(rollback(bench))
    return bench.tool("rollback", "-s", "demo", "--undo", "live.jsonl")


@operation()
def restore(bench):
    command = rollback(bench)
    (bench.work / "live.jsonl").unlink()
    return command


@operation(partial=True)
def gc(bench):
    """Collects a store with one snapshot that has been in the trash for longer than the grace period, and three others."""
    for turns in range(1, 5):
        saved(bench, turns)
    bench.must(bench.tool("gc", "-q", "--keep-last", 3))
    (old,) = (bench.store / "trash").iterdir()
    old.rename(old.with_name("20200101T000000.000000Z-0000"))
    return bench.tool("gc", "--keep-last", 1)


@operation(partial=True, again=(0, 2))
def undelete(bench):
    gc(bench)
    return bench.tool("gc", "--undelete", 1)


@operation(partial=True)
def purge(bench):
    gc(bench)
    return bench.tool("gc", "--purge")


@operation(partial=True, forgets=True, again=(0, 2))
def forget(bench):
    gc(bench)
    return bench.tool("gc", "--forget", "-s", "demo")


def packed(bench):
    """Makes three snapshots and packs all of them."""
    for turns in range(1, 4):
        saved(bench, turns)
    return bench.tool("gc", "-q", "--keep-last", 3, "--pack-after-days", 0)


@operation(partial=True, packs=True, needs="zstdcat")
def pack(bench):
    return packed(bench)


@operation(partial=True, packs=True, needs="zstdcat")
def pack_after_a_kill(bench):
    """Packs again after a kill that left both the packed files and the plain ones."""
    bench.must(packed(bench))
    for zst in (bench.store / "memory/session-summaries").glob("*.zst"):
        zst.with_suffix("").write_bytes(content(zst))
    return packed(bench)


@operation(needs="zstdcat")
def rollback_packed(bench):
    bench.must(packed(bench))
    return bench.tool("rollback", "-s", "demo", "--snapshot", 1, "live.jsonl")


@operation(partial=True, again=(0, 2), needs="zstdcat")
def undelete_packed(bench):
    bench.must(packed(bench))
    bench.must(bench.tool("gc", "-q", "--keep-last", 1))
    return bench.tool("gc", "--undelete", 1)


@operation(partial=True, forgets=True, again=(0, 2), needs="zstdcat")
def forget_packed(bench):
    bench.must(packed(bench))
    return bench.tool("gc", "--forget", "-s", "demo")


@operation(partial=True)
def extract(bench):
    """Consolidates memory that a person has edited; none of their text may be lost."""
    bench.write("memory/extracted/decisions.md", "- mine, for ever\n")
    bench.write("stdin", talk(3))
    return bench.tool("extract", "--into", "memory", "-s", "demo")


@operation(partial=True)
def consolidate(bench):
    """Consolidates memory that a person has edited: one file will get a mark, another one an entry,
    and the master file will change."""
    memory = "store/memory"
    bench.write("store/FORMAT", '{"format":1}\n')
    bench.write(f"{memory}/extracted/facts.md", "- The port is 8443. (user, a:1)\n")
    bench.write(f"{memory}/summary/master.md", "- mine, for ever\n")
    bench.must(bench.filter("memory", "consolidate"))
    old = "- We decided to use SQLite for the cache. (user, a:2, 2026-11-01)"
    new = "- Let's use Redis instead of SQLite. (user, b:3, 2026-11-02)"
    bench.write(f"{memory}/extracted/decisions.md", f"- mine, for ever\n{old}\n{new}\n")
    bench.write(f"{memory}/daily/2026-11-02.md", "- preference: Never push.\n")
    return bench.filter("memory", "consolidate")


def with_result(bench):
    bench.write("live.jsonl", talk(2) + result("c", 900) + talk(1))


@operation()
def offload(bench):
    with_result(bench)
    return bench.tool(
        "offload", "-s", "demo", "--min-tokens", 500, "live.jsonl", "-o", "new.jsonl"
    )


@operation(puts_back="live.jsonl")
def offload_onto(bench):
    with_result(bench)
    return bench.tool(
        "offload", "-s", "demo", "--min-tokens", 500, "live.jsonl", "-o", "live.jsonl"
    )


@operation(partial=True, puts_back="live.jsonl", again=(0, 1))
def put_back(bench):
    bench.must(offload(bench))
    (bench.work / "new.jsonl").replace(bench.work / "live.jsonl")
    return bench.tool("offload", "-s", "demo", "--restore", "live.jsonl", "-o", "new.jsonl")


@operation(partial=True, puts_back="live.jsonl", again=(0, 1))
def put_back_onto(bench):
    put_back(bench)
    return bench.tool("offload", "-s", "demo", "--restore", "live.jsonl", "-o", "live.jsonl")


@operation()
def prune(bench):
    bench.write("live.jsonl", talk(2) + result("c", 900) + result("d", 900) + talk(3))
    return bench.filter("prune", "--max-chars", 200, "live.jsonl", "-o", "new.jsonl")


@operation()
def split(bench):
    bench.write("live.jsonl", talk(4))
    return bench.filter("split", "--keep-messages", 2, "live.jsonl", "-o", "new.jsonl")


def zones(bench):
    bench.write("live.jsonl", talk(12, 60))
    tagged = bench.must(bench.filter("split", "--keep-messages", 4, "live.jsonl"))
    (bench.work / "stdin").write_bytes(tagged)


@operation()
def summarize(bench):
    zones(bench)
    return bench.filter("summarize", "-o", "new.jsonl")


@operation(partial=True)
def summarize_told(bench):
    zones(bench)
    return bench.tool("summarize", "-s", "demo", "-o", "new.jsonl")


@operation(remembers=True)
def compact(bench):
    bench.write("live.jsonl", talk(12, 60))
    return bench.tool(
        "compact", "-s", "demo", "--preset", "sanbot", "--keep-messages", 4, "live.jsonl"
    )


@operation(remembers=True)
def compact_to_memory(bench):
    bench.write("live.jsonl", talk(12, 60))
    return bench.tool("compact", "-s", "demo", "--set", "summary.extract=true", "--keep-messages", 4, "live.jsonl")


SYNAPSE = (
    *("-s", "demo", "--preset", "synapse", "--keep-messages", 4),
    *("--method", "extractive", "--summary-tokens", 300),
)


@operation(partial=True, sums_up=True)
def compact_offloading(bench):
    """Moves results into files; the new session no longer names one of them."""
    text = talk(2, 60) + result("old", 3000) + talk(4, 60) + result("new", 3000)
    bench.write("live.jsonl", text)
    return bench.tool("compact", *SYNAPSE, "live.jsonl")


@operation(partial=True, sums_up=True)
def compact_offloaded(bench):
    """Summarizes results that an earlier run has moved into files."""
    text = talk(2, 60) + result("old", 3000) + talk(8, 60)
    bench.write("live.jsonl", text)
    offloads = ("-s", "demo", "--min-tokens", 2000, "live.jsonl", "-o", "small.jsonl")
    bench.must(bench.tool("offload", *offloads))
    (bench.work / "small.jsonl").replace(bench.work / "live.jsonl")
    return bench.tool("compact", *SYNAPSE, "live.jsonl")


NATIVE = ("-s", "demo", "--min-idle", "0s", "--keep-turns", 1, "live.jsonl")


@operation(remembers=True)
def compact_native(bench):
    """Adds a compaction in the agent's own format after its lines. Claude Code would read a part of it."""
    bench.write("live.jsonl", log(8, 60))
    return bench.tool("compact", *NATIVE)


@operation(goes_on=False, again=(0, 2))
def undo_native(bench):
    """Removes the compaction record and the lines that were added after it."""
    bench.must(compact_native(bench))
    with (bench.work / "live.jsonl").open("a") as live:
        live.write(line("user", "one more"))
    return bench.tool("rollback", "-q", "-s", "demo", "--min-idle", "0s", "--undo", "live.jsonl")


def compact_of(bench, _agent):
    """Puts a compaction in the agent's own format after its lines, or into its document."""
    # Qwen Code's compaction is a list of messages, which could be compacted again.
    return bench.tool("compact", "--if-due", "--trigger-messages", 20, *NATIVE)


def prune_of(bench, _agent):
    """Removes lines and shortens results."""
    rules = ("--drop", "before-compaction", "--trim", "--max-chars", 200, "--protect-last", 1)
    return bench.filter("prune", "-q", "-i", "--min-idle", "0s", *rules, "live.jsonl")


def offload_of(bench, _agent):
    return bench.tool("offload", "-s", "demo", "-i", "--min-idle", "0s", "--min-tokens", 100, "live.jsonl")


def undo_of(bench, agent):
    """Removes the compaction, and what the user has said since."""
    bench.must(compact_of(bench, agent))
    live = bench.work / "live.jsonl"
    live.write_text(formats.said(agent, live.read_text(), "one more"))
    return bench.tool("rollback", "-q", "-s", "demo", "--min-idle", "0s", "--undo", "live.jsonl")


def redo_of(bench, agent):
    """Undoes the undo."""
    undo = undo_of(bench, agent)
    bench.must(undo)
    return undo


def compact_onto_of(bench, agent):
    """Compacts stdin, and replaces a session by the result."""
    bench.write("stdin", formats.session(agent))
    return bench.filter("compact", "-q", "--min-idle", "0s", "--keep-turns", 1, "-o", "live.jsonl")


def seed_of(agent, seed, bench):
    bench.write("live.jsonl", formats.session(agent))
    return seed(bench, agent)


def of_agent(agent, verb, seed, **settings):
    """Adds an operation on a session in the format of this agent."""
    OPERATIONS.append(Operation(f"{verb}_{agent}", partial(seed_of, agent, seed), agent=agent, **settings))


for name in formats.MORE:
    # Codex copes with a part of a compaction.
    of_agent(name, "compact", compact_of, remembers=True, appends=name == "codex")
    of_agent(name, "prune", prune_of)
    of_agent(name, "offload", offload_of, puts_back="live.jsonl")
    of_agent(name, "undo", undo_of, goes_on=False, again=(0, 2))
    of_agent(name, "redo", redo_of, goes_on=False, again=(0, 2))
    of_agent(name, "compact_onto", compact_onto_of)


@operation()
def repair(bench):
    bench.write("live.jsonl", talk(2) + line("tool", "of no call", tool_call_id="x") + talk(1))
    return bench.filter("check", "--repair", "live.jsonl", "-o", "new.jsonl")


@operation(partial=True)
def count(bench):
    bench.write("live.jsonl", talk(3))
    bench.write("more.jsonl", talk(2))
    return bench.filter("count", "--jobs", 2, "live.jsonl", "more.jsonl")


@operation(partial=True)
def verify(bench):
    saved(bench, 2)
    return bench.tool("snapshot", "--verify")


@operation()
def show(bench):
    saved(bench, 2)
    return bench.tool("snapshot", "--show", 1)


# Naive replacements. The first one saves the file, but then truncates it and writes it again
# in place.
@operation(naive=True)
def control_in_place(bench):
    rollback(bench)
    (old,) = (bench.store / "memory/session-summaries").glob("*-0001.jsonl")
    shutil.copy(old, bench.work / "new")
    return ["sh", "-c", "cp live.jsonl saved.jsonl && cat new > live.jsonl"]


# Renames properly, but does not save the old content.
@operation(naive=True)
def control_no_snapshot(bench):
    control_in_place(bench)
    return ["sh", "-c", "cp new live.tmp && mv live.tmp live.jsonl"]


# Saves and renames, but never checks whether that succeeded.
@operation(naive=True)
def control_unchecked(bench):
    control_in_place(bench)
    return ["sh", "-c", "cp live.jsonl saved.jsonl; cp new live.tmp; mv live.tmp live.jsonl; true"]


# Saves, flushes, renames and checks. Only a change between the check and the rename is lost.
@operation(naive=True, caught_by=("agent",))
def control_no_exchange(bench):
    control_in_place(bench)
    steps = "ln live.jsonl saved.jsonl", "cp new live.tmp", "sync live.tmp", "mv live.tmp live.jsonl"
    return ["sh", "-c", " && ".join(steps)]


# Appends to the old bytes in one write, which may stop in the middle.
@operation(naive=True, caught_by=("torn",))
def control_append(bench):
    bench.write("live.jsonl", log(2, 60))
    bench.write("more", log(8, 60))
    return ["sh", "-c", "cp live.jsonl saved.jsonl && cat more >> live.jsonl"]


# Renames and flushes the folder, but not the file: its name survives, its bytes do not.
@operation(naive=True, caught_by=("power",))
def control_empty(bench):
    control_in_place(bench)
    saved = "cp live.jsonl saved.jsonl && sync saved.jsonl"
    return ["sh", "-c", f"{saved} && cp new live.tmp && mv live.tmp live.jsonl && sync ."]


# Takes an early end of the data in the middle of the file for its end.
@operation(naive=True)
def control_short_reads(bench):
    bench.write("live.jsonl", talk(40, 60))
    once = "dd if=live.jsonl of=new.tmp bs=1M count=1 2>/dev/null && mv new.tmp new.jsonl"
    return ["sh", "-c", once]
