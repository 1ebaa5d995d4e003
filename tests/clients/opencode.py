"""opencode, whose sessions are in a database. A trial imports the document of a session, resumes it, and exports it again.

opencode also writes sessions itself here on loopback: turns with tools, of which one fails, an image, its own compaction, and an undo.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request

import agents
import sessions
from recorder import Recorder

SUMMARY = "A summary that the client made: turns up to here are done, port 8443 is taken."
# What opencode asks before a summary.
QUESTION = "What did we do so far?"


class Opencode(agents.Agent):
    """opencode, which sends requests in the same format as Claude Code if its provider is Anthropic."""

    name = "opencode"
    package, tested = "opencode-ai", "1.18.33"
    size = "330 MB"
    marks = ['"info"', '"messages"']
    WRAPPED = re.compile(r"(?!)()")

    sent, blocks, block = agents.ClaudeCode.sent, agents.ClaudeCode.blocks, agents.ClaudeCode.block

    def program(self):
        folder = self.module("")
        machine = next(name for name in sorted(os.listdir(folder)) if name.startswith("opencode-") and name != self.package)
        return os.path.join(folder, machine, "bin", "opencode")

    def place(self, home, session):
        work = os.path.join(home, "work")
        os.makedirs(work, exist_ok=True)
        return os.path.join(home, "session.json"), json.loads(session)["info"]["id"], work

    def keeps(self, before, after):
        before, after = json.loads(before), json.loads(after)
        return before["info"] == after["info"] and after["messages"][:len(before["messages"])] == before["messages"]

    def rewrites(self, session):
        """The export after a turn has new members in old messages."""
        return True

    def configure(self, home, model):
        # Import keeps the messages that the database has, so each resume begins without one.
        shutil.rmtree(os.path.join(home, ".local"), ignore_errors=True)
        folder = os.path.join(home, ".config", "opencode")
        os.makedirs(folder, exist_ok=True)
        limits = {"limit": {"context": 200000, "output": 8000}, "attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
        provider = {"npm": "@ai-sdk/anthropic", "options": {"baseURL": model.url + "/v1", "apiKey": "none"}, "models": {"recorded": limits}}
        with open(os.path.join(folder, "opencode.json"), "w") as out:
            json.dump({"provider": {"recorder": provider}, "model": "recorder/recorded", "small_model": "recorder/recorded", "autoupdate": False,
                       "share": "disabled", "permission": {"*": "allow"}}, out)
        return {"HOME": home, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def requests(self, home, path, work):
        """Imports and resumes the session, and exports it to its file; returns all requests, and the output."""
        with open(path) as session:
            identity = json.load(session)["info"]["id"]
        with Recorder() as model:
            env = self.configure(home, model)
            said = self.run([self.program(), "import", path], work, env)
            said += self.run([self.program(), "run", "-s", identity, "-m", "recorder/recorded", agents.PROMPT], work, env)
            self.export(identity, path, work, env)
            return model.requests, said

    def export(self, identity, path, work, env):
        # A pipe gets only the first 64 KiB of an export.
        with open(path, "w") as out:
            subprocess.run([self.program(), "export", identity], cwd=work, env={"PATH": os.environ["PATH"], **env}, stdout=out,
                           stderr=subprocess.DEVNULL, timeout=600, check=False)

    @contextlib.contextmanager
    def serve(self, work, env):
        """Runs opencode's server; returns a function that posts to a path of its API, and returns the answer."""
        command = [self.program(), "serve", "--port", "0"]
        server = subprocess.Popen(command, cwd=work, env={"PATH": os.environ["PATH"], **env}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  start_new_session=True)
        try:
            url = next(found.group() for line in server.stdout if (found := re.search(r"http://[\d.]+:\d+", line)))

            def post(path, body):
                request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
                with urllib.request.urlopen(request, timeout=600) as answer:
                    return json.loads(answer.read() or b"null")

            yield post
        finally:
            # It does not end at SIGTERM while it installs packages in the background.
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            server.stdout.close()

    def ask(self, home, path, _identity, work):
        requests, said = self.requests(home, path, work)
        return self.sent(requests), said

    def messages(self, requests):
        """Returns the messages of the request that sent the prompt. A summary becomes a message of the user, without the question before it."""
        messages, is_summary = [], False
        for message in agents.ClaudeCode.messages(self, requests) or []:
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                role = message["role"]
                if block["type"] == "text":
                    # `opencode run` puts a prompt with blanks in quotes.
                    block = {**block, "text": block["text"].replace(f'"{agents.PROMPT}"', agents.PROMPT)}
                    if block["text"] == QUESTION:
                        is_summary = True
                        continue
                    role, is_summary = "user" if is_summary else role, False
                messages.append({"role": role, "content": [block]})
        return messages


MODEL = {"providerID": "recorder", "modelID": "recorded"}


def said_in(request):
    """Returns the model's reply to a request: two tool calls at the beginning of a turn, an answer after they have run, or a summary."""
    turns = re.findall(r"turn(\d+)\.", json.dumps(request["messages"]))
    if not request.get("tools") or not turns:
        return [{"type": "text", "text": SUMMARY}]
    _, calls, answer = sessions.said(int(turns[-1]))
    if "tool_result" in json.dumps(request["messages"][-1]["content"]):
        return [{"type": "text", "text": answer}]
    (run, *_), (read, *_) = calls
    name = f"turn{turns[-1]}."
    # opencode takes files that end in .a for binary ones.
    return [{"type": "tool_use", "id": run, "name": "bash", "input": {"command": f"cat {name}a", "description": name}},
            {"type": "tool_use", "id": read, "name": "read", "input": {"filePath": name + "b"}}]


def write(agent, steps):
    """Returns the document of a session in which opencode takes these steps; a number is a turn."""
    with tempfile.TemporaryDirectory(prefix="ctx-own-") as home, Recorder(said_in) as model:
        work, env, asked = os.path.join(home, "work"), agent.configure(home, model), {}
        os.makedirs(work)
        sessions.write_files(work)
        with agent.serve(work, env) as post:
            identity = post("/session", {"title": "Own"})["id"]
            for step in steps:
                if step == "compact":
                    post(f"/session/{identity}/summarize", MODEL)
                elif step == "undo":
                    post(f"/session/{identity}/revert", {"messageID": asked[4]})
                else:
                    files = [{"type": "file", "mime": "image/png", "filename": "x.png", "url": f"data:image/png;base64,{sessions.IMAGE}"}] if step == 2 else []
                    parts = [{"type": "text", "text": sessions.said(step)[0]}, *files]
                    asked[step] = post(f"/session/{identity}/message", {"model": MODEL, "agent": "build", "parts": parts})["info"]["parentID"]
        path = os.path.join(home, "session.json")
        agent.export(identity, path, work, env)
        with open(path) as text:
            return text.read()


OWN = {"own": range(1, 15), "own compacted": [*range(1, 7), "compact", *range(7, 15)], "own undone": [*range(1, 7), "undo", *range(4, 15)]}
written = {}


def text(agent, name):
    """Returns the session of that name; each session is written only once."""
    if (agent.version, name) not in written:
        written[agent.version, name] = write(agent, OWN[name])
    return written[agent.version, name]
