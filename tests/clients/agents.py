"""The agents: how each is installed and resumes a session, and what it then sends its model.

What is sent is a list of blocks, each a tuple: ("text", role, text), ("call", id, name) or
("result", id, text). What an agent adds on each start by itself is left out.
"""

import json
import os
import re
import shutil
import subprocess
import sys

from recorder import Recorder

HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT = "what is next?"


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", json.dumps(part, sort_keys=True)) for part in content or [])


class Agent:
    """Common to all: installed once, into a folder of its own."""

    size = None

    def __init__(self, installed):
        self.folder = os.path.join(installed, self.name)

    def install(self, is_named=False):
        """Why it cannot be tried; nothing when it is there. What is large is fetched only when it is named."""
        packages = [f"{package}@{version}" for package, version in self.packages.items()]
        stamp = os.path.join(self.folder, "installed")
        if os.path.exists(stamp) and open(stamp).read() == " ".join(packages):
            return None
        if self.size and not is_named:
            return f"it takes {self.size}, and is installed with --agent {self.name}"
        os.makedirs(self.folder, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", self.folder, *packages]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"npm cannot install {' '.join(packages)}: {done.stderr.strip().splitlines()[-1:]}"
        with open(stamp, "w") as out:
            out.write(" ".join(packages))
        return None

    @property
    def format(self):
        """What our tools call the format of its sessions."""
        return self.name

    def is_own(self, session):
        """Whether a session is one of this agent's."""
        return all(mark in session[:100000] for mark in self.marks)

    def module(self, path):
        return os.path.join(self.folder, "node_modules", path)

    def run(self, command, cwd, env):
        env = {"PATH": os.environ["PATH"], **env}
        try:
            done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            return done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            return "it did not end within 120 s"


class ClaudeCode(Agent):
    name = "claude-code"
    packages = {"@anthropic-ai/claude-code": "2.1.197"}
    marks = ['"sessionId"', '"parentUuid"']

    def program(self):
        scope = self.module("@anthropic-ai")
        machine = next(folder for folder in sorted(os.listdir(scope)) if folder.startswith("claude-code-"))
        return os.path.join(scope, machine, "claude")

    def place(self, home, session):
        """Where the client looks for a session of that text; its id, and where it runs."""
        found = re.search(r'"sessionId":"([0-9a-f-]{36})"', session)
        identity = found.group(1)
        work = os.path.join(home, "work")
        os.makedirs(work, exist_ok=True)
        folder = os.path.join(home, ".claude", "projects", re.sub(r"[^A-Za-z0-9]", "-", work))
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, identity + ".jsonl"), identity, work

    def environment(self, home, model):
        return {"HOME": home, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1"}

    def ask(self, home, path, identity, work):
        requests, said = self.requests(home, identity, work)
        return self.sent(requests), said

    def requests(self, home, identity, work):
        """All that it sends when it goes on with the prompt, and what it says."""
        with Recorder() as model:
            said = self.run([self.program(), "-p", "--resume", identity, PROMPT], work, self.environment(home, model))
            return model.requests, said

    def sent(self, requests):
        """What was sent with the prompt; nothing when it was not sent."""
        messages = self.messages(requests)
        return self.blocks(messages) if messages else None

    def messages(self, requests):
        """The same as the messages of the request."""
        asked = [request["messages"] for request in requests if PROMPT in json.dumps(request.get("messages", []))]
        # Smaller requests beside it ask for a title.
        return max(asked, key=len) if asked else None

    def blocks(self, messages):
        blocks = []
        for message in messages:
            content = message["content"]
            content = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in content:
                blocks.extend(self.block(message["role"], block))
        return blocks

    def block(self, role, block):
        kind = block["type"]
        if kind == "text":
            text = block["text"]
            is_added = role == "system" or text.startswith("<system-reminder>") or text in (PROMPT, "No response requested.", "Continue from where you left off.")
            return [] if is_added else [("text", role, text)]
        if kind == "tool_use":
            return [("call", block["id"], block["name"])]
        if kind == "tool_result":
            return [("result", block["tool_use_id"], text_of(block.get("content")))]
        return [(kind, role, block.get("thinking", ""))]


class Codex(Agent):
    name = "codex"
    packages = {"@openai/codex": "0.169.0"}
    marks = ['"session_meta"']

    def program(self):
        scope = self.module("@openai")
        machine = next(folder for folder in sorted(os.listdir(scope)) if folder.startswith("codex-"))
        vendor = os.path.join(scope, machine, "vendor")
        return os.path.join(vendor, os.listdir(vendor)[0], "bin", "codex")

    def place(self, home, session):
        identity = json.loads(session.split("\n", 1)[0])["payload"]["id"]
        folder = os.path.join(home, "sessions", "2026", "01", "01")
        work = os.path.join(home, "work")
        os.makedirs(folder, exist_ok=True)
        os.makedirs(work, exist_ok=True)
        return os.path.join(folder, f"rollout-2026-01-01T00-00-00-{identity}.jsonl"), identity, work

    def configure(self, home, model, more=""):
        with open(os.path.join(home, "config.toml"), "w") as out:
            out.write(f'model = "gpt-5"\nmodel_provider = "recorder"\ncheck_for_update_on_startup = false\n[model_providers.recorder]\nname = "recorder"\n'
                      f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n[analytics]\nenabled = false\n{more}')
        return {"CODEX_HOME": home, "HOME": home, "OPENAI_API_KEY": "none"}

    def ask(self, home, path, identity, work):
        with Recorder() as model:
            env = self.configure(home, model)
            said = self.run([self.program(), "exec", "--skip-git-repo-check", "resume", identity, PROMPT], work, env)
            return self.sent(model.requests), said

    def sent(self, requests):
        asked = [request["input"] for request in requests if PROMPT in json.dumps(request.get("input", [])[-1:])]
        return self.blocks(max(asked, key=len)) if asked else None

    def blocks(self, items):
        blocks = []
        for item in items:
            kind = item["type"]
            if kind == "message":
                text = text_of(item["content"])
                is_added = item["role"] == "developer" or text == PROMPT or re.match(r"\s*<environment_context>|# AGENTS.md", text)
                blocks.extend([] if is_added else [("text", item["role"], text)])
            elif kind.endswith("_output"):
                blocks.append(("result", item["call_id"], text_of(item["output"])))
            elif "call_id" in item:
                blocks.append(("call", item["call_id"], item.get("name")))
            else:
                blocks.append((kind, "", ""))
        return blocks


class Loader(Agent):
    """An agent whose own loader is asked, since it can be: no request is made."""

    def place(self, home, session):
        os.makedirs(home, exist_ok=True)
        return os.path.join(home, "session.jsonl"), None, home

    def ask(self, home, path, _identity, work):
        # A loader may write the file anew: it gets a copy.
        copy = os.path.join(home, "copy.jsonl")
        shutil.copy(path, copy)
        said = self.run(["node", os.path.join(HERE, self.script), self.folder, copy], work, {"HOME": home})
        try:
            return [tuple(block) for block in json.loads(said)], said
        except ValueError:
            return None, said


class Pi(Loader):
    name = "pi"
    packages = {"@mariozechner/pi-coding-agent": "0.73.1"}
    marks = ['"type":"session"', '"timestamp"']
    script = "pi.mjs"

    # By hand it asks a model in the words of Claude Code.
    sent, messages, blocks, block = ClaudeCode.sent, ClaudeCode.messages, ClaudeCode.blocks, ClaudeCode.block


class OpenClaw(Loader):
    """Of its own database it reads no file; these are the entries of before, which its `doctor` takes over, and of archives."""

    name = "openclaw"
    format = "pi"
    packages = {"openclaw": "2026.9.6"}
    size = "640 MB"
    marks = Pi.marks
    script = "openclaw.mjs"


class Gemini(Loader):
    name = "gemini"
    packages = {"@google/gemini-cli-core": "0.61.0"}
    marks = ['"projectHash"', '"sessionId"']
    script = "gemini.mjs"


AGENTS = [ClaudeCode, Codex, Pi, OpenClaw, Gemini]
