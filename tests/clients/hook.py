"""The hook of docs/recipes.md in the real client: the session is saved before the client's own compaction, and comes back.

    tests/clients/hook.py --installed FOLDER [FILE ...]

Each FILE is a session of Claude Code; without, one is made of examples/session.jsonl. CTX_BIN is the folder of the tools.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from agents import ClaudeCode
from recorder import Recorder

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BIN = os.environ["CTX_BIN"]


def settings():
    """The settings file that the page shows."""
    with open(os.path.join(ROOT, "docs", "recipes.md")) as page:
        return re.search(r"```json\n(.*?PreCompact.*?)```", page.read(), re.S).group(1)


def tool(home, *command):
    env = {"PATH": os.environ["PATH"], "HOME": home}
    done = subprocess.run([os.path.join(BIN, command[0]), *command[1:]], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def compact(agent, home, identity, work):
    """Has the client compact the session by itself."""
    with Recorder() as model:
        env = {**agent.environment(home, model), "PATH": f"{os.path.abspath(BIN)}:{os.environ['PATH']}"}
        return agent.run([agent.program(), "-p", "--resume", identity, "/compact"], work, env)


def tried(agent, text):
    """What is wrong; nothing when all is well."""
    with tempfile.TemporaryDirectory(prefix="ctx-hook-") as home:
        path, identity, work = agent.place(home, text)

        def put(bytes_):
            with open(path, "wb") as out:
                out.write(bytes_)

        put(text.encode())
        before, said = agent.ask(home, path, identity, work)
        if before is None:
            return f"it does not resume: {said}"
        put(text.encode())
        with open(os.path.join(home, ".claude", "settings.json"), "w") as out:
            out.write(settings())
        said = compact(agent, home, identity, work)
        with open(path, "rb") as session:
            compacted = session.read()
        if b"compact_boundary" not in compacted[len(text.encode()):]:
            return f"it has not compacted: {said}"
        snapshot = tool(home, "ctx-snapshot", "--list").split()[0]
        tool(home, "ctx-rollback", "--min-idle", "0s", "--snapshot", snapshot, path)
        with open(path, "rb") as session:
            restored = session.read()
        if not compacted.startswith(restored) or not restored.startswith(text.encode()):
            return "the snapshot is not the session of before"
        after, said = agent.ask(home, path, identity, work)
        # The client has put the command itself there before the hook ran, or nothing.
        return None if after is not None and after[: len(before)] == before else f"it goes on from something else: {said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--installed", required=True)
    parser.add_argument("file", nargs="*")
    args = parser.parse_args()
    agent = ClaudeCode(args.installed)
    missing = agent.install()
    if missing:
        print(f"skipped: {missing}")
        return 0
    texts = []
    for name in args.file:
        with open(name) as session:
            texts.append((name, session.read()))
    if not texts:
        example = os.path.join(ROOT, "examples", "session.jsonl")
        text = tool("/nonexistent", "ctx-convert", "-q", "--to", "claude-code", "--cwd", "/work", "-s", "11111111-2222-4333-8444-555555555555", example)
        texts.append(("examples/session.jsonl", text))
    failed = 0
    for name, text in texts:
        wrong = tried(agent, text)
        failed += wrong is not None
        print(f"{name}: {wrong or 'saved by the hook before the client compacted, and back'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
