"""Kimi Code: how it resumes a session, what it then sends, and sessions that it writes itself on loopback: turns with tools, of which one
fails, an image, its own compaction, and an undo.
"""

import hashlib
import json
import os
import re
import tempfile
import time
import uuid

import agents
import sessions
from recorder import Recorder
from terminal import Terminal

# What the agent adds to results and messages when it sends them.
STATUS = re.compile(r"\A(?:Wall time: [\d.]+ seconds\n?)?(?:<system>(?:ERROR: )?Tool [^<]*</system>\n?)?")
REMINDER = "<system-reminder>"
ADDED = (f"{REMINDER}\nContext compaction is complete", f"{REMINDER}\nSome of this conversation's user messages")


SUMMARY = "A summary that the client made: turns up to here are done, port 8443 is taken."
# The sessions that the agent writes itself, each with the turn at which its window is so small that it compacts, and the turn that is undone.
OWN = {"own": (None, None), "own compacted": (6, None), "own undone": (None, 6)}
written = {}


def said_in(request):
    """Returns the model's reply to a request: two tool calls at the beginning of a turn, an answer after they have run, or a summary."""
    text = json.dumps(request["messages"][-1]["content"])
    turn = int(re.findall(r"turn(\d+)\.", json.dumps(request["messages"]))[-1])
    _, calls, answer = sessions.said(turn)
    if "summar" in text.lower():
        return [{"type": "text", "text": SUMMARY}]
    if "tool_result" in text:
        return [{"type": "text", "text": answer}]
    (read, *_), (run, *_) = calls
    image = {"type": "tool_use", "id": f"{read}_image", "name": "ReadMediaFile", "input": {"path": "turn2.png"}}
    return [{"type": "tool_use", "id": read, "name": "Read", "input": {"path": f"turn{turn}.a"}},
            {"type": "tool_use", "id": run, "name": "Bash", "input": {"command": f"cat turn{turn}.b"}}, *([image] if turn == 2 else [])]


def undo(agent, identity, work, env):
    """Types the command that undoes the last prompt."""
    env = {"PATH": os.environ["PATH"], **env}
    with Terminal(["node", agent.program(), "-m", "recorder", "-S", identity], work, env) as terminal:
        terminal.until(lambda: "Trust this folder?" in terminal.screen(), 60)
        terminal.settle()
        terminal.type("\r")
        terminal.until(lambda: "context:" in terminal.screen(), 60)
        # The first Enter takes the command, and the second one the last prompt.
        for keys in ("/undo", "\r", "\r"):
            terminal.settle()
            terminal.type(keys)
            time.sleep(0.5)
        terminal.settle()


def own(agent, name):
    """Returns a session of 14 turns that the agent writes; each is written only once."""
    if name in written:
        return written[name]
    with tempfile.TemporaryDirectory(prefix="ctx-own-") as home, Recorder(said_in) as model:
        work = os.path.join(home, "work")
        os.makedirs(work)
        sessions.write_files(work)
        identity, (compacted, undone) = None, OWN[name]
        for turn in sorted([*range(1, 15), *([undone] if undone else [])]):
            env = agent.configure(home, model, 4000 if turn == compacted else 200000)
            said = agent.run(agent.command(identity, sessions.said(turn)[0]), work, env)
            identity = re.search(r"kimi -r (session_\S+)", said).group(1)
            if turn == undone:
                undo(agent, identity, work, env)
                undone = None
        folder = next(os.path.join(root, identity) for root, folders, _ in os.walk(os.path.join(home, "sessions")) if identity in folders)
        with open(os.path.join(folder, "agents", "main", "wire.jsonl"), newline="") as text:
            # Another folder is not the workspace to which the session is bound.
            written[name] = "".join(line for line in text if '"type":"runtime.set_binding"' not in line)
    return written[name]


