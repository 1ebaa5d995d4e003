"""Random sessions of opencode: checks that ctx-convert shows what the agent sends when it resumes them.

    CTX_BIN=target/debug python3 tests/clients/opencode_random.py [COUNT [SEED]]

The sessions have parallel, failed, interrupted and pruned calls, images, failed replies, shuffled messages, compactions with and
without a tail, and undos. One server answers for all. Every twentieth session is imported, which takes a second; the others
are written into the database as the import does. Each second one is compared again after a compaction by ctx-compact.
"""

import itertools
import json
import os
import random
import sqlite3
import sys
import tempfile

import agents
import judge
import opencode
import sessions
from recorder import Recorder

PICTURE = f"data:image/png;base64,{sessions.IMAGE}"
DONE = {"input": 50, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}


class Document:
    """A document that grows step by step. Each text in it begins with a word of its own."""

    def __init__(self, seed):
        self.random, self.seed, self.count, self.messages, self.asked = random.Random(seed), seed, 0, [], None
        self.now, self.id = 1767225600000 + seed * 10**6, f"ses_{seed:06d}{sessions.identity('opencode', 'random', seed).replace('-', '')[:20]}"

    def new(self, kind):
        self.count += 1
        return f"{kind}_{(self.now * 4096 + self.count) & 0xffffffffffff:012x}{self.seed:06d}{self.count:08d}"

    def chance(self, part):
        return self.random.random() < part

    def word(self, kind):
        self.count += 1
        return f"{kind}{self.count} " + " ".join(self.random.choices(["one", "two", "é", "中", '"'], k=self.random.choice([1, 2, 40])))

    def part(self, message, kind, **rest):
        own = message["info"]["id"]
        message["parts"].append({"type": kind, **rest, "id": self.new("prt"), "sessionID": self.id, "messageID": own})

    def add(self, role, **info):
        self.now += self.random.choice([0, 1, 5, 1000])
        base = {"role": role, "time": {"created": self.now}, "agent": "build", "model": opencode.MODEL, **info}
        message = {"info": {**base, "id": self.new("msg"), "sessionID": self.id}, "parts": []}
        self.messages.append(message)
        return message

    def user(self):
        message = self.add("user")
        self.asked = message["info"]["id"]
        self.part(message, "text", text=self.word("ask"))
        more = self.random.choice([None] * 6 + [("text", {"text": self.word("added"), "synthetic": True}), ("text", {"text": self.word("ignored"), "ignored": True}),
                                                ("text", {"text": ""}), ("file", {"mime": "image/png", "filename": "p.png", "url": PICTURE}),
                                                ("file", {"mime": "text/plain", "filename": "a.txt", "url": "file:///work/a.txt"}), ("agent", {"name": "build"})])
        if more:
            self.part(message, more[0], **more[1])

    def assistant(self, **info):
        who = {**opencode.MODEL, "mode": "build", "path": {"cwd": "/work", "root": "/"}, "cost": 0, "tokens": DONE, "finish": "stop"}
        message = self.add("assistant", **{**who, "parentID": self.asked, **info})
        message["info"]["time"]["completed"] = self.now
        del message["info"]["model"]
        return message

    def call(self, message):
        times = {"start": self.now, "end": self.now}
        state = {"input": {"filePath": self.word("file")}, "time": times}
        ends = [{"status": "completed", "output": self.word("result"), "title": "", "metadata": {}}] * 8 + [
            {"status": "completed", "output": self.word("pruned"), "title": "", "metadata": {}, "time": {**times, "compacted": self.now}},
            {"status": "completed", "output": self.word("result"), "title": "", "metadata": {},
             "attachments": [{"id": self.new("prt"), "sessionID": self.id, "messageID": message["info"]["id"], "type": "file", "mime": "image/png", "url": PICTURE}]},
            {"status": "error", "error": self.word("error")},
            {"status": "error", "error": "Tool execution aborted", "metadata": {"interrupted": True, "output": self.word("partial")}},
            {"status": "running", "time": {"start": self.now}}, {"status": "pending", "raw": ""}]
        state.update(self.random.choice(ends))
        if state["status"] == "pending":
            del state["time"]
        self.part(message, "tool", tool=self.random.choice(["read", "bash"]), callID=self.word("call").split()[0], state=state)

    def reply(self):
        for _ in range(self.random.choice([1, 1, 2, 3])):
            message, calls = self.assistant(), self.random.choice([0, 0, 1, 1, 2, 3])
            self.part(message, "step-start")
            if self.chance(0.7):
                self.part(message, "text", text=self.word("said"))
            for _ in range(calls):
                self.call(message)
            if calls:
                message["info"]["finish"] = "tool-calls"
            if self.chance(0.06):
                self.part(message, "step-start")
                self.part(message, "text", text=self.word("second"))
                self.call(message)
            if self.chance(0.08):
                kind = self.random.choice(["MessageAbortedError", "UnknownError"])
                message["info"]["error"] = {"name": kind, "data": {"message": "x"}}
            if self.chance(0.03):
                message["parts"] = []
        if calls:
            self.part(self.assistant(), "text", text=self.word("done"))

    def compaction(self):
        request = self.add("user")
        self.asked = request["info"]["id"]
        before = [message["info"]["id"] for message in self.messages[:-1]]
        tail = self.random.choice([{}] * 4 + [{"tail_start_id": self.random.choice(before)}] * 6 + [{"tail_start_id": "msg_000000000000missing00000000"}])
        self.part(request, "compaction", auto=self.chance(0.5), **tail)
        if self.chance(0.07):
            return
        summary = self.assistant(summary=True, mode="compaction", agent="compaction")
        if self.chance(0.07):
            del summary["info"]["finish"]
        if self.chance(0.05):
            summary["info"]["error"] = {"name": "UnknownError", "data": {"message": "x"}}
        self.part(summary, "text", text=self.word("summary"))
        if self.chance(0.4):
            self.part(self.add("user"), "text", text=self.word("continue"), synthetic=True)
            self.reply()

    def document(self):
        for _ in range(self.random.randint(2, 8)):
            self.user()
            self.reply()
            if self.chance(0.3):
                self.compaction()
        # A reply that has not ended would be continued with the next prompt.
        self.user()
        self.part(self.assistant(), "text", text=self.word("last"))
        # An undo leaves a reply at the end, because opencode itself would answer what is open there.
        ended = [after["info"]["id"] for before, after in itertools.pairwise(self.messages)
                 if after["info"]["role"] == "user" and before["info"].get("finish") == "stop" and "error" not in before["info"]]
        revert = {"revert": {"messageID": self.random.choice(ended)}} if ended and self.chance(0.1) else {}
        if self.chance(0.2):
            self.random.shuffle(self.messages)
        info = {"id": self.id, "slug": "random", "projectID": "global", "directory": "/work", "title": "Random", "version": "1.18.33",
                "time": {"created": 1767225600000, "updated": self.now}, **revert}
        return {"info": info, "messages": self.messages}


