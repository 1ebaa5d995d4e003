"""Sessions that Claude Code, Codex and the Gemini CLI write themselves on loopback, where a script plays the model: parallel calls, a
call that fails, images from the user and from a tool, the agent's own compaction, and what it offers to go back.
"""

import base64
import glob
import json
import os
import re
import subprocess
import tempfile
import uuid

import sessions
from judge import Failed
from recorder import Recorder

SUMMARY = "A summary that the client made: turns up to here are done, port 8443 is taken."
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
# The user sends an image in one turn; in others a call reads an image, a call fails, and the calls come one by one.
IMAGE, READ_IMAGE, FAILS, ONE_BY_ONE = 10, 11, 12, 13


class Session:
    """A session in its own home folder. A number in `steps` is a turn; the rest is for the agent."""

    summary = SUMMARY

    def __init__(self, agent):
        self.agent, self.kept = agent, tempfile.TemporaryDirectory(prefix="ctx-own-")
        self.home, self.work = self.kept.name, os.path.join(self.kept.name, "work")
        os.makedirs(self.work)
        for turn in range(1, 15):
            for (*_, result), letter in zip(sessions.said(turn)[1], "ab"):
                if (turn, letter) != (FAILS, "b"):
                    with open(self.file(turn, letter), "w") as out:
                        out.write(result)
        with open(self.image(), "wb") as out:
            out.write(base64.b64decode(PNG))

    def file(self, turn, letter):
        return os.path.join(self.work, f"turn{turn}.{letter}.rs")

    def image(self):
        return os.path.join(self.work, "image.png")

    def calls(self, turn):
        """Returns the calls of a turn as the model makes them, in the groups that are sent together."""
        (read, *_), (run, *_) = sessions.said(turn)[1]
        name, given = self.read(self.image() if turn == READ_IMAGE else self.file(turn, "a"))
        shell, command = self.shell(f"cat {self.file(turn, 'b')}")
        calls = [{"type": "tool_use", "id": read, "name": name, "input": given}, {"type": "tool_use", "id": run, "name": shell, "input": command}]
        return [[call] for call in calls] if turn == ONE_BY_ONE else [calls]

    def says(self, request):
        """Returns the model's reply: the next calls of the turn, an answer after they have run, or a summary."""
        items = next(request[key] for key in ("messages", "input", "contents") if key in request)
        replies = [at for at, item in enumerate(items) if item.get("role") in ("assistant", "model") or item.get("type") == "function_call"]
        newest = json.dumps(items[replies[-1] + 1 if replies else 0:])
        text = json.dumps(items)
        turns = re.findall(r"turn(\d+)\.ask", text)
        is_result = any(word in newest for word in ("tool_result", "function_call_output", "functionResponse"))
        if not request.get("tools") or not (is_result or ".ask" in newest):
            return [{"type": "text", "text": self.summary}]
        turn = int(turns[-1])
        left = [group for group in self.calls(turn) if f'"{group[0]["id"]}"' not in text]
        return left[0] if left else [{"type": "text", "text": sessions.said(turn)[2]}]

    def text(self):
        with open(self.path(), newline="") as text:
            return text.read()


class ClaudeCode(Session):
    identity = None

    def read(self, path):
        return "Read", {"file_path": path}

    def shell(self, command):
        return "Bash", {"command": command}

    def path(self):
        return glob.glob(os.path.join(self.home, ".claude", "projects", "*", f"{self.identity}.jsonl"))[0]

    def run(self, *steps, flags=()):
        """Makes one process of Claude Code take these steps; it resumes the session if there is one."""
        with Recorder(self.says) as model:
            env = {"PATH": os.environ["PATH"], **self.agent.environment(self.home, model)}
            begin = ["--resume", self.identity] if self.identity else ["--session-id", str(uuid.uuid4())]
            streams = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
            command = [self.agent.program(), "-p", *begin, *flags, *streams, "--allowedTools", "Read,Bash"]
            claude = subprocess.Popen(command, cwd=self.work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            try:
                for step in steps:
                    content = [{"type": "text", "text": sessions.said(step)[0] if isinstance(step, int) else step}]
                    if step == IMAGE:
                        content.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}})
                    claude.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n")
                    claude.stdin.flush()
                    self.wait(claude)
            finally:
                claude.stdin.close()
                claude.wait(timeout=30)
                claude.stdout.close()
        return self

    def wait(self, claude):
        said = []
        for line in claude.stdout:
            said.append(line)
            told = json.loads(line) if line.startswith("{") else {}
            self.identity = told.get("session_id", self.identity)
            if told.get("type") == "result":
                return
        raise Failed(f"Claude Code has ended: {''.join(said)[-600:]}")

    def at(self, text):
        """Returns the flags that resume the session at the last line that says so."""
        found = [json.loads(line)["uuid"] for line in self.text().splitlines() if text in line and '"type":"assistant"' in line]
        return ["--resume-session-at", found[-1]]


