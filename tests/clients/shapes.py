"""Shapes that the API refuses, and what Claude Code sends of them: the table in docs/legality.md says it of the client.

A shape is the content of messages in turn, the first from the user. All that is sent of it is compared.
"""

import json

import judge
import sessions
from judge import Failed

ADDED = "<system-reminder>"
TEXT, MORE = {"type": "text", "text": "a"}, {"type": "text", "text": "b"}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
THOUGHT = {"type": "thinking", "thinking": "a"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a"}}


def failed(content):
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, "is_error": True}


# For each shape, the messages in the file, and those that are sent if they are others.
SHAPES = {
    "reasoning without a signature": ([[TEXT], [THOUGHT, TEXT]], None),
    "an extra member": ([[TEXT], [{**TEXT, "index": 0}]], None),
    "a failed result without text": ([[TEXT], [CALL], [failed("")], [TEXT]], None),
    "a failed result with a document": ([[TEXT], [CALL], [failed([TEXT, DOCUMENT])], [TEXT]], [[TEXT], [CALL], [failed([TEXT])], [TEXT]]),
    "a failed result of a document": ([[TEXT], [CALL], [failed([DOCUMENT])], [TEXT]], [[TEXT], [CALL], [failed([])], [TEXT]]),
    "a blank text in a result": ([[TEXT], [CALL], [failed([TEXT, {"type": "text", "text": " "}])], [TEXT]], None),
    "a blank message": ([[TEXT], [MORE], " ", [MORE]], None),
    "a blank block": ([[TEXT, {"type": "text", "text": " "}], [MORE]], [[TEXT], [MORE]]),
    "a server call without its result": ([[TEXT], [SEARCH, MORE]], [[TEXT], [MORE]]),
    "a reply first": ([None, [TEXT]], None),
}


def lines(messages):
    """Returns the text of a session with these messages, each on one line. `None` stands for no message."""
    session, parent, text = sessions.identity("shapes", json.dumps(messages)), None, ""
    for at, content in enumerate(messages):
        role, own = ("assistant" if at % 2 else "user"), sessions.identity(session, at)
        if content is None:
            continue
        message = {"role": role, "content": content}
        if role == "assistant":
            message = {"id": f"msg_{at}", "type": "message", "model": "claude-opus-4-5-20251101", **message, "usage": {"input_tokens": 3, "output_tokens": 9}}
        text += sessions.line({"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/work", "sessionId": session, "version": "2.1.332",
                               "type": role, "message": message, "uuid": own, "timestamp": sessions.time(at)})
        parent = own
    return text


def bare(content):
    """Returns content without what the agent adds: marks for the cache and, before the first message in older versions, a reminder."""
    if isinstance(content, str):
        return "" if content.startswith(ADDED) else content
    content = [block for block in content if not block.get("text", "").startswith(ADDED)]
    return [{key: block[key] for key in block if key != "cache_control"} for block in content]


def shape(agent, name, folder):
    before, after = SHAPES[name]
    trial = judge.Trial(agent, lines(before), folder)
    requests, said = agent.requests(trial.home, trial.path, trial.work)
    messages = agent.messages(requests)
    if not messages:
        raise Failed(f"nothing was sent: {said[-300:]}")
    found = [content for message in messages if (content := bare(message["content"]))]
    expected = after or [content for content in before if content is not None]
    if found[:len(expected)] != expected:
        raise Failed(f"{expected} was expected, and {found[:len(expected)]} was sent")
    return "sends it as it is" if after is None else "mends it"
