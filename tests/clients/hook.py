"""Tries the hooks of docs/cookbook/hooks.md in the real client. They save the session before the client's own compaction and
when the client ends, and the session can be restored."""

import json
import os
import re

from judge import BIN, Failed, Trial, tool
from recorder import Recorder

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def settings():
    """Returns the settings file that the page shows."""
    with open(os.path.join(ROOT, "docs", "cookbook", "hooks.md")) as page:
        return re.search(r"```json settings.json\n(.*?PreCompact.*?)```", page.read(), re.S).group(1)


def example():
    """Returns a session of Claude Code, converted from the one that the page uses."""
    name = os.path.join(ROOT, "examples", "session.jsonl")
    return tool("ctx-convert", "-q", "--to", "claude-code", "--cwd", "/work", "-s", "11111111-2222-4333-8444-555555555555", name)


def compact(trial):
    """Makes the client compact the session itself."""
    agent = trial.agent
    with Recorder() as model:
        env = {**agent.environment(trial.home, model), "PATH": f"{os.path.abspath(BIN)}:{os.environ['PATH']}"}
        return agent.run([agent.program(), "-p", "--resume", trial.identity, "/compact"], trial.work, env)


def hook(agent, text, folder):
    trial = Trial(agent, text, folder)
    before = trial.sent()
    with open(os.path.join(trial.home, ".claude", "settings.json"), "w") as out:
        out.write(settings())
    said = compact(trial)
    compacted = trial.read()
    if "compact_boundary" not in compacted[len(text):]:
        raise Failed(f"it has not compacted: {said}")
    snapshots = [line.split()[0] for line in tool("ctx-snapshot", "--list", home=trial.home).splitlines()]
    if len(snapshots) != 2:
        raise Failed(f"PreCompact and SessionEnd should have saved it once each: {snapshots}")
    if tool("ctx-snapshot", "--show", snapshots[0], home=trial.home) != compacted:
        raise Failed("SessionEnd has not saved the session as it ended")
    kinds = {json.loads(line)["kind"] for line in tool("ctx-extract", trial.path).splitlines()}
    memory = os.path.join(trial.home, ".local", "state", "ctx", "memory", "extracted")
    found = os.listdir(memory) if os.path.isdir(memory) else []
    if missing := [kind for kind in kinds if not any(name.startswith(kind) for name in found)]:
        raise Failed(f"not put into the memory: {missing}")
    tool("ctx-rollback", "--min-idle", "0s", "--snapshot", snapshots[1], trial.path, home=trial.home)
    restored = trial.read()
    if not compacted.startswith(restored) or not restored.startswith(text):
        raise Failed("the snapshot is not the session of before")
    # Before the hook ran, the client has appended only its own command, or nothing.
    if trial.sent()[: len(before)] != before:
        raise Failed("it goes on from something else")
    return "saved before the client compacted and when it ended, and back"
