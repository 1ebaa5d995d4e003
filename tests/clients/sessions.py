"""Made-up sessions in each agent's own format. Each turn has a request, two parallel tool calls, and an answer.

All texts of turn number N contain the word `turnN.`, which shows what is left of the turn later.
"""

import base64
import json
import os
import uuid

FILLER = "the parser keeps every byte of a record that it does not change, and counts what it leaves out. "
# The calls of a turn, one letter for each, and the number of sentences in each result.
SHORT, LONG = ("ab", 12), ("abcdefgh", 100)


# A picture of one pixel.
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def write_files(folder):
    """Writes the files that agents read when they write sessions themselves. The second one of turn 3 is missing, so that a tool fails."""
    for turn in range(1, 15):
        for (_, _, _, result), letter in zip(said(turn)[1], "ab"):
            if (turn, letter) != (3, "b"):
                with open(os.path.join(folder, f"turn{turn}.{letter}"), "w") as out:
                    out.write(result)
    with open(os.path.join(folder, "turn2.png"), "wb") as out:
        out.write(base64.b64decode(IMAGE))


def identity(*words):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(map(str, words))))


def time(second):
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def line(value):
    return json.dumps(value, separators=(",", ":")) + "\n"


def said(turn, size=SHORT):
    """Returns the texts of a turn: the request, the calls with their results, and the answer."""
    letters, filler = size
    word = f"turn{turn}."
    calls = [(f"toolu_{turn:03}{letter}", "Read", {"file_path": f"src/{word}{letter}.rs"}, f"{word}{letter} " + FILLER * filler) for letter in letters]
    return f"{word}ask Please look at step {turn}.", calls, f"{word}answer We decided to keep step {turn}."


def used_before(turn, size, is_answer):
    """Returns the usage of a request: everything before it, with four characters for each token, and 40,000 tokens more."""
    texts = []
    for at in range(1, turn + 1):
        ask, calls, answer = said(at, size)
        texts += [ask] + [result for *_, result in calls if at < turn or is_answer] + [answer] * (at < turn)
    return 40_000 + sum(map(len, texts)) // 4


def claude_code(turns, compacted_after=None, version="2.1.197", used=160000, size=SHORT):
    session = identity("claude-code", turns, compacted_after, version)
    lines, parent, second = [], None, 0

    def add(kind, **rest):
        nonlocal parent, second
        second += 1
        own = identity(session, second)
        above = rest.pop("parentUuid", parent)
        lines.append(line({"parentUuid": above, "isSidechain": False, "userType": "external", "cwd": "/work", "sessionId": session,
                           "version": version, "gitBranch": "main", "type": kind, **rest, "uuid": own, "timestamp": time(second)}))
        parent = own
        return own

    def block(turn, part, content, **rest):
        read = used or used_before(turn, size, part == "b")
        message = {"id": f"msg_{turn}{part}", "type": "message", "role": "assistant", "model": "claude-opus-4-5-20251101", "content": [content],
                   "stop_reason": None, "stop_sequence": None,
                   "usage": {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": read, "output_tokens": 9}}
        return add("assistant", message=message, requestId=f"req_{turn}{part}", **rest)

    for turn in range(1, turns + 1):
        ask, calls, answer = said(turn, size)
        add("user", message={"role": "user", "content": ask})
        callers = [block(turn, "a", {"type": "tool_use", "id": call, "name": name, "input": given}) for call, name, given, _ in calls]
        for caller, (call, _, _, result) in zip(callers, calls):
            # The parent of each result is the line of its call, also if calls are parallel.
            add("user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": result}]},
                parentUuid=caller, toolUseResult={"file": {"content": result}}, sourceToolAssistantUUID=caller)
        block(turn, "b", {"type": "text", "text": answer})
        if turn == compacted_after:
            add("system", subtype="compact_boundary", logicalParentUuid=parent, parentUuid=None, content="Conversation compacted", isMeta=False,
                level="info", compactMetadata={"trigger": "auto", "preTokens": 160000})
            add("user", message={"role": "user", "content": "A summary that the client made: turns up to here are done, port 8443 is taken."},
                isVisibleInTranscriptOnly=True, isCompactSummary=True)
    return "".join(lines)


