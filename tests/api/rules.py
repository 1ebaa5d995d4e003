"""What the vendors' documents demand of the messages of a request, beyond the types: ids, order, pairs and empty texts.

Each function takes the messages and yields a short text for each refusal. The code before each text (A4, C1, …) is the same for
the same demand of one API; the documents are named beside it. Calls that wait at the end of a session are no refusal: their
results are still to come.
"""

import base64
import json
import re

# docs.claude.com: "Implement tool use", "Troubleshooting tool use"; the error `String should match pattern '^[a-zA-Z0-9_-]+$'`.
WORD = re.compile(r"[a-zA-Z0-9_-]+\Z")
MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/webp": b"RIFF"}
# docs.claude.com: "Prompt caching".
CACHE_MARKS = 4


def blocks(value, key="content"):
    """Returns the blocks of a message or of a result; a text alone is one block."""
    content = value.get(key)
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def is_blank(text):
    return isinstance(text, str) and not text.strip()


def is_name(text, most):
    return isinstance(text, str) and WORD.match(text) and len(text) <= most


def turns(messages):
    """Joins neighbours of one role, as the Messages API does."""
    joined = []
    for message in messages:
        if not joined or joined[-1][0] != message.get("role"):
            joined.append((message.get("role"), []))
        joined[-1][1].extend(blocks(message))
    return joined


# Anthropic Messages API


