"""The agents: how each one is installed, how it resumes a session, and what it then sends to its model.

The content that an agent sends is a list of blocks. Each block is a tuple: ("text", role, text), ("call", id, name) or
("result", id, text). Content that the agent adds by itself at each start is left out.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

from recorder import Recorder

HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT = "what is next?"


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", json.dumps(part, sort_keys=True)) for part in content or [])


def parts(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def npm(*args, cwd=None):
    """Runs npm; returns its output, and the reason as the second value if it failed."""
    done = subprocess.run(["npm", *args], cwd=cwd, capture_output=True, text=True)
    why = f"npm {' '.join(args)}: {done.stderr.strip().splitlines()[-1:]}" if done.returncode else None
    return done.stdout.strip(), why


def install_package(folder, package, *flags):
    os.makedirs(folder, exist_ok=True)
    return npm("install", "--silent", "--no-fund", "--no-audit", *flags, "--prefix", folder, package)[1]


def provide_node(installed):
    """Provides Node 22 or newer, which agents need; with an older Node npm silently installs older agents."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    if int(version.strip("v\n").split(".")[0]) < 22:
        folder = os.path.join(installed, "node")
        program = os.path.join(folder, "node_modules", "node", "bin")
        if not os.path.exists(program) and (why := install_package(folder, "node@24")):
            sys.exit(why)
        os.environ["PATH"] = program + os.pathsep + os.environ["PATH"]
    return subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()


class Agent:
    """An agent that is installed once, into its own folder. `wanted` is "tested", "newest" or a version."""

    size = None
    joins_texts = False
    # Members of blocks that are not compared.
    UNSENT = ("cache_control", "caller")
    # Types of blocks that a conversion drops.
    LOST = ()
    # The format in which what the agent sends is compared with what our tools show.
    view = "anthropic"

    def __init__(self, installed, wanted="tested"):
        self.installed, self.wanted = installed, wanted

    def install(self, is_named=False):
        """Installs the agent; returns why it cannot be tried, or nothing. Large agents are downloaded only if they are named."""
        self.version, why = (self.tested if self.wanted == "tested" else self.wanted), None
        if self.wanted == "newest":
            self.version, why = npm("view", self.package, "version")
        self.folder = os.path.join(self.installed, f"{self.name}-{self.version}")
        about = self.module(os.path.join(self.package, "package.json"))
        if not why and not os.path.exists(about):
            if self.size and not is_named:
                return f"it takes {self.size}, and is installed with --agent {self.name}"
            why = self.fetch(f"{self.package}@{self.version}")
        if why:
            return why
        with open(about) as found:
            found = json.load(found)["version"]
        if found != self.version:
            sys.exit(f"{self.package} {self.version} was asked for, and npm has installed {found}")
        return None

    def fetch(self, package):
        return install_package(self.folder, package, "--ignore-scripts")

    @property
    def format(self):
        """Returns the name that our tools use for the format of the agent's sessions."""
        return self.name

    def rewrites(self, session):
        """Returns True if the agent rewrites the file of a session when it opens it."""
        return False

    def keeps(self, before, after):
        """Returns True if no message or line of the session `before` has changed in `after`."""
        return after.startswith(before)

    def is_own(self, session):
        """Returns True if this agent has written the session."""
        return all(mark in session[:100000] for mark in self.marks)

    def here(self, session):
        """Returns a session that was recorded elsewhere in a form that the agent opens here; by default, as it is."""
        return session

    # The text that the agent puts around a summary; by default, none.
    WRAPPED = re.compile(r"(?!)()")

    def texts(self, text):
        """Returns the texts of the messages that a text in a request consists of."""
        return [self.WRAPPED.sub(r"\1", text)]

    def added(self, messages):
        """Returns the texts in messages that the agent puts where it likes, such as reminders; by default, none."""
        return ""

    def without_copies(self, messages):
        """Returns the messages without what the agent sends twice."""
        return messages

    def module(self, path):
        return os.path.join(self.folder, "node_modules", path)

    def run(self, command, cwd, env):
        env = {"PATH": os.environ["PATH"], **env}
        try:
            done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
            return done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            return "it did not end within 600 s"


