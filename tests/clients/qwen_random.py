"""Random sessions of Qwen Code, with branches, compactions, commands and damaged lines: its own code must send what ctx-convert shows."""

import json
import os
import random
import subprocess

import judge
import sessions
from agents import HERE
from judge import Failed

SESSION = sessions.identity("qwen", "random")
# The results that Qwen Code and ctx-convert make up for calls without one.
MADE_UP = ("Tool execution result was not recorded", "The result of this call is missing")
SUMMARY = [{"role": "user", "parts": [{"text": "<state_snapshot>s</state_snapshot>\n\nResume the prior task."}]},
           {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]}]


class Log:
    """A session that grows step by step. Each text in it begins with a word of its own."""

    def __init__(self, seed):
        self.random, self.lines, self.ids, self.parent, self.words = random.Random(seed), [], [], None, 0
        self.say("begin")

    def word(self, kind="word"):
        self.words += 1
        return f"{kind}{self.words}"

    def text(self, kind="word"):
        return {"text": f"{self.word(kind)} " + "".join(self.random.choices(["a", "b ", "\n", "é", "中", "}{", '"'], k=3))}

    def add(self, kind, subtype=None, **rest):
        own, more = self.word("line"), {"subtype": subtype} if subtype else {}
        self.lines.append(json.dumps({"uuid": own, "parentUuid": self.parent, "sessionId": SESSION, "type": kind, "cwd": "/work", **more, **rest}))
        self.parent = own
        self.ids.append(own)

    def say(self, text, **rest):
        self.add("user", message={"role": "user", "parts": [{"text": text}]}, **rest)

    def some(self, *choices):
        return self.random.choice(choices)

    def parts(self, role):
        odd = [{"text": ""}, {}] if role == "model" else [{"text": ""}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]
        thought = {**self.text(), "thought": True} if role == "model" else self.text()
        choices = [*odd, thought] + [None] * 12
        return [self.some(*choices) or self.text() for _ in range(self.some(0, 1, 1, 1, 1, 2))]

    def reply(self, calls):
        ids = [self.word("call") for _ in range(calls)]
        return ids, {"role": "model", "parts": self.parts("model") + [{"functionCall": {"id": it, "name": "ls", "args": {"p": 1}}} for it in ids]}

    def results(self, ids):
        return [{"functionResponse": {"id": it, "name": "ls", "response": {self.some("output", "error"): self.text("result")["text"]}}} for it in ids]

    def exchange(self):
        """Returns a reply with calls, and user messages with their results, in any order."""
        ids, reply = self.reply(self.some(1, 2, 3))
        self.random.shuffle(ids)
        results = self.results(ids)
        messages = [results] if self.some(True, False) else [[it] for it in results]
        return [reply] + [{"role": "user", "parts": parts} for parts in messages]

    def history(self):
        """Returns the messages of a compaction."""
        kept = [self.some(lambda: [{"role": "user", "parts": self.parts("user")}], lambda: [self.reply(0)[1]], self.exchange)() for _ in range(self.some(0, 1, 3))]
        return self.some(SUMMARY, []) + sum(kept, [])

    def step(self):
        kind = self.random.randrange(24)
        if kind < 6:
            self.add("user", message={"role": "user", "parts": self.parts("user")})
        elif kind < 9:
            self.add("assistant", message=self.reply(0)[1])
        elif kind < 14:
            reply, *results = self.exchange()
            self.add("assistant", message=reply)
            for message in results:
                self.add(self.some("tool_result", "tool_result", "system"), self.some(None, "ui_telemetry"), message=message)
        elif kind == 14:
            self.parent = self.some(None, *self.ids)
            self.add("system", "rewind", systemPayload={})
        elif kind == 15:
            self.add("system", "chat_compression", systemPayload={"info": {}, "compressedHistory": self.history()})
        elif kind == 16:
            command, shown = self.word("/command"), self.some([], [{"type": "assistant"}], [{"type": "assistant"}], [{"type": "info"}])
            self.say(command)
            self.add("system", "slash_command", systemPayload={"phase": self.some("result", "invocation"), "rawCommand": command, "outputHistoryItems": shown})
        elif kind == 17:
            self.say(self.text()["text"], subtype=self.some("realtime_message", "notification", "cron", "mid_turn_user_message"))
        elif kind == 18:
            before = self.parent
            self.add("system", "session_artifact_event", systemPayload={})
            self.parent = before
            self.ids.pop()
        elif kind == 19:
            self.add("assistant", message={"role": "model", "parts": [{"text": "(request timeout)"}]})
        elif kind == 20:
            self.parent = self.some(*self.ids, "missing")
        elif kind == 21 and '"message"' in self.lines[-1] and '"system"' not in self.lines[-1]:
            again = json.loads(self.lines[-1])
            self.lines.append(json.dumps({**again, "message": {**again["message"], "parts": [self.text()]}}))
        else:
            self.lines.append(self.some("", "no object", "[1]", '{"x":1', '{"uuid":"x","parentUuid":5,"sessionId":"s","type":"user"}'))


def normal(blocks):
    """Leaves out results that are made up, and orders those of a reply. ctx-convert makes a text of a result without a call."""
    normal, results = [], []
    for block in [*blocks, ("end", "", "")]:
        if block[0] == "result":
            results += [] if block[2].startswith(MADE_UP) else [block]
        elif not block[2].startswith("result"):
            normal += sorted(results)
            results = []
            if block[:2] == ("text", "assistant") and normal and normal[-1][:2] == block[:2]:
                block = (*block[:2], normal.pop()[2] + block[2])
            normal.append(block)
    return normal


def view(agent, folder, count=300):
    paths = [os.path.join(folder, f"{seed}.jsonl") for seed in range(count)]
    for seed, path in enumerate(paths):
        log = Log(seed)
        for _ in range(log.random.randint(1, 30)):
            log.step()
        with open(path, "w") as out:
            out.write("\n".join(log.lines) + log.some("\n", "", '\n{"uuid":"torn","par'))
    script = ["node", os.path.join(HERE, "qwen.mjs"), agent.module(agent.package), *paths]
    done = subprocess.run(script, capture_output=True, text=True)
    theirs = done.stdout.splitlines()
    if len(theirs) != count:
        raise Failed(f"Qwen Code's loader: {done.stderr[-600:]}")
    for path, line in zip(paths, theirs):
        # Exit status 2 means that no message would be sent.
        ours = judge.tool("ctx-convert", "-q", "--to", "chat", path, codes=(0, 2))
        ours = [json.loads(line) for line in ours.splitlines()]
        judge.check_same(normal(agent.blocks(json.loads(line))), normal(agent.blocks(ours)), path)
    return f"{count} sessions"
