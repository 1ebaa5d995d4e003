"""The GitHub Copilot CLI: how it resumes a session, what it sends, and sessions that it writes itself on loopback: turns with tools, a
failing tool, a command of the user, an image, a compaction, a rewind and a turn that was interrupted. The texts are those of the made-up sessions.
"""

import json
import os
import re
import subprocess
import tempfile
import time

import agents
import sessions
from recorder import Recorder

SUMMARY = "A summary that the client made: turns up to here are done, port 8443 is taken."


class Copilot(agents.Agent):
    name = "copilot"
    package, tested = "@github/copilot", "1.0.102"
    marks = ['"session.start"', '"copilotVersion"']
    # It sends no mark for failed results.
    UNSENT = agents.Agent.UNSENT + ("is_error",)
    # It stores images in events of their own (`session.binary_asset`).
    LOST = ("image",)
    TIME = re.compile(rf"\A<current_datetime>[^<]*</current_datetime>\s*(?={re.escape(agents.PROMPT)}\Z)")
    MESSAGES = re.compile(r"<user_message>\n(.*?)\n</user_message>", re.S)
    SKILL = re.compile(r"\s*<invoked_skills>.*?Continue to follow these instructions:\n\n(.*?)(?:\n\n## Previously used skills\n.*?)?\n</invoked_skills>", re.S)
    WRAPPED = re.compile(r"\ASome of the conversation history has been summarized (.*)<summary>\n(.*)\n</summary>(.*)\Z", re.S)

    sent, messages = agents.ClaudeCode.sent, agents.ClaudeCode.messages

    def program(self):
        scope = self.module("@github")
        machine = next(folder for folder in sorted(os.listdir(scope)) if folder.startswith("copilot-"))
        return os.path.join(scope, machine, "copilot")

    def place(self, home, session):
        start = next(line for line in session.split("\n") if '"session.start"' in line)
        identity = json.loads(start)["data"]["sessionId"]
        folder, work = os.path.join(home, "session-state", identity), os.path.join(home, "work")
        os.makedirs(folder, exist_ok=True)
        os.makedirs(work, exist_ok=True)
        return os.path.join(folder, "events.jsonl"), identity, work

    def environment(self, home, model):
        # The program unpacks itself below HOME, once for all trials.
        return {"HOME": self.folder, "COPILOT_HOME": home, "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_BASE_URL": model.url,
                "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "claude-sonnet-4.5", "COPILOT_AUTO_UPDATE": "false"}

    def requests(self, home, path, work):
        identity = os.path.basename(os.path.dirname(path))
        with Recorder() as model:
            said = self.run([self.program(), f"--resume={identity}", "-p", agents.PROMPT, "--allow-all"], work, self.environment(home, model))
            return model.requests, said

    def ask(self, home, path, _identity, work):
        requests, said = self.requests(home, path, work)
        return self.sent(requests), said

    def texts(self, text):
        """Returns the messages that a text consists of: with a summary, the earlier messages of the user are sent again."""
        wrapped = self.WRAPPED.match(text)
        if not wrapped:
            return [self.TIME.sub("", text).strip()]
        before, summary, after = wrapped.groups()
        summary = "\n\n".join(filter(None, [summary.strip(), self.SKILL.sub("", after).strip()]))
        return [*self.MESSAGES.findall(before), summary, *self.SKILL.findall(after)]

    def blocks(self, messages):
        blocks = []
        for message in messages:
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "text":
                    blocks.extend(("text", message["role"], text) for text in self.texts(block["text"]) if text != agents.PROMPT)
                elif block["type"] == "tool_use":
                    blocks.append(("call", block["id"], block["name"]))
                elif block["type"] == "tool_result":
                    blocks.append(("result", block["tool_use_id"], agents.text_of(block.get("content"))))
                else:
                    blocks.append((block["type"], message["role"], ""))
        return blocks


def said_in(request):
    """Returns the model's reply to a request: three tool calls at the beginning of a turn, one of which fails, and an answer."""
    text = json.dumps(request["messages"][-1]["content"])
    turns = re.findall(r"turn(\d+)\.", text)
    if "Tools are unavailable in this step" in text or not turns:
        return [{"type": "text", "text": SUMMARY}]
    if "slowly" in text:
        time.sleep(2)
    turn = turns[-1]
    _, calls, answer = sessions.said(int(turn))
    if "tool_result" in text:
        return [{"type": "text", "text": answer}]
    (read, _, _, _), (run, _, _, _) = calls
    name = f"turn{turn}."
    view = {"type": "tool_use", "id": read, "name": "view", "input": {"path": os.path.join(request["folder"], name + "a")}}
    shell = {"type": "tool_use", "id": run, "name": "bash", "input": {"command": f"cat {name}b", "description": name}}
    none = {"type": "tool_use", "id": f"{read}_none", "name": "view", "input": {"path": os.path.join(request["folder"], name + "none")}}
    return [view, shell, none]


def take(agent, home, work, model, steps):
    """Has the SDK of the agent take these steps."""
    env = {**os.environ, **agent.environment(home, model)}
    # Unpacks the program, if no trial has done so before.
    subprocess.run([agent.program(), "--version"], env=env, capture_output=True, check=True)
    unpacked = os.path.join(agent.folder, ".cache", "copilot", "pkg")
    sdk = next(os.path.join(folder, "index.js") for folder, _, _ in os.walk(unpacked) if folder.endswith(f"{agent.version}/copilot-sdk"))
    path = os.path.join(home, "steps.json")
    with open(path, "w") as out:
        json.dump(steps, out)
    command = ["node", os.path.join(agents.HERE, "copilot-own.mjs"), sdk, agent.program(), model.url, path]
    done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"the SDK of the Copilot CLI: {done.stderr[-600:]}")