class ClaudeCode(Agent):
    name = "claude-code"
    package, tested = "@anthropic-ai/claude-code", "2.1.197"
    marks = ['"sessionId"', '"parentUuid"', '"isSidechain"']
    # Version 2.1.332 adds a newline to a text if another text of the user follows.
    WRAPPED = re.compile(r"\A(?:<system-reminder>\n)?(.*?)(?:\n</system-reminder>)?\n?\Z", re.S)

    def program(self):
        scope = self.module("@anthropic-ai")
        machine = next(folder for folder in sorted(os.listdir(scope)) if folder.startswith("claude-code-"))
        return os.path.join(scope, machine, "claude")

    def place(self, home, session):
        """Returns the path where the client looks for a session with this text, its id, and the folder in which the client runs."""
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
        requests, said = self.requests(home, path, work)
        return self.sent(requests), said

    def requests(self, home, path, work):
        """Resumes the session with the prompt; returns all requests of the agent, and its output."""
        identity = os.path.splitext(os.path.basename(path))[0]
        with Recorder() as model:
            said = self.run([self.program(), "-p", "--resume", identity, PROMPT], work, self.environment(home, model))
            return model.requests, said

    def sent(self, requests):
        """Returns the blocks that were sent with the prompt, or nothing if the prompt was not sent."""
        messages = self.messages(requests)
        return self.blocks(messages) if messages else None

    def added(self, messages):
        texts = [(message["role"], block.get("text", "")) for message in messages for block in parts(message)]
        return "\n".join(text for role, text in texts if role == "system" or text.startswith("<system-reminder>"))

    def messages(self, requests):
        """Returns the messages of the request that sent the prompt."""
        asked = [request["messages"] for request in requests if PROMPT in json.dumps(request.get("messages", []))]
        # The agent also sends smaller requests, which ask for a title.
        return max(asked, key=len) if asked else None

    def blocks(self, messages):
        blocks = []
        for message in messages:
            for block in parts(message):
                blocks.extend(self.block(message["role"], block))
        return blocks

    def block(self, role, block):
        kind = block["type"]
        if kind == "text":
            # Version 2.1.332 adds a newline here, and version 2.1.197 does not.
            text = re.sub(r"(?<=</local-command-stdout>)\n\Z", "", block["text"])
            is_added = role == "system" or text.startswith("<system-reminder>") or text in (PROMPT, "No response requested.", "Continue from where you left off.")
            return [] if is_added else [("text", role, text)]
        if kind == "tool_use":
            return [("call", block["id"], block["name"])]
        if kind == "tool_result":
            return [("result", block["tool_use_id"], text_of(block.get("content")))]
        return [(kind, role, block.get("thinking", ""))]


class Codex(Agent):
    name = "codex"
    package, tested = "@openai/codex", "0.169.0"
    view = "responses"
    # For each session that begins in other files, these files and its own name.
    bases = {}
    UNSENT = ("internal_chat_message_metadata_passthrough",)
    marks = ['"session_meta"']

    def program(self):
        scope = self.module("@openai")
        machine = next(folder for folder in sorted(os.listdir(scope)) if folder.startswith("codex-"))
        vendor = os.path.join(scope, machine, "vendor")
        return os.path.join(vendor, os.listdir(vendor)[0], "bin", "codex")

    def place(self, home, session):
        header = json.loads(session.split("\n", 1)[0])["payload"]
        folder = os.path.join(home, "sessions", "2026", "01", "01")
        work = os.path.join(home, "work")
        os.makedirs(folder, exist_ok=True)
        os.makedirs(work, exist_ok=True)
        name = f"rollout-2026-01-01T00-00-00-{header['id']}.jsonl"
        if "history_base" in header:
            # The session begins in the older file, which has to be there.
            older, name = self.bases[header["id"]]
            for path in older:
                shutil.copy(path, folder)
        return os.path.join(folder, name), header["id"], work

    def configure(self, home, model, more=""):
        with open(os.path.join(home, "config.toml"), "w") as out:
            out.write(f'model = "gpt-5"\nmodel_provider = "recorder"\ncheck_for_update_on_startup = false\n[model_providers.recorder]\nname = "recorder"\n'
                      f'base_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n[analytics]\nenabled = false\n{more}')
        return {"CODEX_HOME": home, "HOME": home, "OPENAI_API_KEY": "none"}

    def ask(self, home, path, identity, work):
        requests, said = self.requests(home, path, work)
        return self.sent(requests), said

    def requests(self, home, path, work):
        identity = re.search(r"T\d\d-\d\d-\d\d-([0-9a-f-]{36})", path).group(1)
        with Recorder() as model:
            env = self.configure(home, model)
            said = self.run([self.program(), "exec", "--skip-git-repo-check", "resume", identity, PROMPT], work, env)
            return model.requests, said

    def sent(self, requests):
        items = self.messages(requests)
        return self.blocks(items) if items else None

    def messages(self, requests):
        asked = [request["input"] for request in requests if PROMPT in json.dumps(request.get("input", [])[-1:])]
        return max(asked, key=len) if asked else None

    def is_added(self, item):
        """Returns True if the agent adds the item at each start, or if it is the prompt."""
        text = text_of(item.get("content"))
        return item.get("role") == "developer" or text == PROMPT or bool(re.match(r"\s*<environment_context>|# AGENTS.md", text))

    def items(self, items):
        """Returns the items as they are sent, without those that the agent adds at each start."""
        kept = []
        for item in items:
            item = {"type": "message", **{key: value for key, value in item.items() if key not in self.UNSENT}}
            if isinstance(item.get("content"), str):
                kind = "output_text" if item["role"] == "assistant" else "input_text"
                item["content"] = [{"type": kind, "text": item["content"]}]
            if item.get("role") == "user":
                # In ctx-convert's output, a summary has no id.
                item.pop("id", None)
            if not self.is_added(item):
                kept.append(item)
        return kept

    def blocks(self, items):
        blocks = []
        for item in items:
            kind = item["type"]
            if kind == "message":
                blocks.extend([] if self.is_added(item) else [("text", item["role"], text_of(item["content"]))])
            elif kind.endswith("_output"):
                blocks.append(("result", item["call_id"], text_of(item["output"])))
            elif "call_id" in item:
                blocks.append(("call", item["call_id"], item.get("name")))
            else:
                blocks.append((kind, "", ""))
        return blocks