def codex(turns, compacted_after=None, paginated=False, used=160000, size=SHORT):
    session = identity("codex", turns, compacted_after, paginated)
    lines = []

    def add(kind, payload):
        number = {"ordinal": len(lines)} if paginated else {}
        lines.append(line({"timestamp": time(len(lines)), **number, "type": kind, "payload": payload}))

    def message(role, text):
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    mode = {"history_mode": "paginated"} if paginated else {}
    add("session_meta", {"id": session, "timestamp": time(0), "cwd": "/work", "originator": "codex_exec", "cli_version": "0.169.0",
                         "source": "exec", "model_provider": "recorder", **mode})
    for turn in range(1, turns + 1):
        ask, calls, answer = said(turn, size)
        add("event_msg", {"type": "user_message", "message": ask, "kind": "plain"})
        add("response_item", message("user", ask))
        for call, name, given, _ in calls:
            add("response_item", {"type": "function_call", "name": name, "arguments": json.dumps(given), "call_id": call})
        for call, _, _, result in calls:
            add("response_item", {"type": "function_call_output", "call_id": call, "output": result})
        add("response_item", message("assistant", answer))
        read = used or used_before(turn, size, True)
        usage = {"input_tokens": read, "cached_input_tokens": 0, "output_tokens": 9, "reasoning_output_tokens": 0, "total_tokens": read + 9}
        add("event_msg", {"type": "token_count", "info": {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 272000}, "rate_limits": None})
        if turn == compacted_after:
            summary = "A summary that the client made: turns up to here are done, port 8443 is taken."
            add("compacted", {"message": summary, "replacement_history": [message("user", ask), message("user", summary)]})
    return "".join(lines)


def opencode(turns, compacted_after=None, tail=False, used=160000, size=SHORT):
    session = "ses_" + identity("opencode", turns, compacted_after, tail).replace("-", "")
    began, messages, count = 1767225600000, [], 0

    def new(kind):
        nonlocal count
        count += 1
        return f"{kind}_{((began + count) * 4096 + 1) & 0xffffffffffff:012x}{identity(session, count).replace('-', '')[:14]}"

    def add(role, *parts, **info):
        own = new("msg")
        who = {"model": {"providerID": "recorder", "modelID": "recorded"}}
        if role == "assistant":
            read = used or used_before(turn, size, parts[0]["type"] == "text")
            who = {"providerID": "recorder", "modelID": "recorded", "mode": "build", "path": {"cwd": "/work", "root": "/"}, "cost": 0, "finish": "stop",
                   "tokens": {"input": read, "output": 9, "reasoning": 0, "cache": {"read": 0, "write": 0}}}
        parts = [{**part, "id": new("prt"), "sessionID": session, "messageID": own} for part in parts]
        messages.append({"info": {"role": role, "time": {"created": began + count}, "agent": "build", **who, **info, "id": own, "sessionID": session}, "parts": parts})
        return own

    def text(said):
        return {"type": "text", "text": said}

    for turn in range(1, turns + 1):
        ask, calls, answer = said(turn, size)
        asked = add("user", text(ask))
        done = {"title": "", "metadata": {}, "time": {"start": began, "end": began}}
        called = add("assistant", *({"type": "tool", "tool": name.lower(), "callID": call, "state": {"status": "completed", "input": given, "output": result, **done}}
                                    for call, name, given, result in calls), parentID=asked, finish="tool-calls")
        add("assistant", text(answer), parentID=asked)
        if turn == compacted_after:
            named = {"tail_start_id": called} if tail else {}
            asked = add("user", {"type": "compaction", "auto": True, **named})
            summary = "A summary that the client made: turns up to here are done, port 8443 is taken."
            add("assistant", text(summary), parentID=asked, summary=True, mode="compaction", agent="compaction")
    info = {"id": session, "slug": "made-up", "projectID": "global", "directory": "/work", "title": "Made up", "version": "1.18.33",
            "time": {"created": began, "updated": began + count}}
    return json.dumps({"info": info, "messages": messages}, indent=2) + "\n"