class Kimi(agents.Agent):
    """Kimi Code, which sends requests in the same format as Claude Code if its provider has this format."""

    name = "kimi"
    package, tested = "@moonshot-ai/kimi-code", "2.1.0"
    marks = ['"protocol_version"', '"created_at"']
    # The text around a summary: ours, and that of the agent.
    WRAPPED = re.compile(r"\A(?:What came before[^\n]*\n\n|The conversation so far has been compacted[^\n]*\n)(.*?)(?:\n\n## Context Recovery.*)?\Z", re.S)
    # The agent joins user messages that follow each other.
    joins_texts = True
    # It sends a text in place of the mark for failed results.
    UNSENT = agents.Agent.UNSENT + ("is_error",)

    sent, blocks = agents.ClaudeCode.sent, agents.ClaudeCode.blocks

    def program(self):
        return self.module(f"{self.package}/dist/main.mjs")

    def rewrites(self, session):
        return '"protocol_version":"1.5"' not in session.split("\n", 1)[0]

    def place(self, home, session):
        home = os.path.realpath(os.path.dirname(home)) + "/" + os.path.basename(home)
        work = os.path.join(home, "work")
        os.makedirs(work, exist_ok=True)
        identity = "session_" + str(uuid.uuid5(uuid.NAMESPACE_URL, session))
        folder = os.path.join(home, "sessions", f"wd_work_{hashlib.sha256(work.encode()).hexdigest()[:12]}", identity)
        main = os.path.join(folder, "agents", "main")
        os.makedirs(main, exist_ok=True)
        state = {"id": identity, "version": 2, "cwd": work, "createdAt": 1767225600000, "updatedAt": 1767225600000, "archived": False,
                 "agents": {"main": {"homedir": main, "type": "main"}}, "custom": {}}
        os.makedirs(os.path.join(folder, "notify"), exist_ok=True)
        for name, content in (("state.json", state), ("notify/state.json", {"enabled": False})):
            with open(os.path.join(folder, name), "w") as out:
                json.dump(content, out)
        return os.path.join(main, "wire.jsonl"), identity, work

    def configure(self, home, model, window=200000):
        with open(os.path.join(home, "config.toml"), "w") as out:
            out.write(f'default_model = "recorder"\ntelemetry = false\n[providers.recorder]\ntype = "anthropic"\nbase_url = "{model.url}"\napi_key = "none"\n'
                      f'[models.recorder]\nprovider = "recorder"\nmodel = "claude-opus-4-5"\nmax_context_size = {window}\n'
                      'capabilities = ["image_in"]\n')
        return {"HOME": home, "KIMI_CODE_HOME": home, "KIMI_DISABLE_TELEMETRY": "1"}

    def command(self, identity, prompt):
        # A session that was converted names no model.
        return ["node", self.program(), "-m", "recorder", *(["-S", identity] if identity else []), "-p", prompt]

    def requests(self, home, path, work):
        identity = path.split(os.sep)[-4]
        home = path.split("/sessions/")[0]
        with Recorder() as model:
            said = self.run(self.command(identity, agents.PROMPT), work, self.configure(home, model))
            return model.requests, said

    def ask(self, home, path, _identity, work):
        requests, said = self.requests(home, path, work)
        return self.sent(requests), said

    def messages(self, requests):
        """Returns the messages of the request that sent the prompt, without what the agent adds to them; the prompt is the last text."""
        messages = []
        for message in agents.ClaudeCode.messages(self, requests) or []:
            blocks = [self.bare(block) for block in message["content"] if not block.get("text", "").startswith(ADDED)]
            asked = next((at for at, block in enumerate(blocks) if block.get("text") == agents.PROMPT), len(blocks))
            messages.append({**message, "content": blocks[:asked + 1]})
        return messages

    def bare(self, block):
        if block["type"] == "tool_result":
            first, *rest = block["content"]
            first = {**first, "text": STATUS.sub("", first["text"])} if first["type"] == "text" else first
            block = {**block, "content": [first, *rest]}
        return block

    def block(self, role, block):
        blocks = agents.ClaudeCode.block(self, role, block)
        return [(kind, who, self.WRAPPED.sub(r"\1", text)) for kind, who, text in blocks]