class Loader(Agent):
    """An agent whose own loader can be called to read a session, so no request is needed."""

    def place(self, home, session):
        os.makedirs(home, exist_ok=True)
        return os.path.join(home, "session.jsonl"), None, home

    def ask(self, home, path, _identity, work):
        # The loader works on a copy, because it may rewrite the file.
        copy = os.path.join(home, "copy.jsonl")
        shutil.copy(path, copy)
        said = self.run(["node", os.path.join(HERE, self.script), self.folder, copy], work, {"HOME": home})
        try:
            return [tuple(block) for block in json.loads(said)], said
        except ValueError:
            return None, said


class Pi(Agent):
    """pi, which sends requests in the same format as Claude Code."""

    name = "pi"
    package, tested = "@earendil-works/pi-coding-agent", "1.5.2"
    marks = ['"type":"session"', '"timestamp"']
    # The text that pi puts around a summary.
    WRAPPED = re.compile(r"\A(?:The conversation history before|The following is a summary of a branch)[^\n]*:\n\n<summary>\n(.*?)\n?</summary>\Z", re.S)
    MODELS = [{"id": name, "contextWindow": 200000} for name in ("claude-opus-4-5", "claude-sonnet-4-5")]

    place, sent, messages, blocks = Loader.place, ClaudeCode.sent, ClaudeCode.messages, ClaudeCode.blocks

    def here(self, session):
        # pi opens a session only if its folder exists.
        return re.sub(r'("cwd":)"[^"]*"', r'\1"/"', session, count=1)

    def fetch(self, package):
        """Downloads the package without its dependencies: npm cannot install it if one is missing, and the part that runs needs none."""
        os.makedirs(self.folder, exist_ok=True)
        name, why = npm("pack", "--silent", package, cwd=self.folder)
        if not why:
            with tarfile.open(os.path.join(self.folder, name)) as archive:
                archive.extractall(self.folder, filter="data")
            os.renames(os.path.join(self.folder, "package"), self.module(self.package))
        return why

    def rewrites(self, session):
        return '"version"' not in session.split("\n", 1)[0]

    @property
    def bundle(self):
        return self.module(f"{self.package}/dist/bundle")

    def program(self):
        return os.path.join(self.bundle, "cli.js")

    def command(self, path, *args):
        return ["node", self.program(), "--offline", "--provider", "recorder", "--model", "claude-opus-4-5", "--session", path, *args]

    def configure(self, home, model):
        settings = os.path.join(home, ".pi", "agent")
        os.makedirs(settings, exist_ok=True)
        recorder = {"baseUrl": model.url, "api": "anthropic-messages", "apiKey": "none", "models": self.MODELS}
        for name, content in (("models", {"providers": {"recorder": recorder}}), ("settings", {"compaction": {"keepRecentTokens": 2000}})):
            with open(os.path.join(settings, name + ".json"), "w") as out:
                json.dump(content, out)
        return {"HOME": home}

    def requests(self, home, path, work):
        with Recorder() as model:
            said = self.run(self.command(path, "-p", PROMPT), work, self.configure(home, model))
            return model.requests, said

    def ask(self, home, path, _identity, work):
        requests, said = self.requests(home, path, work)
        return self.sent(requests), said

    def block(self, role, block):
        blocks = ClaudeCode.block(self, role, block)
        return [(kind, who, *self.texts(text)) for kind, who, text in blocks]


