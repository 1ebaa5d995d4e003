"""Trials in which ctx-compact changes sessions, the agents resume them, and the requests of the agents are compared.

Checked for each session: the agent sends our summary, followed by the end of what it sent before the compaction; a rollback
restores every byte, and the agent sends the same as at first; and the agent can continue a session after three compactions, each
of which follows a turn that the agent itself has appended.
"""

import json
import os
import subprocess

import agents
import sessions
from agents import parts, text_of

BIN = os.environ["CTX_BIN"]
# The flags that say how much of a session is kept.
TAILS = {"short": ["--keep-turns", "1"], "long": ["--keep-turns", "6"], "cut": ["--budget", "2500"]}


class Failed(Exception):
    pass


class Skipped(Exception):
    """Raised if there is nothing to try."""


def tool(name, *args, codes=(0,), home=None):
    # The text of the summary is needed to check that the agent reads it.
    env = {**os.environ, "CTX_SUMMARY_IN_REPORT": "true", **({"HOME": home} if home else {})}
    done = subprocess.run([os.path.join(BIN, name), *args], env=env, capture_output=True, text=True)
    if done.returncode not in codes:
        raise Failed(f"{name} {' '.join(args)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def is_sound(path):
    try:
        # Without a line end, only what the agent writes next is lost.
        tool("ctx-check", "-q", "--allow", "no-line-end", path)
    except Failed:
        return False
    return True


class Trial:
    """A session of an agent, in its own home folder."""

    def __init__(self, agent, text, folder):
        self.agent, self.text, self.folder, self.runs = agent, text, folder, 0
        self.home = os.path.join(folder, "home")
        self.path, self.identity, self.work = agent.place(self.home, text)
        self.store = os.path.join(folder, "store")
        self.write(text)

    def write(self, text):
        with open(self.path, "w", newline="", errors="surrogateescape") as out:
            out.write(text)

    def read(self):
        with open(self.path, newline="", errors="surrogateescape") as text:
            return text.read()

    def sent(self):
        """Returns what the agent sends now; the lines that it appends to the session are kept only with `keep`."""
        before = self.read()
        blocks = self.sent_and_kept()
        self.write(before)
        return blocks

    def sent_and_kept(self):
        blocks, said = self.agent.ask(self.home, self.path, self.identity, self.work)
        if blocks is None:
            raise Failed(f"{self.agent.name} sent nothing: {said[-400:]}")
        return blocks

    def compact(self, *flags):
        args = ["--store", self.store, "--min-idle", "0s", "--force", "--json", "--method", "extractive", *flags, self.path]
        # Exit status 1 means that nothing was gained, or that the result exceeds the policy's target.
        return json.loads(tool("ctx-compact", *args, codes=(0, 1)))

    def rollback(self):
        tool("ctx-rollback", "--store", self.store, "--min-idle", "0s", "--undo", self.path)


def check_tail(before, after, report):
    """Checks that `after` is the summary, followed by a part of `before` in the same order."""
    # If nothing was summarized, an earlier summary stays, which may be the agent's own.
    summary = report.get("summary", "").strip()
    heads = [at for at, block in enumerate(after[:3]) if block[0] == "text" and summary[:200] in block[2]]
    if not heads:
        raise Failed(f"the summary does not come first: {after[:2]}")
    tail = [block for block in after[heads[0] + 1:] if not is_answer(block)]
    if report.get("keptAsTheyAre", True):
        at = 0
        for block in tail:
            while at < len(before) and not is_same(before[at], block):
                at += 1
            if at == len(before):
                raise Failed(f"not sent before, or in another order: {str(block)[:300]}")
            at += 1
    calls = {block[1] for block in tail if block[0] == "call"}
    results = {block[1] for block in tail if block[0] == "result"}
    if results - calls or (calls - results and after[-1][0] != "call"):
        raise Failed(f"a call and its result are parted: {calls ^ results}")
    if [block for block in tail if is_summary_of_agent(block)]:
        raise Failed("an older summary of the agent is sent as well")
    if before and tail and not is_same(before[-1], tail[-1]) and not report.get("changed"):
        raise Failed(f"the end is another one: {before[-1]} {tail[-1]}")
    return len(tail)


def is_same(before, after):
    """Returns True if the blocks are equal; a superseded result may be replaced by a handle."""
    is_pruned = before[0] == after[0] == "result" and before[1] == after[1] and "⟦ctx:" in after[2]
    return before == after or is_pruned


def is_answer(block):
    return block[:2] in (("text", "model"), ("text", "assistant")) and block[2].startswith(("Understood. I go on", "Got it. Thanks for"))


def is_summary_of_agent(block):
    return block[0] == "text" and "A summary that the client made" in block[2]


def turns_in(blocks):
    found = set()
    for block in blocks:
        for turn in range(1, 40):
            if f"turn{turn}." in json.dumps(block):
                found.add(turn)
    return found


def check_turns(tail, count):
    """Checks that the tail has the last `count` of the 14 turns of a made-up session."""
    expected = set(range(15 - count, 15))
    if turns_in(tail) != expected:
        raise Failed(f"turns {sorted(turns_in(tail))} stay, not {sorted(expected)}")


def compacted(trial, is_made_up, *flags):
    """Runs ctx-compact and returns its report."""
    report = trial.compact(*flags)
    if report["outcome"] != "compacted":
        raise (Failed if is_made_up else Skipped)(f"{report['outcome']} ({report['tokens_before']} tokens)")
    return report


def compaction(agent, text, tail, folder, is_made_up):
    flags = TAILS[tail]
    trial = Trial(agent, text, folder)
    was_sound = is_sound(trial.path)
    before = trial.sent()
    report = compacted(trial, is_made_up, *flags)
    if not agent.keeps(text, trial.read()):
        raise Failed("an old line has changed")
    if was_sound and not is_sound(trial.path):
        raise Failed("ctx-check finds something wrong with it")
    report["changed"] = tail == "cut"
    report["keptAsTheyAre"] = tail != "cut"
    after = trial.sent()
    kept = check_tail(before, after, report)
    if is_made_up and tail != "cut":
        check_turns(after[-kept:], int(flags[1]))
    trial.rollback()
    if trial.read() != text:
        raise Failed("the rollback gives other bytes")
    if trial.sent() != before:
        raise Failed("after the rollback the agent sends something else")
    return f"{len(before)} blocks -> summary and {kept}"


def generations(agent, text, folder, is_made_up):
    """Compacts three times, each time after a turn that the agent itself appended."""
    trial = Trial(agent, text, folder)
    was_sound = is_sound(trial.path)
    summary = None
    for turn in (20, 21, 22):
        # A small compaction frees less than agents send along with a summary, which is not what this is about.
        report = compacted(trial, is_made_up, "--keep-turns", "2", "--no-calibrate")
        before = trial.read()
        after = trial.sent_and_kept()
        check_tail([], after, {**report, "keptAsTheyAre": False, "changed": True})
        if not agent.keeps(before, trial.read()) and not agent.rewrites(before):
            raise Failed("the agent changed old lines")
        if isinstance(agent, agents.Loader):
            trial.write(sessions.next_turn(agent.format, trial.read(), turn))
        if was_sound and not is_sound(trial.path):
            raise Failed("ctx-check finds something wrong with it")
        summary = report.get("summary", "")
    return f"three times, the last summary has {len(summary)} bytes"


def view(agent, text, folder):
    """Checks that our tools list the messages that the agent really sends: for the session as it is, and as each tool leaves it."""
    outcomes = []
    for step, command in CHANGES.items():
        trial = Trial(agent, text, os.path.join(folder, step))
        was_sound = is_sound(trial.path)
        if command:
            tool(command[0], "--store", trial.store, "--min-idle", "0s", *command[1:], trial.path, codes=(0, 1))
        if trial.read() == text and command:
            raise Failed(f"{step}: nothing has changed")
        if not was_sound or not is_sound(trial.path):
            raise Failed(f"{step}: ctx-check finds something wrong with it")
        ours = tool("ctx-convert", "-q", "--to", agent.view, trial.path)
        ours = [json.loads(line) for line in ours.splitlines()]
        if agent.view == "chat":
            ours, theirs = agent.blocks(ours), trial.sent()
            check_same(theirs, ours, step)
            outcomes.append(f"{step} {len(ours)}")
            continue
        requests, said = agent.requests(trial.home, trial.path, trial.work)
        messages = agent.messages(requests)
        if not messages:
            raise Failed(f"{step}: the prompt was not sent: {said[-400:]}")
        if agent.view == "responses":
            ours = [json.loads(json.dumps(item).replace(json.dumps(MARK)[1:-1], "")) for item in agent.items(ours)]
            check_same(agent.items(messages), ours, step)
            outcomes.append(f"{step} {len(ours)}")
            continue
        added = agent.added(messages)
        theirs, ours = whole(agent, messages, added), whole(agent, ours, added)
        # The Anthropic API requires a first message by the user, so ctx-convert adds this one if a session begins with a reply.
        if ours[:1] == [("user", {"type": "text", "text": "The beginning of this session is missing."})]:
            del ours[0]
        if theirs[-1:] != [("user", {"type": "text", "text": agents.PROMPT})]:
            raise Failed(f"{step}: the prompt was not sent: {said[-400:]}")
        theirs = [block for block in theirs if block[1]["type"] not in agent.LOST]
        check_same(theirs[:-1], ours, step)
        outcomes.append(f"{step} {len(ours)}")
    return f"blocks: {', '.join(outcomes)}"


# The changes of a session that are tried, each with its command. In a session that the Gemini CLI has resumed, all earlier messages are in
# one line, which is the third to last reply.
CHANGES = {"untouched": None, **{f"compacted, {tail}": ["ctx-compact", "--force", "--method", "extractive", *flags] for tail, flags in TAILS.items()},
           "pruned": ["ctx-prune", "-i", "--trim", "--protect-last", "2", "--max-chars", "300"], "lines dropped": ["ctx-prune", "-i", "--trim", "--max-chars", "500", "--drop", "dead-branches,before-compaction,rewritten,copies"],
           "offloaded": ["ctx-offload", "-i", "--min-tokens", "100"]}


# The beginning of a summary in a list of messages.
MARK = "[ctx_summary]\n\n"


def whole(agent, messages, added):
    """Returns all blocks with their roles, without texts in `added`, the text that the agent puts around a summary, and marks for the cache."""
    blocks = []
    for message in (message for message in agent.without_copies(messages) if message["role"] != "system"):
        for block in parts(message):
            block = {key: value for key, value in block.items() if key not in agent.UNSENT and (key, value) != ("is_error", False)}
            if block["type"] == "tool_result":
                block["content"] = text_of(block.get("content"))
            is_text = block["type"] == "text"
            texts = [text for text in agent.texts(block["text"].removeprefix(MARK)) if text not in added] if is_text else []
            for block in [{**block, "text": text} for text in texts] if is_text else [block]:
                last = blocks[-1] if blocks and agent.joins_texts else None
                if last and last[0] == message["role"] == "user" and last[1]["type"] == block["type"] == "text":
                    last[1]["text"] += "\n\n" + block["text"]
                else:
                    blocks.append((message["role"], block))
    return blocks


def check_same(theirs, ours, what):
    if ours != theirs:
        at = next((at for at, pair in enumerate(zip(theirs, ours)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
        raise Failed(f"{what}: block {at} of {len(theirs)} ({len(ours)} are ours): {theirs[at:at + 1]} {ours[at:at + 1]}")


def conversion(agent, text, other, folder):
    """Converts a session of another agent, and checks that this agent sends what the other one did."""
    theirs = [strip(block) for block in Trial(other, text, os.path.join(folder, "theirs")).sent()]
    path = os.path.join(folder, "converted.jsonl")
    source = os.path.join(folder, "source.jsonl")
    with open(source, "w", newline="") as out:
        out.write(text)
    tool("ctx-convert", "-q", "--to", agent.format, "--cwd", "/work", "-o", path, source)
    with open(path, newline="") as new:
        ours = [strip(block) for block in Trial(agent, new.read(), os.path.join(folder, "ours")).sent()]
    check_same(theirs, ours, other.name)
    return f"{len(ours)} blocks"


def strip(block):
    """Returns the members of a block that are the same for every agent."""
    kind, who, text = block
    if kind == "result" and text.startswith('{"output":'):
        text = json.loads(text)["output"]
    who = "assistant" if who == "model" else who
    return (kind, who, (text or "").strip())
