#!/usr/bin/env python3
"""Checks that NEW is a correct result of `ctx-summarize` for SESSION, whether code or a model wrote the summary.

    check.py SESSION NEW KEEP HEADER

The script uses no code of the tools. It checks that NEW has the system records and the last KEEP messages
(more if an exchange crosses the border) byte for byte and in order, that one summary is between them,
that the summary has the header HEADER and some text, and that every call has a result and every
result a call.
"""

import json
import sys


def text_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return "".join(block.get("text", "") for block in content)
    return content or ""


def ids(message):
    """Returns the ids of the calls and the ids of the results in a message, in either dialect."""
    calls = [call["id"] for call in message.get("tool_calls") or []]
    results = [message["tool_call_id"]] if "tool_call_id" in message else []
    for block in message["content"] if isinstance(message.get("content"), list) else []:
        if block.get("type") == "tool_use":
            calls.append(block["id"])
        if block.get("type") == "tool_result":
            results.append(block["tool_use_id"])
    return calls, results


def main(session, new, keep, header):
    before = open(session, "rb").read().splitlines(keepends=True)
    after = open(new, "rb").read().splitlines(keepends=True)
    added = [n for n, line in enumerate(after) if line not in before]
    assert len(added) == 1, f"{len(added)} records are new"
    place = added[0]
    system = [line for line in before if json.loads(line)["role"] == "system"]
    assert after[:place] == system, "system records come first"
    kept = after[place + 1 :]
    assert kept[-keep:] == before[-keep:], "the end is not as it was"
    # Pinned messages are before the last ones, each once and in order.
    rest = iter(before)
    assert all(line in rest for line in kept), "what is kept changed its order"
    assert len(after) < len(before), "nothing was summed up"

    summary = text_of(json.loads(after[place]))
    first, _, body = summary.removeprefix(
        "[ctx_summary]\n\n"
    ).partition("\n\n")
    assert first == header, f"header {first!r}"
    record, _, said = body.partition("\n\n")
    assert "not a request" in record, record
    assert len(said.strip()) > 10, "it says nothing"
    assert "## 会话摘要" not in said, "the rule wrote it"

    waiting = set()
    for message in map(json.loads, after):
        calls, results = ids(message)
        assert waiting.issuperset(results), "a result without its call"
        waiting.difference_update(results)
        waiting.update(calls)
    assert not waiting, "a call without its result"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