class OldPi(Loader):
    """pi under its first name, under which there are no newer versions."""

    name = "pi-0.73"
    format = "pi"
    package, tested = "@mariozechner/pi-coding-agent", "0.73.1"
    marks = Pi.marks
    script = "pi.mjs"
    MODELS = Pi.MODELS

    # When it is opened by hand, it is asked in the same way as the newer pi.
    sent, messages, blocks, block = ClaudeCode.sent, ClaudeCode.messages, ClaudeCode.blocks, ClaudeCode.block
    command, configure = Pi.command, Pi.configure

    def program(self):
        return self.module(f"{self.package}/dist/cli.js")


class OpenClaw(Loader):
    """OpenClaw. It now keeps sessions in a database; these files are those of earlier versions, which its `doctor` imports, and archives."""

    name = "openclaw"
    format = "pi"
    package, tested = "openclaw", "2026.9.6"
    size = "640 MB"
    marks = Pi.marks
    script = "openclaw.mjs"


class Gemini(Loader):
    """The Gemini CLI. Its loader reads the sessions; the program itself runs where its requests are compared."""

    name = "gemini"
    package, tested = "@google/gemini-cli", "0.61.0"
    marks = ['"projectHash"', '"sessionId"']
    script = "gemini.mjs"
    # It sends no mark for failed results.
    UNSENT = Agent.UNSENT + ("is_error",)
    WRAPPED = re.compile(r"\A<state_snapshot>\n?(.*?)\n?</state_snapshot>\Z", re.S)

    def fetch(self, package):
        return install_package(self.folder, package, "--ignore-scripts", f"{self.package}-core@{self.version}")

    def place(self, home, session):
        project, work = os.path.join(home, ".gemini", "tmp", "work"), os.path.join(home, "work")
        for folder in (os.path.join(project, "chats"), work):
            os.makedirs(folder, exist_ok=True)
        with open(os.path.join(project, ".project_root"), "w") as out:
            out.write(work)
        return os.path.join(project, "chats", "session-2026-01-01T00-00-00000000.jsonl"), None, work

    def configure(self, home, model, threshold=0.5):
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
                    "model": {"compressionThreshold": threshold}}
        with open(os.path.join(home, ".gemini", "settings.json"), "w") as out:
            json.dump(settings, out)
        return {"HOME": home, "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def command(self, prompt, *flags):
        return ["node", self.module(f"{self.package}/bundle/gemini.js"), "-y", "-m", "gemini-2.5-pro", *flags, "-p", prompt]

    def requests(self, home, path, work):
        with Recorder() as model:
            said = self.run(self.command(PROMPT, "--resume", "latest"), work, self.configure(home, model))
            return model.requests, said

    def messages(self, requests):
        """Returns the messages of the request that sent the prompt, in the format of the Anthropic API."""
        asked = [request["contents"] for request in requests if PROMPT in json.dumps(request.get("contents", [])[-1:])]
        return [{"role": "assistant" if message["role"] == "model" else "user", "content": [self.part(part) for part in message["parts"]]}
                for message in max(asked, key=len, default=[])]

    def added(self, messages):
        texts = [block.get("text", "") for message in messages for block in message["content"]]
        return "\n".join(text for text in texts if text.startswith("<session_context>"))

    def without_copies(self, messages):
        """Returns the messages with each result once: each time a session is resumed, the agent sends another copy of earlier results."""
        seen, kept = set(), []
        for message in messages:
            blocks = []
            for block in parts(message):
                # The agent puts the name of the tool before an id, and sends the id without it.
                block = {**block, **{key: re.sub(r"\A[a-z_]+__", "", block[key]) for key in ("id", "tool_use_id") if key in block}}
                if block["type"] == "text":
                    # An image that a tool has read follows each copy of the result.
                    seen = {copy for copy in seen if not copy.startswith("{")}
                copy = json.dumps(block) if block["type"] == "image" else block.get("tool_use_id", "")
                if not copy or copy not in seen:
                    blocks.append(block)
                seen.add(copy)
            # The Anthropic API requires that results come first.
            kept.append({**message, "content": sorted(blocks, key=lambda block: block["type"] != "tool_result")})
        return kept

    def part(self, part):
        if call := part.get("functionCall"):
            return {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
        if result := part.get("functionResponse"):
            response = result["response"]
            return {"type": "tool_result", "tool_use_id": result["id"], "content": response.get("output") or response.get("error") or json.dumps(response)}
        if data := part.get("inlineData"):
            return {"type": "image", "source": {"type": "base64", "media_type": data["mimeType"], "data": data["data"]}}
        return {"type": "text", "text": part["text"]}


# These agents have modules of their own, which need the classes above.
from copilot import Copilot  # noqa: E402
from kimi import Kimi  # noqa: E402
from opencode import Opencode  # noqa: E402
from qwen import Qwen  # noqa: E402

AGENTS = [ClaudeCode, Codex, Copilot, Pi, OldPi, OpenClaw, Gemini, Kimi, Opencode, Qwen]
