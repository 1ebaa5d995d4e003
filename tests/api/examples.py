"""A small session for each rule that breaks it. A judge that does not see this is wrong."""

PNG = "iVBORw0KGgoAAAANSUhEUg=="


def user(content="Hi"):
    return {"role": "user", "content": content}


def reply(*blocks):
    return {"role": "assistant", "content": list(blocks) or "Hello."}


def text(of):
    return {"type": "text", "text": of}


def use(id="t1", name="Read", kind="tool_use", **more):
    return {"type": kind, "id": id, "name": name, "input": {}, **more}


def result(id="t1", **more):
    return {"type": "tool_result", "tool_use_id": id, **more}


def image(mime="image/png", data=PNG):
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}


def called(*ids, name="Read", arguments="{}"):
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id in ids]}


def tool(id):
    return {"role": "tool", "tool_call_id": id, "content": "a"}


def call(call_id="c1", kind="function_call", **more):
    return {"type": kind, "call_id": call_id, "name": "Read", **({"arguments": "{}"} if kind == "function_call" else {"input": "a"}), **more}


def output(call_id="c1"):
    return {"type": "function_call_output", "call_id": call_id, "output": "a"}


def item(role="user", kind="input_text", **more):
    return {"type": "message", "role": role, "content": [{"type": kind, "text": "a", **({"annotations": []} if kind == "output_text" else {})}], **more}


SAID = item("assistant", "output_text", id="msg_1", status="completed")
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
MARKED = [{**text("a"), "cache_control": {"type": "ephemeral"}}] * 5
COMPACTION = {"type": "compaction", "content": "a"}
SEARCH = use("srvtoolu_1", "web_search", "server_tool_use")
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
SYSTEM = {"role": "system", "content": "Be brief."}


def gemini(**message):
    return {"id": "m", "type": "gemini", "content": "", **message}


EXAMPLES = [
    ("anthropic", "A1", [user(), reply(use()), user("Go on.")]),
    ("anthropic", "A2/A10", [user(), reply(), user([result()])]),
    ("anthropic", "A3", [user(), reply(use()), user([text("So:"), result()])]),
    ("anthropic", "A4", [user(), reply(text(" "))]),
    ("anthropic", "A4", [user(), reply(use()), user([result(content=[text("")])])]),
    ("anthropic", "A5", [user([]), reply()]),
    ("anthropic", "A8", [user(), reply(use("functions.Read:0"))]),
    ("anthropic", "A9", [user(), reply(use()), user([result()]), reply(use()), user([result()])]),
    ("anthropic", "A2/A10", [user(), reply(use()), user([result(), result()])]),
    ("anthropic", "A13", [SYSTEM, reply()]),
    ("anthropic", "A21", [user([image("image/jpeg")])]),
    ("anthropic", "A21", [user([image(data="data:image/png;base64," + PNG)])]),
    ("anthropic", "A21", [user([image(data="")])]),
    ("anthropic", "A27", [user(MARKED)]),
    ("anthropic", "A6", [user(), reply({"type": "thinking", "thinking": "a", "signature": ""})]),
    ("anthropic", "A30", [user(), reply(use()), user([result(is_error=True)])]),
    ("anthropic", "A30", [user(), reply(use()), user([result(is_error=True, content=[image()])])]),
    ("anthropic", "A35", [user(), reply(use("srvtoolu_1")), user([result("srvtoolu_1")])]),
    ("anthropic", "A36", [user(), reply(SEARCH), user("Go on.")]),
    ("anthropic", "A36", [user(), reply(FOUND)]),
    ("anthropic", "A42", [user(), reply({**COMPACTION, "content": ""})]),
    ("anthropic", "A43", [user(), reply({**COMPACTION, "signature": "a"})]),
    ("anthropic", "A46", [user(), reply(), SYSTEM, user()]),
    ("anthropic", "A50", [user(), reply(use(name="files.read"))]),
    ("anthropic", "A52", [user(), reply(image())]),
    ("anthropic", "lone surrogate", [user("\ud83d")]),
    ("anthropic", "type: role", [user(), {"role": "tool", "content": "a"}]),
    ("anthropic", "type: foo", [{**user(), "foo": 1}]),
    ("chat", "C1", [called("a", "b"), tool("a"), user()]),
    ("chat", "C1", [called("a", "a"), tool("a"), tool("a")]),
    ("chat", "C2", [user(), tool("a")]),
    ("chat", "C3", [{"role": "assistant", "content": "a", "tool_calls": []}]),
    ("chat", "C4", [{"role": "assistant", "content": None}]),
    ("chat", "C7", [called(*map(str, range(129)))]),
    ("chat", "C9", [called("a", arguments="ls")]),
    ("chat", "C10", [called("a", name="files.read")]),
    ("chat", "C17", [user(), {"role": "function", "name": "Read", "content": "a"}]),
    ("chat", "type: name", [called("a"), {**tool("a"), "name": "Read"}]),
    ("responses", "R1", [item(), REASONING, item()]),
    ("responses", "R6", [item(), call(), item()]),
    ("responses", "R7", [item(), output()]),
    ("responses", "R7", [item(), call("t", "custom_tool_call"), output("t")]),
    ("responses", "R8", [item(), call("c" * 65)]),
    ("responses", "R9", [item(), call(id="item_1")]),
    ("responses", "R10", [item("assistant", "input_text")]),
    ("responses", "R21", [SAID, SAID]),
    ("responses", "type: arguments", [item(), call(arguments={})]),
    ("claude-code", "A8", [{"type": "assistant", "message": reply(use("ü"))}]),
    ("claude-code", "A30", [{"type": "user", "message": user([result(is_error=True, content=[image()])])}]),
    ("claude-code", "A4", [{"type": "user", "message": user([result(content=[text(""), text("a")])])}]),
    ("claude-code", "A5", [{"type": "user", "message": user(" ")}]),
    ("codex", "R8", [{"type": "response_item", "payload": call("c" * 65)}]),
    ("gemini", "G1", [gemini(toolCalls=[{"id": "a", "name": "Read", "args": {}}]), {"id": "n", "type": "user", "content": "Hi"}]),
    ("gemini", "G9 a part", [{"type": "user", "content": [{"text": "a"}, {}]}]),
    ("gemini", "G9 inlineData", [{"type": "user", "content": [{"inlineData": {"mimeType": "image/png", "data": "data:image/png;base64," + PNG}}]}]),
    ("gemini", "type: parts.functionCall.args", [gemini(toolCalls=[{"name": "Read", "args": "ls"}])]),
    ("pi", "P2", [{"type": "session"}, {"type": "message", "message": {"role": "toolResult", "toolCallId": "a", "content": []}}]),
]
# The session before a change, and after it.
PARTED = [([item(), REASONING, SAID], [item(), SAID])]
