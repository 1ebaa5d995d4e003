"""Sessions that pi writes itself: turns with tools on loopback, changes of the model and the tools, commands that the user runs, a
compaction, and, with pi's own SessionManager, branches and edits of the context. The texts are those of the made-up sessions.
"""

import json
import os
import re
import subprocess
import tempfile

import copilot
import scripted
import sessions
from agents import HERE
from judge import Failed
from recorder import Recorder

SUMMARY = "A summary that the client made: turns up to here are done, port 8443 is taken."


def said_in(request):
    """Returns the model's reply to a request: two tool calls at the beginning of a turn, and an answer after they have run."""
    text = json.dumps(request["messages"][-1]["content"])
    turns = re.findall(r"turn(\d+)\.", text)
    if not request.get("tools"):
        return [{"type": "text", "text": SUMMARY}]
    _, calls, answer = sessions.said(int(turns[-1]))
    if "tool_result" in text:
        return [{"type": "text", "text": answer}]
    (read, _, _, _), (run, _, _, _) = calls
    file = f"turn{turns[-1]}."
    return [{"type": "tool_use", "id": read, "name": "read", "input": {"path": file + "a"}},
            {"type": "tool_use", "id": run, "name": "bash", "input": {"command": f"cat {file}b"}}]


class Session:
    """A session in its own folder, which its header names, so the folder exists as long as this object."""

    def __init__(self, agent):
        self.agent, self.kept = agent, tempfile.TemporaryDirectory(prefix="ctx-own-")
        self.folder = self.kept.name
        self.path, self.work = os.path.join(self.folder, "session.jsonl"), os.path.join(self.folder, "work")
        os.makedirs(self.work)
        for turn in range(1, 15):
            for (_, _, _, result), letter in zip(sessions.said(turn)[1], "ab"):
                with open(os.path.join(self.work, f"turn{turn}.{letter}"), "w") as out:
                    out.write(result)

    def run(self, *commands, tools=()):
        """Makes pi run these commands one after the other; a number is a turn."""
        with Recorder(said_in) as model:
            env = {"PATH": os.environ["PATH"], **self.agent.configure(self.folder, model)}
            command = self.agent.command(self.path, "--mode", "rpc", *tools)
            pi = subprocess.Popen(command, cwd=self.work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                for at, asked in enumerate(commands):
                    is_turn = isinstance(asked, int)
                    asked = {"type": "prompt", "message": sessions.said(asked)[0]} if is_turn else asked
                    pi.stdin.write(json.dumps({"id": str(at), **asked}).encode() + b"\n")
                    pi.stdin.flush()
                    self.wait(pi, lambda told: told.get("id") == str(at) and told["type"] == "response")
                    if is_turn:
                        self.wait(pi, lambda told: told["type"] == "agent_settled")
            finally:
                pi.stdin.close()
                pi.wait(timeout=30)
                pi.stdout.close()
                pi.stderr.close()
        return self

    def wait(self, pi, is_it):
        for line in pi.stdout:
            told = json.loads(line)
            if told.get("success") is False:
                raise Failed(f"pi: {told}")
            if is_it(told):
                return
        raise Failed(f"pi has ended: {pi.stderr.read()[-600:]}")

    def manage(self, *steps):
        """Makes pi's SessionManager take these steps."""
        script = [os.path.join(HERE, "pi-own.mjs"), self.agent.bundle, self.path]
        done = subprocess.run(["node", *script, json.dumps(steps)], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"pi's SessionManager: {done.stderr[-600:]}")
        return self

    def text(self):
        with open(self.path, newline="") as text:
            return text.read()


COMPACT = {"type": "compact"}
EDITS = [
    ["edit", "user", "turn1.", None], ["edit", "toolResult", "turn2.a", {"content": "turn2.a was edited"}],
    ["edit", "assistant", "turn2.answer", {"content": [{"type": "text", "text": "turn2."}, {"type": "text", "text": "in two parts"}]}],
    ["edit", "toolResult", "turn3.b", {"content": "turn3.b was edited"}], ["edit", "toolResult", "turn3.b", {"content": [{"type": "text", "text": "turn3.b, and again"}]}],
    ["custom", "turn3.note of an extension"], ["edit", "custom_message", "turn3.note", {"content": "turn3.note, edited"}],
]
LATE = [["edit", "toolResult", "turn14.a", {"content": "turn14.a was edited"}], ["edit", "user", "turn13.ask", {"content": "turn13. asked otherwise"}],
        ["edit", "assistant", "turn12.answer", None]]


def plain(session):
    user = [{"type": "set_session_name", "name": "own"}, {"type": "bash", "command": "echo turn5.shell"}, {"type": "bash", "command": "echo no", "excludeFromContext": True}]
    session.run(*range(1, 5), {"type": "set_model", "provider": "recorder", "modelId": "claude-sonnet-4-5"}, 5, *user, 6)
    session.manage(["label", "user", "turn2."], ["usage"], ["system", "Say turn numbers."])
    return session.run(7, 8, tools=["--tools", "read,bash"]).run(*range(9, 15))


def compacted(session):
    return session.run(*range(1, 7), COMPACT, *range(7, 15))


def edited(session):
    session.run(*range(1, 5)).manage(*EDITS)
    return session.run(*range(5, 15)).manage(*LATE)


def edited_and_compacted(session):
    """Writes a compaction that keeps edited entries with their edits; another compaction follows."""
    session.run(*range(1, 6)).manage(*EDITS).run(COMPACT, 6, 7)
    session.manage(["edit", "toolResult", "turn6.a", {"content": "turn6.a was edited"}]).run(8, COMPACT, *range(9, 15))
    return session.manage(*LATE, ["edit", "toolResult", "turn2.b", {"content": "is not sent any more"}])


def branched(session):
    session.run(1, 2, 3, 4, 5).manage(["edit", "toolResult", "turn2.a", None], ["branch", "assistant", "turn2.answer", "turn3. and what follows were tried."])
    return session.run(*range(3, 10)).manage(["branch", "assistant", "turn8.answer", None]).run(*range(9, 15))


PI = {"own": plain, "own compacted": compacted, "own edited": edited, "own edited and compacted": edited_and_compacted, "own branched": branched}
# The sessions that each agent writes, by name, and the class of a session.
OWN = {"claude-code": (scripted.ClaudeCode, scripted.CLAUDE_CODE), "codex": (scripted.Codex, scripted.CODEX), "copilot": (copilot.Session, copilot.OWN), "gemini": (scripted.Gemini, scripted.GEMINI), "pi": (Session, PI)}
written = {}


def text(agent, name):
    """Returns the session of that name; each session is written only once."""
    if (agent.name, agent.version, name) not in written:
        kind, steps = OWN[agent.name]
        written[agent.name, agent.version, name] = steps[name](kind(agent))
    return written[agent.name, agent.version, name].text()