CLAUDE_CODE = {
    "own": lambda session: session.run(*range(1, 8)).run(*range(8, 15)),
    "own compacted": lambda session: session.run(*range(1, 7), "/compact", 7).run(*range(8, 15)),
    "own rewound": lambda session: (session.run(*range(1, 6)).run(4, 5, 6, flags=session.at("turn3.answer"))
                                    .run(*range(6, 15), flags=session.at("turn5.answer"))),
    "own forked": lambda session: session.run(*range(1, 8)).run(*range(8, 15), flags=["--fork-session"]),
}


class Codex(Session):
    """A session of Codex. Other steps are `compact`, `fork`, and ("back", N), which goes back to before turn N."""

    identity = None

    def __init__(self, agent):
        super().__init__(agent)
        self.turns = {}

    def read(self, path):
        return ("view_image", {"path": path}) if path.endswith(".png") else ("exec_command", {"cmd": f"cat {path}"})

    def shell(self, command):
        return "exec_command", {"cmd": command}

    def path(self):
        return self.paths()[-1]

    def paths(self):
        """Returns all files in order; Codex goes back, and forks a session, in a new file that names the older one."""
        return sorted(glob.glob(os.path.join(self.home, "sessions", "*", "*", "*", "rollout-*.jsonl")))

    def text(self):
        *older, path = self.paths()
        self.agent.bases[self.identity] = (older, os.path.basename(path))
        return super().text()

    def run(self, *steps):
        """Makes one app server of Codex take these steps."""
        with Recorder(self.says) as model:
            env = {"PATH": os.environ["PATH"], **self.agent.configure(self.home, model)}
            server = subprocess.Popen([self.agent.program(), "app-server"], cwd=self.work, env=env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            try:
                self.call(server, "initialize", None, clientInfo={"name": "own", "version": "1"})
                begin = {"cwd": self.work, "sandbox": "danger-full-access", "approvalPolicy": "never"}
                begin = self.call(server, *(("thread/resume", None) if self.identity else ("thread/start", None)), **begin)
                self.identity = begin["thread"]["id"]
                for step in steps:
                    if isinstance(step, int):
                        given = [{"type": "text", "text": sessions.said(step)[0]}] + [{"type": "localImage", "path": self.image()}] * (step == IMAGE)
                        self.turns[step] = self.call(server, "turn/start", "turn/completed", input=given)["turn"]["id"]
                    elif step == "compact":
                        self.call(server, "thread/compact/start", "turn/completed")
                    elif step == "fork":
                        self.identity = self.call(server, "thread/fork", None)["thread"]["id"]
                    else:
                        self.call(server, "thread/revert", None, beforeTurnId=self.turns[step[1]])
            finally:
                server.stdin.close()
                server.wait(timeout=30)
                server.stdout.close()
        return self

    def call(self, server, method, until, **given):
        """Calls the server; returns its result after the event `until`."""
        given = {"threadId": self.identity, **given} if self.identity else given
        server.stdin.write(json.dumps({"id": method, "method": method, "params": given}) + "\n")
        server.stdin.flush()
        result = None
        for line in server.stdout:
            told = json.loads(line)
            if told.get("id") == method:
                if "error" in told:
                    raise Failed(f"{method}: {told['error']}")
                result = told["result"]
            until = None if told.get("method") == until else until
            if result is not None and until is None:
                return result
        raise Failed(f"{method}: Codex has ended")


CODEX = {
    "own": lambda session: session.run(*range(1, 8)).run(*range(8, 15)),
    "own compacted": lambda session: session.run(*range(1, 7), "compact", 7).run(*range(8, 15)),
    "own rewound": lambda session: session.run(*range(1, 6), ("back", 4), 4, 5, 6, "compact", 7).run(*range(8, 15)),
    "own forked": lambda session: session.run(*range(1, 7)).run("fork", "compact", *range(7, 15)),
}


class Gemini(Session):
    summary = f"<state_snapshot>{SUMMARY}</state_snapshot>"

    def read(self, path):
        return "read_file", {"file_path": path}

    def shell(self, command):
        return "run_shell_command", {"command": command}

    def path(self):
        return max(glob.glob(os.path.join(self.home, ".gemini", "tmp", "*", "chats", "session-*.jsonl")), key=os.path.getmtime)

    def run(self, *steps, **settings):
        """Runs the Gemini CLI once for each turn."""
        os.makedirs(os.path.join(self.home, ".gemini"), exist_ok=True)
        with Recorder(self.says) as model:
            env = self.agent.configure(self.home, model, **settings)
            for step in steps:
                prompt = sessions.said(step)[0] + f" @{self.image()}" * (step == IMAGE)
                has_begun = glob.glob(os.path.join(self.home, ".gemini", "tmp", "*", "chats", "*.jsonl"))
                said = self.agent.run(self.agent.command(prompt, *(["--resume", "latest"] if has_begun else [])), self.work, env)
                if sessions.said(step)[2] not in said:
                    raise Failed(f"the Gemini CLI has not answered: {said[-600:]}")
        return self


GEMINI = {
    "own": lambda session: session.run(*range(1, 15)),
    # Without a terminal, the Gemini CLI does not wait for `/compress`, so its own limit makes it compact.
    "own compacted": lambda session: session.run(*range(1, 7)).run(7, threshold=0.0001).run(*range(8, 15)),
}
