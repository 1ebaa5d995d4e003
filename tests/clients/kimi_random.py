"""Compares what ctx-convert reads in random sessions of Kimi Code with what the agent's own modules make of them.

    CTX_BIN=target/debug tests/clients/kimi_random.py BUNDLE [SESSIONS [SEED]]

BUNDLE is dist/main.mjs of the agent, which kimi.mjs cuts the modules out of. The sessions have undos, branches, compactions of all forms,
interrupted replies, results that come late, twice or never, and torn lines; all are made up.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MISSING = ("The result of this call is missing from the session.", "Tool result is not available in the current context.", "Tool execution was interrupted before")
STATUS = re.compile(r"\A<system>(?:ERROR: Tool execution failed\.|Tool output is empty\.|ERROR: Tool execution failed\. Tool output is empty\.)</system>\n?")
OPENING = "What came before in this session was compacted. Its summary:\n\n"
NOTES = ("<system-reminder>\nSome of this conversation's", "<system-reminder>\nContext compaction is complete")


class Log:
    def __init__(self, rng):
        self.rng, self.lines, self.number, self.requests, self.steps, self.calls = rng, [], 0, [], [], []
        self.add("metadata", protocol_version="1.5", created_at=1)

    def add(self, kind, **rest):
        self.number += 1
        agent = {} if kind == "metadata" or self.rng.random() < 0.05 else {"agentId": "main"}
        # The agent leaves out the lines of other agents. The first one with an agent is its own.
        if '"main"' in "".join(self.lines[:9]) and "id" not in rest.get("message", {}) and kind != "agent.switched" and self.rng.random() < 0.02:
            agent = {"agentId": "agent-1"}
        self.lines.append(json.dumps({"type": kind, **agent, **rest, "time": self.number}))

    def word(self):
        self.number += 1
        long = self.rng.random() < 0.04
        return f"w{self.number} " + ("é wörd " * 9000 if long else self.rng.choice(["", "é", "x" * 9, "\n"]))

    def text(self):
        return {"type": "text", "text": self.rng.choice(["", "  "]) if self.rng.random() < 0.05 else self.word()}

    def message(self, role, origin=None, **rest):
        self.add("context.append_message", message={"role": role, "content": [self.text() for _ in range(self.rng.choice([1, 1, 1, 2]))], "toolCalls": [],
                                                     **({"origin": origin} if origin else {}), **rest})

    def event(self, kind, **rest):
        self.add("context.append_loop_event", event={"type": kind, **rest})

    def user(self):
        own = f"m{self.number}"
        kind = self.rng.choice(["user", "user", "user", None, "slash", "other", "turn"])
        origin = {"user": {"kind": "user"}, None: None, "slash": {"kind": "skill_activation", "trigger": "user-slash"}, "other": {"kind": "task"},
                  "turn": {"kind": "user", "inTurn": True}}[kind]
        if self.rng.random() < 0.2:
            self.message("user", {"kind": "injection", "variant": "v", "ownerPromptId": own})
        self.message("user", origin, id=own)
        self.requests.append(own)

    def injection(self):
        owner = {"ownerPromptId": self.rng.choice(self.requests)} if self.requests and self.rng.random() < 0.5 else {}
        self.message("user", {"kind": "injection", "variant": "v", **owner})

    def step(self):
        own, calls = f"s{self.number}", []
        self.event("step.begin", uuid=own)
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            kind = self.rng.choice(["text", "text", "think", "stray"])
            part = {"type": "think", "think": self.word()} if kind == "think" else self.text()
            self.event("content.part", stepUuid="s?" if kind == "stray" else own, part=part)
        for _ in range(self.rng.choice([0, 0, 1, 2, 3])):
            call = f"c{self.number}" if self.rng.random() < 0.95 or not self.calls else self.rng.choice(self.calls)
            calls.append(call)
            self.calls.append(call)
            self.event("tool.call", stepUuid=own, toolCallId=call, name="Read", args={"p": self.number})
        self.rng.shuffle(calls)
        for call in calls:
            if self.rng.random() < 0.1:
                self.rng.choice([self.user, self.injection])()
            if self.rng.random() < 0.9:
                output = self.rng.choice([self.word(), self.word(), "", [self.text(), self.text()]])
                self.event("tool.result", toolCallId=call, result={"output": output, **self.rng.choice([{}, {"isError": True}, {"note": self.word()}])})
        if self.rng.random() < 0.05:
            self.event("tool.result", toolCallId="c?", result={"output": "x"})
        if self.rng.random() < 0.85:
            self.event("step.end", uuid=own, finishReason=self.rng.choice(["end_turn", "end_turn", "tool_use", "interrupted", "error"]))

    def whole(self):
        """Adds messages of the form that the agent writes when it imports a session."""
        call = f"c{self.number}"
        self.message("assistant", **{"toolCalls": [{"type": "function", "id": call, "name": "Read", "arguments": "{}"}]} if self.rng.random() < 0.7 else {})
        if self.rng.random() < 0.8:
            self.message("tool", toolCallId=call)

    def compaction(self):
        count = self.rng.choice([0, 1, 2, 3, 5, 8, 2 ** 53 - 1, -2])
        form = self.rng.choice([{"legacyTail": True}, {}, {"keptUserMessageCount": 3}, {"keptUserMessageCount": 3, "legacyTail": True}, {"legacyTail": False}])
        bad = self.rng.random() < 0.05
        summary = self.word()
        self.add("context.apply_compaction", summary=summary, **({"contextSummary": OPENING + summary} if self.rng.random() < 0.5 else {}),
                 **({"tokensBefore": None} if bad else {}), compactedCount=count, **form)

    def undo(self):
        self.add("context.undo", count=self.rng.choice([1, 1, 2, 3, 0]))

    def branch(self):
        edges = sum('"agent.switched"' in line for line in self.lines)
        line = self.rng.randint(1, len(self.lines))
        before = [json.loads(line)["branch"] for line in self.lines[:line] if '"agent.switched"' in line]
        base = {"branch": before[-1] if before else "main", "line": line}
        if self.rng.random() < 0.02:
            base["branch"] = self.rng.choice(["?", f"b{edges + 1}"])
        self.add("agent.switched", branch=f"b{edges + 1}", base=base, reason="undo", turns=1, legacyUndoLine=len(self.lines) + 2)
        self.add("context.undo", count=1)
        self.add("context.undone", turns=1)

    def clear(self):
        self.add("context.clear")

    def other(self):
        self.add(self.rng.choice(["llm.request", "turn.ended"]), x=self.number)

    def blank(self):
        self.lines.append("")

    def space(self):
        self.lines.append(self.rng.choice([" ", "\t", "\r"]))

    def torn(self):
        self.lines.append('{"type":"context.append_mess')


STEPS = {"user": 30, "step": 40, "injection": 6, "whole": 4, "compaction": 4, "undo": 4, "branch": 3, "clear": 1, "other": 6, "blank": 1, "space": 0.1, "torn": 0.15}


def session(seed):
    rng = random.Random(seed)
    log = Log(rng)
    for _ in range(rng.randint(3, 40)):
        getattr(log, rng.choices(list(STEPS), list(STEPS.values()))[0])()
    return "\n".join(log.lines) + rng.choice(["\n", "\n", "", '\n{"type":"cont'])


def text(texts):
    """Returns the texts without whitespace: the agent joins some texts that we keep apart."""
    return "".join("".join(texts).split())


def blocks(messages):
    found = []
    for role, texts, answered, calls in messages:
        if role == "tool":
            said = STATUS.sub("", "\n".join(texts))
            if said.startswith(MISSING):
                continue
            if any(block[:2] == ("call", answered) for block in found):
                found.append(("result", answered, text([said])))
                continue
            # ctx-convert makes a text of a result without a call, which the agent sends if there is no reply at all.
            role, texts = "user", [said]
        said = text(texts)
        if said and found and found[-1][:2] == ("text", role) and role == "user":
            found[-1] = ("text", role, found[-1][2] + said)
        elif said:
            found.append(("text", role, said))
        found += [("call", call, text([arguments])) for call, arguments in calls]
    return found


def theirs(messages):
    for message in messages:
        texts = [part["text"].removeprefix(OPENING) for part in message["content"] if part["type"] == "text"]
        if not texts[:1] or not texts[0].startswith(NOTES):
            yield message["role"], texts, message.get("toolCallId"), [(call["id"], call["arguments"]) for call in message["toolCalls"]]


def ours(lines):
    for message in map(json.loads, lines):
        content = message.get("content") or []
        texts = [content] if isinstance(content, str) else [part["text"] for part in content]
        # ctx-convert gives the second call with the same id another one.
        calls = [(re.sub(r"-\d+$", "", call["id"]), call["function"]["arguments"]) for call in message.get("tool_calls", [])]
        yield message["role"], texts, re.sub(r"-\d+$", "", message.get("tool_call_id", "")), calls


def tool(name, *args):
    return subprocess.run([os.path.join(os.environ["CTX_BIN"], name), *args], capture_output=True, text=True)


def compare(bundle, files):
    """Prints the sessions that we read otherwise than the agent does; returns their number, and that of those that the agent refuses."""
    differences, refused = 0, 0
    sent = subprocess.run(["node", os.path.join(HERE, "kimi.mjs"), bundle, *files], capture_output=True, text=True, check=True).stdout.splitlines()
    for file, line in zip(files, sent, strict=True):
        messages = json.loads(line)
        if "error" in messages:
            checked = tool("ctx-check", "--all", file)
            refused += 1
            if "does not open the session" not in checked.stdout + checked.stderr:
                differences += 1
                print(f"{os.path.basename(file)}: {messages['error']}")
            continue
        done = tool("ctx-convert", "-q", "--to", "chat", "--dialect", "kimi", file)
        expected, found = blocks(theirs(messages)), blocks(ours(done.stdout.splitlines()))
        if expected != found:
            differences += 1
            at = next((at for at, pair in enumerate(zip(expected, found)) if pair[0] != pair[1]), min(len(expected), len(found)))
            print(f"{os.path.basename(file)}: block {at}: {str(expected[at:at + 2])[:300]} {str(found[at:at + 2])[:300]} {done.stderr[:300]}")
    return differences, refused


def main():
    bundle, count, first = sys.argv[1], int(sys.argv[2:3] and sys.argv[2] or 300), int(sys.argv[3:4] and sys.argv[3] or 0)
    with tempfile.TemporaryDirectory(prefix="ctx-random-") as folder:
        files = [os.path.join(folder, f"{seed}.jsonl") for seed in range(first, first + count)]
        for seed, file in enumerate(files, first):
            with open(file, "w", encoding="utf-8") as out:
                out.write(session(seed))
        differences, refused = compare(bundle, files)
        print(f"{count} sessions, {refused} that the agent refuses, {differences} differences")
        # The same after a compaction, which keeps nothing, a turn, or calls that are shortened.
        compacted = []
        for seed, file in enumerate(files):
            flags = (["--keep-turns", "0"], ["--keep-turns", "1"], ["--keep-turns", "3"], ["--budget", "600"])[seed % 4]
            done = tool("ctx-compact", "--force", "--method", "extractive", "--min-idle", "0s", "--store", os.path.join(folder, "store"), "--json", *flags, file)
            compacted += [file] if '"outcome":"compacted"' in done.stdout.replace(" ", "") else []
        others, _ = compare(bundle, compacted)
        print(f"{len(compacted)} of them compacted, {others} differences")
    sys.exit(differences + others > 0)


if __name__ == "__main__":
    main()