def pi(turns, compacted_after=None, version=3, used=160000, reset_after=None, size=SHORT):
    lines = [line({"type": "session", **({"version": version} if version > 1 else {}), "id": identity("pi", turns, compacted_after, version),
                   "timestamp": time(0), "cwd": "/work"})]
    parent = None

    def add(kind, **rest):
        nonlocal parent
        own = f"{len(lines):08x}"
        place = {"id": own, "parentId": parent} if version > 1 else {}
        lines.append(line({"type": kind, **place, "timestamp": time(len(lines)), **rest}))
        parent = own
        return own

    def reply(turn, is_answer):
        read = used or used_before(turn, size, is_answer)
        usage = {"input": read, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": read + 9,
                 "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
        return {"role": "assistant", "api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5", "usage": usage, "timestamp": 1767225600000}

    for turn in range(1, turns + 1):
        ask, calls, answer = said(turn, size)
        first = add("message", message={"role": "user", "content": ask, "timestamp": 1767225600000})
        index = len(lines) - 1
        content = [{"type": "toolCall", "id": call, "name": name, "arguments": given} for call, name, given, _ in calls]
        add("message", message={**reply(turn, False), "content": content, "stopReason": "toolUse"})
        for call, name, _, result in calls:
            add("message", message={"role": "toolResult", "toolCallId": call, "toolName": name, "content": [{"type": "text", "text": result}],
                                    "isError": False, "timestamp": 1767225600000})
        add("message", message={**reply(turn, True), "content": [{"type": "text", "text": answer}], "stopReason": "stop"})
        if turn == compacted_after:
            kept = {"firstKeptEntryId": first} if version > 1 else {"firstKeptEntryIndex": index}
            add("compaction", summary="A summary that the client made: turns up to here are done, port 8443 is taken.", **kept, tokensBefore=160000)
        if turn == reset_after:
            add("reset", firstKeptEntryId=first)
    return "".join(lines)


def gemini(turns, compacted_after=None, resumed_after=None):
    lines = [line({"sessionId": identity("gemini", turns, compacted_after, resumed_after), "projectHash": "a" * 64, "startTime": time(0), "lastUpdated": time(0), "kind": "main"})]
    log = []

    def add(kind, **rest):
        message = {"id": identity("gemini", len(lines), len(log)), "timestamp": time(len(lines)), "type": kind, **rest}
        lines.append(line(message))
        log.append(message)

    for turn in range(1, turns + 1):
        ask, calls, answer = said(turn)
        add("user", content=[{"text": ask}])
        listed = [{"id": call, "name": name, "args": given, "status": "success", "timestamp": time(len(lines)),
                   "result": [{"functionResponse": {"id": call, "name": name, "response": {"output": result}}}]} for call, name, given, result in calls]
        add("gemini", content="", toolCalls=listed, thoughts=[], tokens={"input": 160000, "output": 9, "cached": 0, "total": 160009}, model="gemini-2.5-pro")
        add("gemini", content=answer, model="gemini-2.5-pro")
        if turn == compacted_after:
            summary = "<state_snapshot>\nA summary that the client made: turns up to here are done, port 8443 is taken.\n</state_snapshot>"
            log = [{"id": identity("gemini", "summary", turn), "timestamp": time(len(lines)), "type": "user", "content": [{"text": summary}]},
                   {"id": identity("gemini", "answer", turn), "timestamp": time(len(lines)), "type": "gemini", "content": [{"text": "Got it."}]}]
            lines.append(line({"$set": {"messages": log, "lastUpdated": time(len(lines))}}))
        if turn == resumed_after:
            lines.append(line({"$set": {"messages": log, "lastUpdated": time(len(lines))}}))
    return "".join(lines)


def kimi(turns, compacted_after=None, undone_after=None, cleared_after=None, used=160000, size=SHORT):
    lines = [line({"type": "metadata", "protocol_version": "1.5", "created_at": 1767225600000})]

    def add(kind, **rest):
        lines.append(line({"type": kind, "agentId": "main", **rest, "time": 1767225600000 + 1000 * len(lines)}))

    def step(turn, part, *events):
        own = identity("kimi", len(lines))
        shared = {"turnId": str(turn), "step": part}
        read = used or used_before(turn, size, part == 2)
        add("context.append_loop_event", event={"type": "step.begin", "uuid": own, **shared})
        add("token_counting.measured", length=len(lines), tokens=read + 9)
        for event in events:
            within = {} if event["type"] == "tool.result" else {"stepUuid": own, **shared}
            add("context.append_loop_event", event={**event, **within})
        add("context.append_loop_event", event={"type": "step.end", "uuid": own, **shared, "finishReason": "end_turn",
                                                "usage": {"inputOther": read, "output": 9, "inputCacheRead": 0, "inputCacheCreation": 0}})

    def say(turn):
        ask, calls, answer = said(turn, size)
        add("context.append_message", message={"role": "user", "content": [{"type": "text", "text": ask}], "id": f"msg_{turn}", "toolCalls": [],
                                               "origin": {"kind": "user"}})
        called = [{"type": "tool.call", "toolCallId": call, "name": name, "args": given} for call, name, given, _ in calls]
        step(turn, 1, *called, *({"type": "tool.result", "toolCallId": call, "result": {"output": result}} for call, _, _, result in reversed(calls)))
        step(turn, 2, {"type": "content.part", "part": {"type": "text", "text": answer}})

    for turn in range(1, turns + 1):
        say(turn)
        if turn == compacted_after:
            summary = "A summary that the client made: turns up to here are done, port 8443 is taken."
            add("context.apply_compaction", summary=summary, contextSummary=f"The conversation so far has been compacted to free up context.\n{summary}",
                compactedCount=5 * turn, tokensBefore=160000, tokensAfter=900, keptUserMessageCount=turn)
        if turn == undone_after:
            base = len(lines)
            say(31)
            add("agent.switched", branch="b1", reason="undo", base={"branch": "main", "line": base}, turns=1, legacyUndoLine=len(lines) + 2)
            add("context.undo", count=1)
            add("context.undone", turns=1, fromTurnId=turn)
        if turn == cleared_after:
            add("context.clear")
    return "".join(lines)


def imported_by_kimi(turns):
    """Returns a session in the form in which Kimi Code imports those of Kimi CLI."""
    lines = [line({"type": "metadata", "protocol_version": "1.0", "created_at": 1767225600000})]

    def add(role, text, **rest):
        lines.append(line({"type": "context.append_message", "message": {"role": role, "content": [{"type": "text", "text": text}], "toolCalls": [], **rest}}))

    for turn in range(1, turns + 1):
        ask, calls, answer = said(turn)
        add("user", ask)
        add("assistant", f"turn{turn}.look", toolCalls=[{"type": "function", "id": call, "function": {"name": name, "arguments": json.dumps(given)}}
                                                         for call, name, given, _ in calls])
        for call, _, _, result in calls:
            add("tool", result, toolCallId=call)
        add("assistant", answer)
    return "".join(lines)


def copilot(turns, compacted_after=None, used=160000, size=SHORT, is_open=False):
    session = identity("copilot", turns, compacted_after, is_open)
    lines, parent = [], None

    def add(kind, data):
        nonlocal parent
        own = identity(session, len(lines))
        lines.append(line({"type": kind, "data": data, "id": own, "timestamp": time(len(lines)), "parentId": parent}))
        parent = own

    def reply(turn, is_answer, text, requests):
        read = used or used_before(turn, size, is_answer)
        add("assistant.turn_start", {"turnId": str(int(is_answer))})
        add("session.usage_record", {"usage": {"model": "claude-sonnet-4.5", "inputTokens": read, "outputTokens": 9, "cacheReadTokens": 0, "cacheWriteTokens": 0,
                                               "apiCallId": "recorded", "accounting": {"sourceSessionId": session, "sequence": len(lines), "usageId": "recorded"}}})
        add("assistant.message", {"messageId": identity(session, "message", len(lines)), "model": "claude-sonnet-4.5", "content": text, "toolRequests": requests})

    add("session.start", {"sessionId": session, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102", "startTime": time(0),
                          "selectedModel": "claude-sonnet-4.5", "context": {"cwd": "/work"}})
    for turn in range(1, turns + 1):
        ask, calls, answer = said(turn, size)
        add("user.message", {"content": ask, "transformedContent": f"<current_datetime>{time(len(lines))}</current_datetime>\n\n{ask}"})
        reply(turn, False, "", [{"toolCallId": call, "name": name, "arguments": given, "type": "function"} for call, name, given, _ in calls])
        for call, name, given, _ in calls:
            add("tool.execution_start", {"toolCallId": call, "toolName": name, "arguments": given})
        if is_open and turn == turns:
            break
        # The results are written in the order in which the tools end.
        for call, _, _, result in reversed(calls):
            add("tool.execution_complete", {"toolCallId": call, "success": True, "result": {"content": result, "detailedContent": result}})
        add("assistant.turn_end", {"turnId": "0"})
        reply(turn, True, answer, [])
        add("assistant.turn_end", {"turnId": "1"})
        if turn == compacted_after:
            summary = "A summary that the client made: turns up to here are done, port 8443 is taken."
            add("session.compaction_start", {"conversationTokens": 1})
            add("session.compaction_complete", {"success": True, "preCompactionTokens": 160000, "summaryContent": summary})
    return "".join(lines)


def qwen(turns, compacted_after=None, rewound_after=None, used=None, size=SHORT):
    session = identity("qwen", turns, compacted_after, rewound_after)
    lines, parent = [], None

    def add(kind, subtype=None, **rest):
        nonlocal parent
        own = identity(session, len(lines))
        more = {"subtype": subtype} if subtype else {}
        lines.append(line({"uuid": own, "parentUuid": parent, "sessionId": session, "timestamp": time(len(lines)), "type": kind, "cwd": "/work",
                           "version": "0.24.4", **more, **rest}))
        parent = own

    def reply(turn, is_answer, parts):
        read = used or used_before(turn, size, is_answer)
        usage = {"promptTokenCount": read, "candidatesTokenCount": 9, "thoughtsTokenCount": 0, "totalTokenCount": read + 9, "cachedContentTokenCount": 0}
        add("system", "ui_telemetry", systemPayload={"uiEvent": {"event.name": "qwen-code.api_response", "model": "gpt-4.1"}})
        add("assistant", model="gpt-4.1", message={"role": "model", "parts": parts}, usageMetadata=usage, contextWindowSize=131072)

    def ask(turn):
        add("user", message={"role": "user", "parts": [{"text": said(turn)[0]}]})

    for turn in range(1, turns + 1):
        _, calls, answer = said(turn, size)
        ask(turn)
        reply(turn, False, [{"functionCall": {"id": call, "name": name, "args": given}} for call, name, given, _ in calls])
        for call, name, _, result in calls:
            add("tool_result", message={"role": "user", "parts": [{"functionResponse": {"id": call, "name": name, "response": {"output": result}}}]},
                toolCallResult={"callId": call, "status": "success", "resultDisplay": result})
        reply(turn, True, [{"text": answer}])
        if turn == compacted_after:
            summary = "<state_snapshot>A summary that the client made: turns up to here are done, port 8443 is taken.</state_snapshot>\n\nResume the prior task."
            history = [{"role": "user", "parts": [{"text": summary}]}, {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]}]
            add("system", "chat_compression", systemPayload={"info": {"originalTokenCount": 90000, "newTokenCount": 9000, "compressionStatus": 1}, "compressedHistory": history})
        if turn == rewound_after:
            above = parent
            ask(30)
            reply(turn, True, [{"text": said(30)[2]}])
            parent = above
            add("system", "rewind", systemPayload={"truncatedCount": 2})
    return "".join(lines)