class Database:
    def __init__(self, path, template):
        self.rows = sqlite3.connect(path, timeout=60)
        self.rows.row_factory = sqlite3.Row
        self.template = dict(self.rows.execute("select * from session where id = ?", [template]).fetchone())

    def insert(self, table, **row):
        self.rows.execute(f"insert into {table} ({', '.join(row)}) values ({', '.join('?' * len(row))})", list(row.values()))

    def add(self, document):
        info, at = document["info"], {"time_created": 1, "time_updated": 1}
        revert = json.dumps(info["revert"]) if "revert" in info else None
        self.insert("session", **{**self.template, "id": info["id"], "revert": revert})
        for message in document["messages"]:
            own = message["info"]["id"]
            data = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
            self.insert("message", id=own, session_id=info["id"], **{**at, "time_created": message["info"]["time"]["created"]}, data=json.dumps(data))
            for part in message["parts"]:
                data = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
                self.insert("part", id=part["id"], message_id=own, session_id=info["id"], **at, data=json.dumps(data))
        self.rows.commit()


def shown(messages):
    """Returns the blocks without whitespace and without the question before a summary, with adjacent texts of one role as one, and the number of images."""
    shown, images = [], 0
    for who, block in ((message["role"], block) for message in messages for block in message["content"]):
        if block["type"] == "text" and block["text"] == opencode.QUESTION:
            continue
        if block["type"] == "tool_result" and not isinstance(block.get("content"), str):
            block = {**block, "content": agents.text_of(block.get("content"))}
        if block.get("text", "").startswith(judge.MARK):
            # The summary is the answer to the question.
            who, block = "assistant", {**block, "text": block["text"].removeprefix(judge.MARK)}
        if block["type"] == "image":
            images += 1
            continue
        if block["type"] == "tool_use":
            shown.append(("call", block["id"], json.dumps(block["input"], sort_keys=True)))
            continue
        text = "".join((block.get("text") or block.get("content") or "").split())
        if block["type"] == "tool_result":
            images += text.count('"type":"image"')
            shown.append(("result", block["tool_use_id"], text.split('{"')[0]))
        elif text and shown and shown[-1][:2] == ("text", who):
            shown[-1] = ("text", who, shown[-1][2] + text)
        elif text:
            shown.append(("text", who, text))
    # The converter adds the first message if a session begins with a reply.
    return [block for block in shown if block[2] != "Thebeginningofthissessionismissing."], images