class Session:
    """A session in its own folder, which exists as long as this object."""

    def __init__(self, agent):
        self.agent, self.kept = agent, tempfile.TemporaryDirectory(prefix="ctx-own-")
        self.home = self.kept.name
        self.identity = sessions.identity("copilot", "own", self.home)
        self.path = os.path.join(self.home, "session-state", self.identity, "events.jsonl")
        self.work = os.path.join(self.home, "work")
        os.makedirs(self.work)
        for turn in range(1, 15):
            for (_, _, _, result), letter in zip(sessions.said(turn)[1], "ab"):
                with open(os.path.join(self.work, f"turn{turn}.{letter}"), "w") as out:
                    out.write(result)

    def run(self, *steps):
        """Makes the agent take these steps in a new session; a number is a turn."""
        steps = [["send", sessions.said(step)[0], [IMAGE] if step == 2 else []] if isinstance(step, int) else step for step in steps]
        with Recorder(lambda request: said_in({**request, "folder": self.work})) as model:
            take(self.agent, self.home, self.work, model, [["new", self.identity], *steps, ["close"]])
        return self

    def text(self):
        with open(self.path, newline="") as text:
            return text.read()


IMAGE = {"type": "blob", "data": sessions.IMAGE, "mimeType": "image/png", "displayName": "x.png"}
COMPACT = ["rpc", "history.compact", {}]
SHELL = ["rpc", "shell.executeUserRequested", {"command": "echo turn5.shell", "requestId": sessions.identity("shell")}]

OWN = {
    "own": lambda session: session.run(*range(1, 6), SHELL, *range(6, 15)),
    "own compacted": lambda session: session.run(*range(1, 7), COMPACT, *range(7, 15)),
    "own compacted twice": lambda session: session.run(*range(1, 4), COMPACT, *range(4, 7), SHELL, COMPACT, *range(7, 15)),
    "own rewound": lambda session: session.run(*range(1, 6), ["rewind", 3], *range(4, 15)),
    "own interrupted": lambda session: session.run(*range(1, 6), ["abort", "turn6. Please answer slowly."], *range(6, 15)),
}
