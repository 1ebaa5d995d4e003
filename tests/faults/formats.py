"""Sessions in the formats of agents, and what their agents add to them."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "clients"))
import sessions  # noqa: E402

TEXTS = {"role": "user", "content": [{"type": "text", "text": "TEXT"}], "toolCalls": [], "origin": {"kind": "user"}}
# What an agent writes when its user says something. ABOVE is the id of the last line, and SESSION the id of the session.
MORE = {
    "codex": {"timestamp": "TIME", "type": "response_item",
              "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "TEXT"}]}},
    "copilot": {"type": "user.message", "data": {"content": "TEXT"}, "id": "OWN", "timestamp": "TIME", "parentId": "ABOVE"},
    "kimi": {"type": "context.append_message", "agentId": "main", "message": TEXTS, "time": 1767225600000},
    "opencode": {
        "info": {"role": "user", "time": {"created": 4102444800000}, "agent": "build", "id": "msg_OWN", "sessionID": "SESSION",
                 "model": {"providerID": "recorder", "modelID": "recorded"}},
        "parts": [{"type": "text", "text": "TEXT", "id": "prt_OWN", "sessionID": "SESSION", "messageID": "msg_OWN"}],
    },
    "qwen": {"uuid": "OWN", "parentUuid": "ABOVE", "sessionId": "SESSION", "timestamp": "TIME", "type": "user", "cwd": "/work",
             "version": "0.24.4", "message": {"role": "user", "parts": [{"text": "TEXT"}]}},
}  # fmt: skip


def session(agent):
    """Returns a session that the agent itself has compacted once."""
    return sessions.MADE_UP[agent]["compacted"]


def said(agent, before, text):
    """Returns the session after its user has said something."""
    document = json.loads(before) if agent == "opencode" else None
    last = document["info"] if document else json.loads(before.rstrip("\n").rsplit("\n", 1)[1])
    values = {
        "TEXT": text,
        "OWN": sessions.identity(before, text),
        "TIME": sessions.time(86399),
        "ABOVE": last.get("uuid") or last.get("id"),
        "SESSION": last.get("sessionId") or last.get("id"),
    }
    record = json.dumps(MORE[agent])
    for name, value in values.items():
        record = record.replace(name, str(value))
    if not document:
        return before + sessions.line(json.loads(record))
    document["messages"].append(json.loads(record))
    return json.dumps(document, indent=2) + "\n"
