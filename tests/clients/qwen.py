"""Qwen Code: how it resumes a session, what it then sends, and sessions that it writes itself on loopback: turns with tools, of which one
fails, an image, its own compaction, and a rewind.
"""

import json
import os
import re
import subprocess
import tempfile

import sessions
from agents import PROMPT, Agent, text_of
from recorder import Recorder

SUMMARY = "A summary that the client made: turns up to here are done, port 8443 is taken."


class Qwen(Agent):
    name = "qwen"
    package, tested = "@qwen-code/qwen-code", "0.24.4"
    marks = ['"parentUuid"', '"parts"']
    view = "chat"
    # What is around a summary, here and in the files.
    WRAPPED = re.compile(r"\A<state_snapshot>\n?(.*?)\n?</state_snapshot>\n\nResume the prior task[^\n]*\Z", re.S)

    def program(self):
        return self.module(f"{self.package}/cli.js")

    def place(self, home, session):
        identity = re.search(r'"sessionId":"([^"]+)"', session).group(1)
        work = os.path.join(home, "work")
        folder = os.path.join(home, ".qwen", "projects", re.sub(r"[^A-Za-z0-9]", "-", work), "chats")
        for path in (folder, work):
            os.makedirs(path, exist_ok=True)
        # The lines name another folder, so this file says that the session has moved here.
        status = {"schema_version": 1, "pid": 1, "session_id": identity, "work_dir": work, "hostname": "h", "started_at": 0, "qwen_version": self.version}
        with open(os.path.join(folder, identity + ".runtime.json"), "w") as out:
            json.dump(status, out)
        return os.path.join(folder, identity + ".jsonl"), identity, work

    def environment(self, home, model):
        with open(os.path.join(home, ".qwen", "settings.json"), "w") as out:
            json.dump({"security": {"auth": {"selectedType": "openai"}}}, out)
        return {"HOME": home, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_MODEL": "gpt-4.1"}

    def prompt(self, home, identity, work, prompt, says=None):
        """Resumes the session, or begins it, with this prompt; returns all requests of the agent, and its output."""
        with Recorder(says) if says else Recorder() as model:
            path = os.path.join(home, ".qwen")
            has_begun = any(identity + ".jsonl" in names for _, _, names in os.walk(path))
            command = ["node", self.program(), "-y", "--resume" if has_begun else "--session-id", identity, "-p", prompt]
            said = self.run(command, work, self.environment(home, model))
            return model.requests, said

    def ask(self, home, path, identity, work):
        requests, said = self.prompt(home, identity, work, PROMPT)
        return self.sent(requests), said

    def sent(self, requests):
        # Later requests, which ask what is worth remembering, hold the prompt too.
        asked = [request["messages"] for request in requests if request.get("tools") and PROMPT in json.dumps(request["messages"][-1])]
        return self.blocks(asked[0]) if asked else None

    def blocks(self, messages):
        blocks = []
        for message in messages:
            role, content = message["role"], message.get("content") or []
            texts = [content] if isinstance(content, str) else [text_of([part]) for part in content]
            if role == "tool":
                blocks.append(("result", message["tool_call_id"], "\n".join(texts)))
                continue
            for text in texts:
                is_added = role == "system" or text.startswith("<system-reminder>") or text in ("", PROMPT)
                text = self.WRAPPED.sub(r"\1", text)
                if role == "assistant" and blocks and blocks[-1][:2] == ("text", role):
                    # The client joins the texts of replies that follow each other.
                    blocks[-1] = ("text", role, blocks[-1][2] + text)
                elif not is_added:
                    blocks.append(("text", role, text))
            blocks += [("call", call["id"], call["function"]["name"]) for call in message.get("tool_calls") or []]
        return blocks


def said_in(request):
    """Returns the model's reply to a request: two tool calls at the beginning of a turn, and an answer after they have run."""
    if not request.get("tools"):
        return [{"type": "text", "text": f"<state_snapshot>{SUMMARY}</state_snapshot>"}]
    last = request["messages"][-1]
    turns = re.findall(r"turn(\d+)\.", json.dumps(request["messages"]))
    _, calls, answer = sessions.said(int(turns[-1]))
    if last["role"] == "tool":
        return [{"type": "text", "text": answer}]
    (run, *_), (read, *_) = calls
    file = f"turn{turns[-1]}."
    # Qwen Code takes files that end in .a for binary ones.
    return [{"type": "tool_use", "id": run, "name": "run_shell_command", "input": {"command": f"cat {file}a", "is_background": False}},
            {"type": "tool_use", "id": read, "name": "read_file", "input": {"file_path": os.path.join(request["folder"], file + "b")}}]


def write(agent, *prompts):
    """Returns the text of a session in which the agent is given these prompts, one after the other; a number is a turn."""
    with tempfile.TemporaryDirectory(prefix="ctx-own-") as home:
        identity = sessions.identity("qwen", "own", prompts)
        path, _, work = agent.place(home, f'"sessionId":"{identity}"')
        sessions.write_files(work)
        for prompt in prompts:
            prompt = sessions.said(prompt)[0] + " @turn2.png" * (prompt == 2) if isinstance(prompt, int) else prompt
            agent.prompt(home, identity, work, prompt, lambda request: said_in({**request, "folder": work}))
        with open(path, newline="") as text:
            return text.read()


class Acp:
    """Qwen Code as a server of the Agent Client Protocol, through which it can be made to rewind a session."""

    def __init__(self, agent, work, env):
        self.program = subprocess.Popen(["node", agent.program(), "-y", "--acp"], cwd=work, env={"PATH": os.environ["PATH"], **env},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.asked = 0

    def __enter__(self):
        self.ask("initialize", protocolVersion=1, clientCapabilities={})
        return self

    def __exit__(self, *_):
        self.program.kill()
        self.program.communicate()

    def ask(self, method, **params):
        self.asked += 1
        self.program.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}) + "\n")
        self.program.stdin.flush()
        for line in self.program.stdout:
            answer = json.loads(line) if line.startswith("{") else {}
            if answer.get("id") == self.asked and "method" not in answer:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        raise RuntimeError(f"{method}: Qwen Code has ended")


def rewound(agent, turns, index, others):
    """Returns the text of a session of these turns, of which those from `index` on are then undone and replaced by others."""
    with tempfile.TemporaryDirectory(prefix="ctx-own-") as home:
        path, _, work = agent.place(home, '"sessionId":"none"')
        sessions.write_files(work)
        with Recorder(lambda request: said_in({**request, "folder": work})) as model, Acp(agent, work, agent.environment(home, model)) as acp:
            identity = acp.ask("session/new", cwd=work, mcpServers=[])["sessionId"]

            def take(turns):
                for turn in turns:
                    acp.ask("session/prompt", sessionId=identity, prompt=[{"type": "text", "text": sessions.said(turn)[0]}])

            take(turns)
            acp.ask("rewindSession", sessionId=identity, targetTurnIndex=index)
            take(others)
        with open(os.path.join(os.path.dirname(path), identity + ".jsonl"), newline="") as text:
            return text.read()


OWN = {"own": range(1, 15), "own compacted": [*range(1, 7), "/compress", *range(7, 15)], "own rewound": (range(1, 7), 3, range(4, 15))}
written = {}


def text(agent, name):
    """Returns the session of that name; each session is written only once."""
    if (agent.version, name) not in written:
        written[agent.version, name] = (rewound if name == "own rewound" else write)(agent, *OWN[name])
    return written[agent.version, name]