def next_turn(agent, text, turn):
    """Returns a session as its agent would leave it after one more turn, for agents that make no request in these trials."""
    ask, _, answer = said(turn)
    text = text if text.endswith("\n") else text + "\n"
    if agent == "gemini":
        number = text.count("\n")
        messages = [{"type": "user", "content": [{"text": ask}]}, {"type": "gemini", "content": answer, "model": "gemini-2.5-pro"}]
        lines = [{"id": identity("gemini", number, at), "timestamp": time(number + at), **message} for at, message in enumerate(messages)]
        return text + "".join(map(line, lines))
    last = json.loads(text.rstrip("\n").rsplit("\n", 1)[1])
    parent, lines = last.get("id"), []
    reply = {"role": "assistant", "content": [{"type": "text", "text": answer}], "api": "anthropic-messages", "provider": "anthropic",
             "model": "claude-opus-4-5", "stopReason": "stop", "timestamp": 1767225600000}
    for at, message in enumerate([{"role": "user", "content": ask, "timestamp": 1767225600000}, reply]):
        own = f"{turn:04x}{at:04x}"
        place = {"id": own, "parentId": parent} if parent else {}
        lines.append({"type": "message", **place, "timestamp": time(turn), "message": message})
        parent = parent and own
    return text + "".join(map(line, lines))