def anthropic(messages):
    # System messages at the beginning are the parameter `system`.
    begin = next((at for at, message in enumerate(messages) if message.get("role") != "system"), len(messages))
    messages = messages[begin:]
    for at, message in enumerate(messages):
        content, is_last = message.get("content"), at == len(messages) - 1
        if content in ("", []) and not (is_last and message.get("role") == "assistant"):
            yield "A5 all messages must have non-empty content"
        elif isinstance(content, list) or content:
            texts = [block.get("text") for block in blocks(message) if block.get("type") == "text"]
            yield from ["A4 text must contain non-whitespace text" for text in texts if is_blank(text)]
        yield from anthropic_blocks(message)
        for block in blocks(message):
            inner = blocks(block) if block.get("type") == "tool_result" and isinstance(block.get("content"), list) else []
            yield from ["A4 text in a result must contain non-whitespace text" for block in inner if block.get("type") == "text" and is_blank(block.get("text"))]
    joined = turns(messages)
    starts = joined and next(iter(joined[0][1]), {}).get("type") == "compaction"
    if joined and joined[0][0] != "user" and not starts:
        yield "A13 first message must use the user role"
    for at, (role, turn) in enumerate(joined):
        # docs.claude.com: "Mid-conversation system messages".
        follows = at and (joined[at - 1][0] == "user" or str(next(reversed(joined[at - 1][1]), {}).get("type")).endswith("_tool_result"))
        if role == "system" and (not follows or at + 1 < len(joined) and joined[at + 1][0] != "assistant"):
            yield "A46 system message neither after a user message nor before a reply"
    yield from anthropic_pairs(joined)
    yield from server_pairs(joined)
    ids = [block.get("id") for _, turn in joined for block in turn if block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use")]
    yield from ["A9 tool_use ids must be unique"] * (len(ids) - len(set(map(str, ids))))
    if sum("cache_control" in block and block["cache_control"] is not None for block in every_block(messages)) > CACHE_MARKS:
        yield "A27 more than 4 blocks with cache_control"
    # docs.claude.com: "Compaction": a block that was asked for with a beta of 2026-09-04 has a signature, and comes first.
    places = [at for at, block in enumerate(block for _, turn in joined for block in turn) if block.get("type") == "compaction" and block.get("signature")]
    if places and places != [0]:
        yield "A43 compaction_block_misplaced"


def anthropic_pairs(joined):
    for at, (role, turn) in enumerate(joined):
        if role != "assistant":
            calls = [block.get("id") for block in joined[at - 1][1] if block.get("type") == "tool_use"] if at and joined[at - 1][0] == "assistant" else []
            results = [block.get("tool_use_id") for block in turn if block.get("type") == "tool_result"]
            for id in results:
                if id in calls:
                    calls.remove(id)
                else:
                    yield "A2/A10 tool_result without a tool_use of its own in the previous message"
            kinds = [block.get("type") == "tool_result" for block in turn]
            if kinds != sorted(kinds, reverse=True):
                yield "A3 tool_result blocks must come first"
            continue
        next_turn = joined[at + 1][1] if at + 1 < len(joined) else []
        waits = at + 1 == len(joined) or (at + 2 == len(joined) and all(block.get("type") == "tool_result" for block in next_turn))
        results = {block.get("tool_use_id") for block in next_turn if block.get("type") == "tool_result"}
        for block in turn:
            if block.get("type") == "tool_use" and block.get("id") not in results and not waits:
                yield "A1 tool_use without its tool_result in the next message"


def server_pairs(joined):
    """docs.claude.com: "Handling stop reasons", "Programmatic tool calling": a server tool's result is in the turn of its call, or behind
    results of client tools."""
    called = set()
    for role, turn in joined:
        if role == "user" and any(block.get("type") != "tool_result" for block in turn):
            yield from ["A36 server tool call without its result" for id in called]
            called = set()
        for block in turn:
            if block.get("type") in ("server_tool_use", "mcp_tool_use"):
                called.add(block.get("id"))
            elif str(block.get("type")).endswith("_tool_result"):
                if block.get("tool_use_id") not in called:
                    yield "A36 server tool result without its call"
                called.discard(block.get("tool_use_id"))


def anthropic_blocks(message):
    """Yields what is refused in the blocks of one message, whatever is around it."""
    for block in blocks(message):
        kind, role = block.get("type"), message.get("role")
        if kind in ("tool_use", "server_tool_use", "thinking", "redacted_thinking") and role == "user" or kind == "tool_result" and role == "assistant":
            yield f"A52 {kind} in a message of the {role}"
        if kind in ("image", "document") and role == "assistant":
            yield f"A52 {kind} in a message of the assistant"
        id = block.get("id") if kind == "tool_use" else block.get("tool_use_id") if kind == "tool_result" else "ok"
        if not WORD.match(str(id)):
            yield f"A8 id of a {kind} must match the pattern"
        if kind == "tool_result" and str(id).startswith("srvtoolu_"):
            yield "A35 tool_result of a server tool"
        if kind == "tool_use" and not is_name(block.get("name"), 128):
            yield "A50 name of a tool must match the pattern"
        if kind == "compaction" and block.get("content") == "":
            yield "A42 empty compaction"
        if kind == "text" and block.get("cache_control") and is_blank(block.get("text")):
            yield "A28 cache_control on an empty text"
        if kind == "thinking" and not block.get("signature"):
            yield "A6 thinking without its signature"
        # The API's errors are `content cannot be empty if is_error is true` and `all content must be type 'text' if is_error is true`.
        if kind == "tool_result" and block.get("is_error") is True and (not block.get("content") or any(inner.get("type") != "text" for inner in blocks(block))):
            yield "A30 result of an error that is not text alone"
    for block in every_block([message]):
        if block.get("type") == "image" and isinstance(block.get("source"), dict) and block["source"].get("type") == "base64":
            yield from image(block["source"])


def image(source):
    """docs.claude.com: "Vision": the type must be the real one, and the data bare base64."""
    data, mime = str(source.get("data")), source.get("media_type")
    if not data or data.startswith("data:"):
        yield "A21 image without data, or with data: before them"
        return
    try:
        start = base64.b64decode(data[:64] + "=" * (-len(data[:64]) % 4), validate=True)
    except ValueError:
        yield "A21 image data that is not base64"
        return
    real = next((name for name, magic in MAGIC.items() if start.startswith(magic)), None)
    if real != mime and (real or start) and mime in MAGIC:
        yield "A21 image of another type than stated"


def every_block(messages):
    for message in messages:
        for block in blocks(message):
            yield block
            if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
                yield from blocks(block)


def claude_code(messages):
    """Claude Code repairs pairs, repeated ids and blocks of blank text, but sends ids, names, images and blank texts elsewhere as they are.

    It leaves out what is not text in the result of an error. If the API refuses reasoning without a signature, it sends the session
    again without any reasoning.
    """
    for message in messages:
        if message.get("role") == "user" and isinstance(message.get("content"), str) and is_blank(message["content"]):
            yield "A5 all messages must have non-empty content"
        for inner in (inner for block in blocks(message) if block.get("type") == "tool_result" for inner in block.get("content") or [] if isinstance(inner, dict)):
            yield from ["A4 text in a result must contain non-whitespace text"] * (inner.get("type") == "text" and is_blank(inner.get("text")))
        content = [{**block, "content": [inner for inner in blocks(block) if inner.get("type") == "text"]}
                   if block.get("is_error") is True and isinstance(block.get("content"), list) else block for block in blocks(message)]
        yield from (text for text in anthropic_blocks({**message, "content": content}) if not text.startswith(("A6 ", "A28")))


# OpenAI Chat Completions


def chat(messages):
    waiting, names, legacy = [], [], None
    for message in messages:
        role, calls = message.get("role"), message.get("tool_calls")
        if role == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message.get("tool_call_id"))
            else:
                yield "C2 tool message without a preceding call"
            continue
        if role == "function":
            if message.get("name") != legacy:
                yield "C17 function message without its function_call"
            legacy = None
            continue
        if waiting or legacy:
            yield "C1 call without its tool message"
        listed = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        waiting = [call.get("id") for call in listed]
        legacy = message["function_call"].get("name") if isinstance(message.get("function_call"), dict) else None
        # The types demand an id; calls for Ollama have none.
        ids = [str(id) for id in waiting if id is not None]
        if len(set(ids)) < len(ids):
            yield "C1 one id for two calls of a message"
        if calls == []:
            yield "C3 tool_calls must not be empty"
        if len(listed) > 128:
            yield "C7 more than 128 calls"
        if message.get("content") is None and role == "assistant" and not any(message.get(key) for key in ("tool_calls", "function_call", "audio", "refusal")):
            yield "C4 expected content, got null"
        if message.get("content") == []:
            yield "C4 content is an empty list"
        names = [call.get("function", call.get("custom")) for call in listed] + [message.get("function_call")]
        for name in (called.get("name") for called in names if isinstance(called, dict)):
            if not is_name(name, 64):
                yield "C10 name of a function must match the pattern"


