"""Random logs of the Copilot CLI: checks that ctx-convert shows what the agent sends when it resumes them.

    CTX_BIN=target/debug python3 tests/clients/copilot_random.py [COUNT [SEED]]

All logs are resumed by one process. No id of a call is used twice, and no result comes before its call.
"""

import hashlib
import json
import os
import random
import sys
import tempfile

import agents
import copilot
import judge
import sessions
from recorder import Recorder

FILE = {"type": "file", "path": "/w/x", "displayName": "x", "taggedFilesEntry": "* /w/x (3 lines)"}
BLOB = {"type": "blob", "data": sessions.IMAGE, "mimeType": "image/png", "displayName": "x.png"}
SKILLS = ["Do one.", "Do another."]
DROPPED = ("The execution of this tool", "Tool execution was interrupted", "The result of this call is missing")


def log(seed):
    """Returns a random log and the id of its session."""
    chance, identity = random.Random(seed), sessions.identity("copilot", "random", seed)
    lines, words, waiting, known = [], iter(range(10**6)), [], []

    def word():
        return f"w{next(words)}x"

    def add(kind, data, **more):
        number = len(lines)
        event = {"type": kind, "data": data, "id": sessions.identity(identity, number), "timestamp": sessions.time(number), "parentId": None}
        lines.append(json.dumps({**event, **more}))

    def user(**more):
        said = word()
        sent = {"transformedContent": f"sent: {said}"} if chance.random() < 0.4 else {}
        files = {"attachments": chance.choice([[FILE], [BLOB], [BLOB, FILE]])} if chance.random() < 0.2 else {}
        source = {"source": chance.choice(["user", "system", "agent-x", "skill-y"])} if chance.random() < 0.2 else {}
        add("user.message", {"content": chance.choice([said, said, said, ""]), **sent, **files, **source}, **more)

    def reply(**more):
        calls = [word() for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))]
        requests = [{"toolCallId": call, "name": "bash", "arguments": {"command": call}} for call in calls]
        add("assistant.message", {"messageId": word(), "content": chance.choice([word(), ""]), "toolRequests": requests}, **more)
        if not more:
            waiting.extend(calls)

    def result():
        call = waiting.pop(chance.randrange(len(waiting))) if waiting and chance.random() < 0.9 else word()
        outcome = {"success": True, "result": {"content": word()}} if chance.random() < 0.8 else {"success": False, "error": {"message": word()}}
        add("tool.execution_complete", {"toolCallId": call, **outcome})

    def skill():
        known.append(chance.choice(SKILLS))
        add("skill.invoked", {"name": known[-1], "path": "", "content": known[-1]})

    def skill_again():
        if known:
            content = hashlib.sha256(chance.choice(known).encode()).hexdigest()
            add("skill.context_delivered_ref", {"contentId": f"sha256:{content}", "prefix": word(), "suffix": ".", "source": "skill-x"})

    def shell():
        call = word()
        add("tool.user_requested", {"toolCallId": call, "toolName": "local_shell", "arguments": {"command": f"run {call}"}})
        add("tool.execution_complete", {"toolCallId": call, "success": chance.random() < 0.7, "isUserRequested": True, "result": {"content": word()}, "error": {"message": word()}})

    def compaction():
        add("session.compaction_complete", {"success": chance.random() < 0.8, "summaryContent": chance.choice([word(), word(), ""])})

    def cleared():
        add("session.context_cleared", {"messagesCleared": 1})

    def others():
        kind, data = chance.choice([("system.message", {"role": "system", "content": word()}), ("system.notification", {"content": word(), "kind": {"type": "agent_idle", "agentId": "x"}}),
                                    ("session.mode_notice_delivered", {"mode": "plan", "content": word()}), ("skill.context_delivered", {"content": word(), "source": "skill-x"}), ("new.type", {})])
        add(kind, data)

    def helper():
        chance.choice([user, reply])(agentId="helper")

    def damage():
        lines.append(chance.choice(['{"torn', "[1]", "7", ""]))

    add("session.start", {"sessionId": identity, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102", "startTime": sessions.time(0)})
    steps = [user] * 6 + [reply] * 6 + [result] * 8 + [others] * 3 + [compaction] * 2 + [skill, skill_again, shell, cleared, helper, damage]
    for _ in range(chance.randint(3, 40)):
        chance.choice(steps)()
    return "\n".join(lines) + "\n" + chance.choice(["", '{"type":"user.me']), identity


def shown(blocks):
    """Returns the blocks that do not depend on how the API separates texts, without results that someone else made up."""
    blocks = [(who, block.get("text", "").strip() or block.get("id") or (block.get("tool_use_id"), block.get("content")) if block["type"] != "image" else "image") for who, block in blocks]
    blocks = [block for block in blocks if block[1] and not (isinstance(block[1], tuple) and block[1][1].startswith(DROPPED))]
    # The converter adds the first message if a session begins with a reply.
    return [text for _, text in blocks if text != "The beginning of this session is missing."]


def main(count=300, seed=0):
    agent = copilot.Copilot(os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "clients"))
    agents.provide_node(agent.installed)
    if why := agent.install(is_named=True):
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="ctx-random-") as home, Recorder() as model:
        steps, ours = [], {}
        for number in range(seed, seed + count):
            text, identity = log(number)
            path, _, work = agent.place(home, text)
            with open(path, "w", newline="") as out:
                out.write(text)
            # If nothing is sent, there is nothing to convert.
            converted = judge.tool("ctx-convert", "-q", "--to", "anthropic", path, codes=(0, 2))
            ours[number] = shown(judge.whole(agent, [json.loads(line) for line in converted.splitlines()], ())) if converted else []
            steps += [["resume", identity], ["send", f"{agents.PROMPT} {number}."], ["close"]]
        copilot.take(agent, home, work, model, steps)
        differ = 0
        for number, expected in ours.items():
            prompt = f"{agents.PROMPT} {number}."
            sent = next(request["messages"] for request in model.requests if prompt in json.dumps(request["messages"][-1]))
            theirs = [text for text in shown(judge.whole(agent, sent, ())) if prompt not in text]
            if theirs != expected:
                differ += 1
                print(f"log {number}: the agent sends {theirs}, and ours are {expected}")
    print(f"{count} logs, {differ} differ")
    sys.exit(1 if differ else 0)


main(*map(int, sys.argv[1:]))