def ours(path):
    # If nothing is sent, there is nothing to convert.
    converted = judge.tool("ctx-convert", "-q", "--to", "anthropic", path, codes=(0, 2))
    messages = [json.loads(line) for line in converted.splitlines()]
    return shown({**message, "content": [{"type": "text", "text": it}] if isinstance(it := message["content"], str) else it} for message in messages)


class Comparison:
    """Compares sessions with what the server sends of them."""

    def __init__(self, agent, home, env, model, post):
        self.agent, self.home, self.env, self.model, self.post = agent, home, env, model, post
        self.work, self.path, self.store = (os.path.join(home, name) for name in ("work", "session.json", "store"))
        self.database, self.tried, self.imported, self.compacted, self.differ = None, 0, 0, 0, 0

    def write(self, text):
        with open(self.path, "w") as out:
            out.write(text)

    def store_session(self, document):
        if self.database and (self.tried % 20 or "revert" in document["info"]):
            self.database.add(document)
            return
        said = self.agent.run([self.agent.program(), "import", self.path], self.work, self.env)
        if "Imported" not in said:
            sys.exit(f"not imported: {said[-300:]}")
        self.imported += 1
        self.database = self.database or Database(os.path.join(self.home, ".local", "share", "opencode", "opencode.db"), document["info"]["id"])

    def sent(self, identity):
        """Resumes the session; returns the messages that are sent, without the prompt."""
        prompt, first = f"{agents.PROMPT} {self.tried}.", len(self.model.requests)
        self.post(f"/session/{identity}/message", {"model": opencode.MODEL, "agent": "build", "parts": [{"type": "text", "text": prompt}]})
        sent = [request["messages"] for request in self.model.requests[first:] if request.get("tools") and prompt in json.dumps(request["messages"])]
        return [{**message, "content": [block for block in message["content"] if prompt not in block.get("text", "")]} for message in max(sent, key=len, default=[])]

    def compare(self, text, what):
        self.write(text)
        document, expected = json.loads(text), ours(self.path)
        self.store_session(document)
        self.tried += 1
        theirs = shown(self.sent(document["info"]["id"]))
        if theirs != expected:
            self.differ += 1
            at = next((at for at, pair in enumerate(zip(theirs[0], expected[0])) if pair[0] != pair[1]), min(len(theirs[0]), len(expected[0])))
            print(f"{what}: block {at}: the agent sends {str(theirs[0][at:at + 2])[:300]}, {theirs[1]} images; "
                  f"ours are {str(expected[0][at:at + 2])[:300]}, {expected[1]} images", flush=True)

    def compare_compacted(self, text, number):
        self.write(text)
        flags = (["--keep-turns", "0"], ["--keep-turns", "1"], ["--keep-turns", "3"], ["--budget", "600"])[number // 2 % 4]
        args = ["--store", self.store, "--min-idle", "0s", "--force", "--method", "extractive", "--json", *flags, self.path]
        if json.loads(judge.tool("ctx-compact", *args, codes=(0, 1)))["outcome"] == "compacted":
            self.compacted += 1
            with open(self.path) as new:
                self.compare(new.read(), f"session {number}, compacted")


def main(count=300, seed=0):
    agent = opencode.Opencode(os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "clients"))
    agents.provide_node(agent.installed)
    if why := agent.install(is_named=True):
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="ctx-random-") as home, Recorder() as model:
        env, work = agent.configure(home, model), os.path.join(home, "work")
        os.makedirs(work)
        with agent.serve(work, env) as post:
            comparison = Comparison(agent, home, env, model, post)
            for number in range(seed, seed + count):
                document = Document(number).document()
                text = json.dumps(document, indent=2) + "\n"
                comparison.compare(text, f"session {number}")
                if number % 2 and "revert" not in document["info"]:
                    # Other ids make it another session.
                    comparison.compare_compacted(text.replace(f"{number:06d}", f"{number + 500000:06d}"), number)
    print(f"{count} sessions and {comparison.compacted} of them compacted, {comparison.imported} imported, {comparison.differ} differ")
    sys.exit(1 if comparison.differ else 0)


main(*map(int, sys.argv[1:]))