# The sessions by name. The client's own compactions are in the middle of a session.
MADE_UP = {
    "claude-code": {
        "plain": claude_code(14), "compacted": claude_code(14, compacted_after=6), "2.1.100": claude_code(14, version="2.1.100"),
        "2.1.42": claude_code(14, version="2.1.42"), "no-newline": claude_code(14).rstrip("\n"),
    },
    "codex": {"plain": codex(14), "compacted": codex(14, compacted_after=6), "paginated": codex(14, paginated=True), "no-newline": codex(14).rstrip("\n")},
    "copilot": {"plain": copilot(14), "compacted": copilot(14, compacted_after=6), "open": copilot(14, is_open=True), "no-newline": copilot(14).rstrip("\n")},
    "pi": {"plain": pi(14), "compacted": pi(14, compacted_after=6), "version-1": pi(14, version=1), "version-1-compacted": pi(14, compacted_after=6, version=1)},
    "pi-0.73": {"plain": pi(14), "compacted": pi(14, compacted_after=6), "version-1": pi(14, version=1), "version-1-compacted": pi(14, compacted_after=6, version=1)},
    # OpenClaw writes the same entries as pi, and some of its own.
    "openclaw": {"plain": pi(14), "compacted": pi(14, compacted_after=6), "version-1": pi(14, version=1), "reset": pi(14, reset_after=6)},
    "kimi": {"plain": kimi(14), "compacted": kimi(14, compacted_after=6), "undone": kimi(14, undone_after=8), "cleared": kimi(14, cleared_after=4),
             "imported": imported_by_kimi(14), "no-newline": kimi(14).rstrip("\n")},
    "qwen": {
        "plain": qwen(14), "compacted": qwen(14, compacted_after=6), "rewound": qwen(14, compacted_after=4, rewound_after=8), "no-newline": qwen(14).rstrip("\n"),
    },
    "gemini": {"plain": gemini(14), "compacted": gemini(14, compacted_after=6), "resumed": gemini(14, resumed_after=6)},
    "opencode": {"plain": opencode(14), "compacted": opencode(14, compacted_after=6), "compacted-with-tail": opencode(14, compacted_after=6, tail=True)},
}

# 272,000 tokens of results, none so long that Codex shortens it: at the end more was used than the agents' windows hold. With `used` no reply says so.
SESSIONS = {"claude-code": claude_code, "codex": codex, "copilot": copilot, "kimi": kimi, "opencode": opencode, "pi": pi, "qwen": qwen}


def long(agent, used=None):
    return SESSIONS[agent](14, used=used, size=LONG)