# OpenAI Responses API

KINDS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output", "local_shell_call": "local_shell_call_output",
         "shell_call": "shell_call_output", "apply_patch_call": "apply_patch_call_output", "computer_call": "computer_call_output"}
# Codex answers the calls of a local shell as those of functions.
OUTPUTS = {**{output: (call,) for call, output in KINDS.items()}, "function_call_output": ("function_call", "local_shell_call")}
PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


def call_id(item):
    # The output of a local shell has the call's id in `id`.
    return item.get("call_id") or (item.get("id") if item.get("type") == "local_shell_call_output" else None)


def type_of(item):
    return item.get("type", "item_reference" if set(item) == {"id"} else "message")


def responses(items):
    waiting, ids, references = [], set(), 0
    for at, item in enumerate(items):
        kind = type_of(item)
        if kind in KINDS:
            waiting.append((kind, call_id(item)))
        elif kind in OUTPUTS:
            call = next((call for call in waiting if call[0] in OUTPUTS[kind] and call[1] == call_id(item)), None)
            if call:
                waiting.remove(call)
            elif references:
                references -= 1
            else:
                yield f"R7 {kind} without its call"
        id = item.get("id")
        # The item of an earlier request may be the call.
        references += kind == "item_reference" and not str(id).startswith(("msg", "rs"))
        if id and kind != "item_reference" and kind not in OUTPUTS:
            yield from ["R21 duplicate item id"] * (id in ids)
            ids.add(id)
        if id is not None and not (isinstance(id, str) and id.startswith(PREFIXES.get(kind, "")) and WORD.match(id) and len(id) <= 64):
            yield f"R9 id of a {kind} must begin as the API's do, with letters, digits, _ or -, 64 at most"
        # A reasoning item at the end waits for what it leads to.
        follows = items[at + 1] if at + 1 < len(items) else {"type": "reasoning"}
        if kind == "reasoning" and (follows.get("type") in OUTPUTS or follows.get("role", "assistant") != "assistant"):
            yield "R1 reasoning without the item it led to"
        yield from responses_item(item)
    # The text of a reply may follow its calls, which then still wait.
    is_other = lambda item: item.get("role", "assistant") != "assistant"
    after = {id for kind, id in waiting if any(map(is_other, items[last_call(items, kind, id):]))}
    yield from [f"R6 no output for a {kind}" for kind, id in waiting if id in after]


