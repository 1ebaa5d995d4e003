"""opencode, whose sessions are in a database. A trial imports the document of a session, resumes it, and exports it again."""

import json
import os
import re
import shutil
import subprocess

import agents
from recorder import Recorder

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
            # A pipe gets only the first 64 KiB of an export.
            with open(path, "w") as out:
                subprocess.run([self.program(), "export", identity], cwd=work, env={"PATH": os.environ["PATH"], **env}, stdout=out,
                               stderr=subprocess.DEVNULL, timeout=120, check=False)
            return model.requests, said

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