def last_call(items, kind, id):
    return max(at for at, item in enumerate(items) if item.get("type") == kind and call_id(item) == id)


def responses_item(item):
    """Yields what is refused in one item, whatever is around it."""
    kind = type_of(item)
    if kind in KINDS or kind in OUTPUTS:
        if not call_id(item):
            yield f"R7 {kind} without a call_id"
        elif len(str(call_id(item))) > 64:
            yield f"R8 call_id of a {kind} is longer than 64"
    if kind == "message" and isinstance(item.get("content"), list):
        own = ("output_text", "refusal") if item.get("role") == "assistant" else ("input_text", "input_image", "input_file", "input_audio")
        yield from [f"R10 {block.get('type')} in a message of the {item.get('role')}" for block in blocks(item) if block.get("type") not in own]
    if kind in ("function_call", "custom_tool_call") and not (isinstance(item.get("name"), str) and 0 < len(item["name"]) <= 128):
        yield "R22 name of a function must have 1 to 128 characters"


def parted(before, after):
    """Yields items that lost the reasoning they were made with: as long as they have their ids, the API looks for it."""
    led, reasoning = {}, None
    for item in before:
        if item.get("type") == "reasoning":
            reasoning = item.get("id")
        elif item.get("type") in OUTPUTS or item.get("role", "assistant") != "assistant":
            reasoning = None
        elif item.get("id") and reasoning:
            led[item["id"]] = reasoning
    kept = {item.get("id") for item in after if item.get("type") == "reasoning"}
    yield from ["R2 item without its reasoning" for item in after if item.get("id") in led and led[item["id"]] not in kept]


def codex(items):
    """Codex pairs calls and outputs of what it reads by itself, and gives items new ids."""
    for item in items:
        yield from responses_item(item)


# Gemini API


def gemini(contents):
    for at, content in enumerate(contents):
        parts = content.get("parts")
        if not parts:
            yield "G8 contents.parts must not be empty"
        for part in parts:
            data = [key for key, value in part.items() if key in DATA and value is not None]
            if len(data) != 1 or part.get("text") == "":
                yield "G9 a part must have exactly one kind of data"
            media = part.get("inlineData")
            if isinstance(media, dict) and not BASE64.match(str(media.get("data"))):
                yield "G9 inlineData whose data are not base64"
        calls = [part["functionCall"].get("name") for part in parts if isinstance(part.get("functionCall"), dict)]
        if calls and at + 1 < len(contents):
            following = contents[at + 1]["parts"]
            results = [part["functionResponse"].get("name") for part in following if isinstance(part.get("functionResponse"), dict)]
            waits = at + 2 == len(contents) and len(results) < len(calls) and not any("text" in part for part in following)
            if len(calls) != len(results) and not waits:
                yield "G1 number of function responses is not the number of calls"
            elif not waits and sorted(map(str, calls)) != sorted(map(str, results)):
                yield "G13 function responses have other names than the calls"


BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+\Z")
DATA = {"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"}


# pi


def pi(messages):
    """pi invents a result for a call that has none, leaves blank texts out, and sends results as they are."""
    called = set()
    for message in messages:
        if message.get("role") == "assistant":
            # A reply that was aborted is not sent.
            called = called if message.get("stopReason") in ("error", "aborted") else {block.get("id") for block in blocks(message) if block.get("type") == "toolCall"}
        elif message.get("role") == "toolResult" and message.get("toolCallId") not in called:
            yield "P2 toolResult without its toolCall"


def is_json_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False
