"""Makes up sessions in each format that the tools read: legal ones, ones with shapes that APIs refuse, and damaged ones.

A session is made from a number alone: `session(7)` is the same on each machine. First comes a story, without any format: turns of
a request, steps with calls and their results, and an answer. A writer for each format tells it with what only that format has.
"""

import base64
import dataclasses
import json
import random
import uuid

FORMATS = ("chat", "anthropic", "responses", "claude-code", "codex", "gemini", "pi")
TOOLS = ("Read", "Bash", "Edit", "Grep", "mcp__github__search")
ODD_TOOLS = ("files.read/one", "functions.Bash", "naïve tool", "x" * 90)
PHRASES = ("the parser keeps every byte of a record", "fn main() { println!(\"hi\"); }", "error: expected `;`, found `}`", "port 8443 is taken, so 9443 is used",
           "Die Prüfung lief durch.", "请检查这个文件。", "مرحبا بالعالم", "🙂👩‍👩‍👧 done\u2028next", "a\tb\\n\"quoted\"", "<system-reminder>be brief</system-reminder>")
BLANK = ("", " ", "\n\n", "\u3000")
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89\0\0\0\0IEND\xaeB`\x82").decode()
PDF = base64.b64encode(b"%PDF-1.7\n%%EOF\n").decode()
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()


@dataclasses.dataclass
class Call:
    id: str
    name: str
    given: object
    result: object  # None if the call waits, else a text or a list of texts and images
    is_error: bool = False


@dataclasses.dataclass
class Step:
    thinking: str | None
    text: str
    calls: list


@dataclasses.dataclass
class Turn:
    ask: list  # texts, images and documents; a text is a str, the others a pair of type and data
    steps: list


class Teller:
    """Tells one story. `odd` is the chance that something is of a kind which an API refuses."""

    def __init__(self, rng, odd):
        self.rng, self.odd, self.number = rng, odd, 0

    def is_odd(self):
        return self.rng.random() < self.odd

    def chance(self, share):
        return self.rng.random() < share

    def text(self, most=60):
        if self.is_odd():
            return self.rng.choice(BLANK + ("half \ud83d of a pair",))
        return " ".join(self.rng.choice(PHRASES) for _ in range(self.rng.randint(1, most)))

    def image(self):
        return self.rng.choice((("image/svg+xml", SVG), ("image/jpeg", PNG), ("image/png", "data:image/png;base64," + PNG))) if self.is_odd() else ("image/png", PNG)

    def id(self):
        self.number += 1
        if self.is_odd():
            return self.rng.choice((f"functions.Bash:{self.number}", "call_0", f"call|{self.number}", "x" * 90 + str(self.number), "", f"ü{self.number}"))
        return f"toolu_{self.number:04}{self.rng.randrange(16**8):08x}"

    def result(self):
        kind = self.rng.random()
        if self.is_odd():
            return self.rng.choice((None, None, "", [], [" "]))
        if kind < 0.75:
            return self.text(200)
        return [self.text(40) for _ in range(self.rng.randint(1, 2))] + ([self.image()] if kind > 0.9 else [])

    def call(self):
        name = self.rng.choice(ODD_TOOLS if self.is_odd() else TOOLS)
        given = self.rng.choice(("not JSON {", [1, 2], None)) if self.is_odd() else {"path": f"src/{self.number}.rs", "why": self.text(4), "n": 1.50, "deep": {"a": [1, None, True]}}
        id, result = self.id(), self.result()
        # The Messages API refuses an error that is not text alone.
        return Call(id, name, given, result, self.chance(0.1) and (isinstance(result, str) or self.is_odd()))

    def step(self, with_calls):
        thinking = self.text(8) if self.chance(0.4) else None
        calls = [self.call() for _ in range(self.rng.choice((1, 1, 2, 3)))] if with_calls else []
        return Step(thinking, self.text(20) if not calls or self.chance(0.5) else "", calls)

    def story(self):
        turns = []
        for _ in range(self.rng.randint(1, 6)):
            ask = [self.text(30)] + ([self.image()] if self.chance(0.1) else []) + ([("application/pdf", PDF)] if self.chance(0.05) else [])
            turns.append(Turn(ask, [self.step(True) for _ in range(self.rng.choice((0, 1, 1, 2, 3)))] + [self.step(False)]))
        if self.chance(0.2):
            # The session was stopped while its last calls were waiting.
            steps = turns[-1].steps = turns[-1].steps[:-1] or [self.step(True)]
            for call in steps[-1].calls[self.rng.randint(0, 1):]:
                call.result = None
        return turns


def signature(teller):
    return base64.b64encode(teller.rng.randbytes(48)).decode()


# The APIs


def chat_part(part):
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url = f"data:{part[0]};base64,{part[1]}"
    return {"type": "file", "file": {"filename": "a.pdf", "file_data": url}} if part[1] == PDF else {"type": "image_url", "image_url": {"url": url}}


def chat(teller, story):
    records = [{"role": teller.rng.choice(("system", "system", "developer")), "content": teller.text(10)}] if teller.chance(0.6) else []
    for turn in story:
        parts = [chat_part(part) for part in turn.ask]
        records.append({"role": "user", "content": parts if len(parts) > 1 or teller.chance(0.2) else turn.ask[0]})
        for step in turn.steps:
            records += chat_step(teller, step)
    if teller.chance(0.1):
        asks = [at for at, record in enumerate(records) if record["role"] == "user"]
        records.insert(teller.rng.choice(asks), {"role": "system", "content": teller.text(5)})
    return records


def chat_step(teller, step):
    reply = {"role": "assistant", "content": step.text or (None if step.calls else step.text)}
    if step.thinking and teller.chance(0.5):
        reply["reasoning_content"] = step.thinking
    if step.calls and teller.is_odd():
        # As Ollama has it: calls without ids, with objects as arguments.
        reply["tool_calls"] = [{"function": {"name": call.name, "arguments": call.given}} for call in step.calls]
        return [reply] + [{"role": "tool", "tool_name": call.name, "content": plain(call.result)} for call in step.calls if call.result is not None]
    if len(step.calls) == 1 and teller.chance(0.05):
        call = step.calls[0]
        reply["function_call"] = {"name": call.name, "arguments": json.dumps(call.given)}
        return [reply] + ([] if call.result is None else [{"role": "function", "name": call.name, "content": plain(call.result)}])
    is_custom = step.calls and teller.chance(0.05)
    if step.calls:
        reply["tool_calls"] = [chat_call(call, is_custom) for call in step.calls]
    elif teller.is_odd():
        reply.update(teller.rng.choice(({"tool_calls": []}, {"content": None}, {"content": None, "audio": {"id": "audio_1", "transcript": teller.text(5)}})))
    elif teller.chance(0.05):
        reply.update({"content": None, "refusal": "I cannot do that."})
    results = [{"role": "tool", "tool_call_id": call.id, "content": plain(call.result)} for call in step.calls if call.result is not None]
    if teller.chance(0.1):
        results = [{**result, "content": [{"type": "text", "text": result["content"]}]} for result in results]
    return [reply] + shuffled(teller, results)


def chat_call(call, is_custom):
    given = call.given if isinstance(call.given, str) else json.dumps(call.given)
    if is_custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": "plain text, no JSON"}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}


def plain(result):
    return result if isinstance(result, str) else "\n".join(part for part in result if isinstance(part, str))


def shuffled(teller, results):
    if teller.chance(0.2):
        teller.rng.shuffle(results)
    return results


def anthropic_part(part):
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "document" if part[1] == PDF else "image", "source": {"type": "base64", "media_type": part[0], "data": part[1]}}


def anthropic(teller, story):
    messages = []
    for turn in story:
        for message in anthropic_turn(teller, turn):
            # The API joins results and the request that follows them, so programs put both into one message.
            if messages and messages[-1]["role"] == message["role"] and teller.chance(0.7):
                messages[-1] = {"role": message["role"], "content": listed(messages[-1]["content"]) + listed(message["content"])}
            else:
                messages.append(message)
    marks = teller.rng.randint(5, 6) if teller.is_odd() else teller.rng.choice((0, 0, 1, 2, 4))
    markable = [block for message in messages if isinstance(message["content"], list) for block in message["content"] if block["type"] in ("text", "tool_use", "tool_result")]
    for block in teller.rng.sample(markable, min(marks, len(markable))):
        block["cache_control"] = {"type": "ephemeral"}
    if teller.chance(0.1):
        block = {"type": "compaction", "content": teller.text(20)}
        if teller.chance(0.5):
            # The kind that is asked for stands first and is signed.
            messages.insert(0, {"role": "assistant", "content": [{**block, "signature": signature(teller)}]})
        else:
            place = teller.rng.choice([message for message in messages if message["role"] == "assistant"])
            place["content"] = [block] + listed(place["content"])
    if teller.is_odd():
        messages.insert(0, {"role": "assistant", "content": "Hello."})
    return messages


def listed(content):
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def anthropic_turn(teller, turn):
    yield {"role": "user", "content": turn.ask[0] if len(turn.ask) == 1 and teller.chance(0.5) else [anthropic_part(part) for part in turn.ask]}
    if teller.chance(0.1):
        yield {"role": "system", "content": teller.text(5)}
    for step in turn.steps:
        content = []
        if step.thinking is not None:
            thinking = {"type": "thinking", "thinking": teller.rng.choice(("", step.thinking)), "signature": "" if teller.is_odd() else signature(teller)}
            content.append(teller.rng.choice((thinking, thinking, thinking, {"type": "redacted_thinking", "data": signature(teller)})))
        content += [{"type": "text", "text": step.text}] if step.text or not step.calls else []
        content += server_tool(teller) if teller.chance(0.1) else []
        content += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.given} for call in step.calls]
        yield {"role": "assistant", "content": content[0]["text"] if [block["type"] for block in content] == ["text"] and teller.chance(0.3) else content}
        results = [anthropic_result(call) for call in step.calls if call.result is not None]
        if results and teller.chance(0.05):
            results[0].pop("is_error", None)
            results[0]["content"] = [{"type": "search_result", "source": "https://example.org/", "title": "A page", "content": [{"type": "text", "text": "Found."}]}]
        if teller.is_odd():
            results.insert(0, {"type": "text", "text": "A word before the results."})
        if results and teller.chance(0.1) and len(results) > 1:
            yield {"role": "user", "content": results[:1]}
            results = results[1:]
        if results:
            yield {"role": "user", "content": shuffled(teller, results)}


def anthropic_result(call):
    content = call.result if isinstance(call.result, str) else [anthropic_part(part) for part in call.result]
    # The result of a failed call has only texts.
    is_text = isinstance(content, str) or all(part["type"] == "text" for part in content)
    return {"type": "tool_result", "tool_use_id": call.id, "content": content, **({"is_error": True} if call.is_error and is_text else {})}


def server_tool(teller):
    id = "srvtoolu_" + teller.id()[-8:].replace(":", "").replace("|", "")
    if teller.chance(0.3):
        call = {"type": "mcp_tool_use", "id": id, "name": "search", "server_name": "github", "input": {"q": "x"}}
        result = {"type": "mcp_tool_result", "tool_use_id": id, "is_error": False, "content": [{"type": "text", "text": teller.text(5)}]}
    else:
        call = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "rust"}}
        page = {"type": "web_search_result", "url": "https://example.org/", "title": "A page", "encrypted_content": signature(teller)}
        result = {"type": "web_search_tool_result", "tool_use_id": id, "content": [page]}
    return teller.rng.choice(([call], [result])) if teller.is_odd() else [call, result]


def responses(teller, story, is_codex=False):
    items, count = [], 0

    def message(role, parts):
        if role == "assistant":
            id = f"{'item' if teller.is_odd() else 'msg'}_{len(items):04}"
            own = {} if is_codex else {"id": id, "status": "completed"}
            return {"type": "message", "role": role, **own, "content": [{"type": "output_text", "text": parts[0], **({} if is_codex else {"annotations": []})}]}
        if not is_codex and len(parts) == 1 and teller.chance(0.4):
            return {"role": role, "content": parts[0]}
        return {"type": "message", "role": role, "content": [input_part(part) for part in parts]}

    if teller.chance(0.5):
        items.append(message("developer", [teller.text(10)]))
    for turn in story:
        if not is_codex and teller.chance(0.05):
            items.append(teller.rng.choice(({"type": "configuration_update", "reasoning": {"effort": "low"}}, {"type": "additional_tools", "role": "developer", "tools": []})))
        items.append(message("user", turn.ask))
        for step in turn.steps:
            if step.thinking is not None:
                own = {} if is_codex else {"id": f"rs_{len(items):04}"}
                items.append({"type": "reasoning", **own, "summary": [{"type": "summary_text", "text": step.thinking}], "encrypted_content": signature(teller)})
            if step.text or not step.calls:
                items.append(message("assistant", [step.text]))
            if teller.chance(0.05):
                items.append(hosted(teller, len(items), is_codex))
            outputs = []
            for call in step.calls:
                count += 1
                made, output = responses_call(teller, call, {} if is_codex else {"id": f"fc_{count:04}"})
                items.append(made)
                outputs += [] if call.result is None else [output]
            items += shuffled(teller, outputs)
        if teller.chance(0.05):
            items.append({"type": "compaction", "encrypted_content": signature(teller)})
    return items


def hosted(teller, number, is_codex):
    """Returns a call that OpenAI answers by itself."""
    found = [{"type": "web_search_call", "id": f"ws_{number:04}", "status": "completed", "action": {"type": "search", "query": "rust"}},
             {"type": "image_generation_call", "id": f"ig_{number:04}", "status": "completed", "result": PNG}]
    if not is_codex:
        found += [{"type": "mcp_call", "id": f"mcp_{number:04}", "server_label": "github", "name": "search", "arguments": "{}", "output": teller.text(5)},
                  {"type": "file_search_call", "id": f"fs_{number:04}", "status": "completed", "queries": ["rust"], "results": None},
                  {"type": "code_interpreter_call", "id": f"ci_{number:04}", "status": "completed", "code": "1 + 1", "container_id": "cntr_1", "outputs": None}]
    return teller.rng.choice(found)


def input_part(part):
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    url = f"data:{part[0]};base64,{part[1]}"
    return {"type": "input_file", "filename": "a.pdf", "file_data": url} if part[1] == PDF else {"type": "input_image", "detail": "auto", "image_url": url}


def responses_call(teller, call, own):
    output = call.result if isinstance(call.result, str) or call.result is None else [input_part(part) for part in call.result]
    if teller.chance(0.1):
        made = {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": "*** Begin Patch\n*** End Patch"}
        return made, {"type": "custom_tool_call_output", "call_id": call.id, "output": output}
    if not own and teller.chance(0.1):
        made = {"type": "local_shell_call", "id": f"lsh_{teller.number:04}{teller.rng.randrange(16**6):06x}", "call_id": call.id, "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}}
        return made, {"type": "function_call_output", "call_id": call.id, "output": output}
    given = call.given if isinstance(call.given, str) else json.dumps(call.given)
    return {"type": "function_call", **own, "call_id": call.id, "name": call.name, "arguments": given}, {"type": "function_call_output", "call_id": call.id, "output": output}


# The logs of agents


def time(second):
    return f"2026-11-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def identity(teller):
    return str(uuid.UUID(int=teller.rng.getrandbits(128), version=4))


def claude_code(teller, story):
    session, lines, parent = identity(teller), [], None

    def add(kind, above=None, **rest):
        nonlocal parent
        own = identity(teller)
        lines.append({"parentUuid": above or parent, "isSidechain": False, "userType": "external", "cwd": "/work", "sessionId": session, "version": "2.1.332",
                      "gitBranch": "main", "type": kind, **rest, "uuid": own, "timestamp": time(len(lines))})
        parent = own
        return own

    for turn in story:
        for number, message in enumerate(anthropic_turn(teller, turn)):
            if message["role"] == "user":
                callers = {block.get("id"): line["uuid"] for line in lines if line["type"] == "assistant" for block in line["message"]["content"]}
                results = [block for block in listed(message["content"]) if block["type"] == "tool_result"]
                if not results:
                    add("user", message=message)
                for result in results:
                    add("user", above=callers.get(result["tool_use_id"]), message={"role": "user", "content": [result]}, toolUseResult={"stdout": result["content"]})
                continue
            reply = {"id": f"msg_{len(lines)}", "type": "message", "role": "assistant", "model": "claude-opus-4-8", "stop_reason": None, "stop_sequence": None,
                     "usage": {"input_tokens": 3, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 9000, "output_tokens": 9}}
            for block in listed(message["content"]):
                add("assistant", message={**reply, "content": [block]}, requestId=f"req_{len(lines)}")
        if teller.chance(0.1):
            add("attachment", attachment={"type": "queued_command", "prompt": teller.text(5), "commandMode": "prompt"})
        if teller.chance(0.1):
            side = {**lines[-1], "isSidechain": True, "parentUuid": None, "type": "user", "message": {"role": "user", "content": "Look for it."}, "uuid": identity(teller)}
            lines.append(side)
        if teller.chance(0.1):
            lines.append({"type": "file-history-snapshot", "messageId": parent, "snapshot": {}, "isSnapshotUpdate": False})
        if teller.chance(0.1):
            last, parent = parent, None
            add("system", subtype="compact_boundary", logicalParentUuid=last, content="Conversation compacted", isMeta=False, level="info",
                compactMetadata={"trigger": "auto", "preTokens": 160000})
            add("user", message={"role": "user", "content": "This session is being continued. " + teller.text(20)}, isVisibleInTranscriptOnly=True, isCompactSummary=True)
    return lines


def codex(teller, story):
    is_paginated = teller.chance(0.3)
    meta = {"id": identity(teller), "timestamp": time(0), "cwd": "/work", "originator": "codex_exec", "cli_version": "0.169.0", "source": "exec", "model_provider": "openai",
            **({"history_mode": "paginated"} if is_paginated else {})}
    lines = [{"type": "session_meta", "payload": meta}]
    items = responses(teller, story, is_codex=True)
    for at, item in enumerate(items):
        if item.get("role") == "user":
            lines.append({"type": "event_msg", "payload": {"type": "task_started", "model_context_window": 272000}})
            text = " ".join(part.get("text", "") for part in item["content"])
            lines.append({"type": "event_msg", "payload": {"type": "user_message", "message": text, "kind": "plain"}})
        lines.append({"type": "response_item", "payload": item})
        if item.get("role") == "assistant" and teller.chance(0.1):
            history = [item for item in items[:at] if item.get("role") == "user"]
            encrypted = [{"type": "compaction", "encrypted_content": signature(teller)}] if teller.chance(0.5) else []
            summary = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Another language model started to solve this. " + teller.text(10)}]}
            lines.append({"type": "compacted", "payload": {"message": "" if encrypted else summary["content"][0]["text"], "replacement_history": history + (encrypted or [summary])}})
    return [{"timestamp": time(at), **({"ordinal": at} if is_paginated else {}), **line} for at, line in enumerate(lines)]


def gemini_part(part):
    return {"text": part} if isinstance(part, str) else {"inlineData": {"mimeType": part[0], "data": part[1]}}


def gemini(teller, story):
    lines = [{"sessionId": identity(teller), "projectHash": "a" * 64, "startTime": time(0), "lastUpdated": time(0), "kind": "main"}]
    log = []

    def add(kind, **rest):
        log.append({"id": identity(teller), "timestamp": time(len(lines)), "type": kind, **rest})
        lines.append(log[-1])

    for turn in story:
        add("user", content=[gemini_part(part) for part in turn.ask])
        for step in turn.steps:
            thoughts = {"thoughts": [{"subject": "Plan", "description": step.thinking, "timestamp": time(len(lines))}]} if step.thinking else {}
            calls = {"toolCalls": [gemini_call(teller, call) for call in step.calls]} if step.calls else {}
            content = step.text
            if step.calls and teller.chance(0.5):
                # Newer versions keep the calls in the content, too, the first with its signature.
                content = [{"text": step.text}] if step.text else []
                content += [{"functionCall": {"id": call.id, "name": call.name, "args": call.given}} for call in step.calls]
                content[-len(step.calls)]["thoughtSignature"] = signature(teller)
            add("gemini", content=content, **calls, **thoughts, tokens={"input": 9000, "output": 9, "cached": 0, "total": 9009}, model="gemini-3-pro")
        if teller.chance(0.1):
            summary = {"id": identity(teller), "timestamp": time(len(lines)), "type": "user", "content": [{"text": f"<state_snapshot>\n{teller.text(10)}\n</state_snapshot>"}]}
            answer = {"id": identity(teller), "timestamp": time(len(lines)), "type": "gemini", "content": [{"text": "Got it."}]}
            log = [summary, answer]
            lines.append({"$set": {"messages": log, "lastUpdated": time(len(lines))}})
    return lines


def gemini_call(teller, call):
    made = {"id": call.id, "name": call.name, "args": call.given, "status": "error" if call.is_error else "success", "timestamp": time(1)}
    if call.result is None:
        return made
    response = {"functionResponse": {"id": call.id, "name": call.name, "response": {"error" if call.is_error else "output": plain(call.result)}}}
    images = [gemini_part(part) for part in call.result if not isinstance(part, str)] if isinstance(call.result, list) else []
    return {**made, "result": [response] + images}


def pi_part(part):
    return {"type": "text", "text": part if isinstance(part, str) else "a.pdf"} if isinstance(part, str) or part[1] == PDF else {"type": "image", "mimeType": part[0], "data": part[1]}


def pi(teller, story):
    lines, parent = [{"type": "session", "version": 3, "id": identity(teller), "timestamp": time(0), "cwd": "/work"}], None

    def add(kind, **rest):
        nonlocal parent
        own = f"{teller.rng.getrandbits(32):08x}"
        lines.append({"type": kind, "id": own, "parentId": parent, "timestamp": time(len(lines)), **rest})
        parent = own
        return own

    for turn in story:
        first = add("message", message={"role": "user", "content": [pi_part(part) for part in turn.ask], "timestamp": 1793491200000})
        for step in turn.steps:
            content = [{"type": "thinking", "thinking": step.thinking, "thinkingSignature": signature(teller)}] if step.thinking is not None else []
            content += [{"type": "text", "text": step.text}] if step.text or not step.calls else []
            content += [{"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.given} for call in step.calls]
            waits = step.calls and all(call.result is None for call in step.calls)
            usage = {"input": 9000, "output": 9, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 9009, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
            add("message", message={"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-8", "usage": usage,
                                    "stopReason": "aborted" if waits and teller.chance(0.5) else "toolUse" if step.calls else "stop", "timestamp": 1793491200000})
            for call in shuffled(teller, [call for call in step.calls if call.result is not None]):
                result = [call.result] if isinstance(call.result, str) else call.result
                add("message", message={"role": "toolResult", "toolCallId": call.id, "toolName": call.name, "content": [pi_part(part) for part in result],
                                        "isError": call.is_error, "timestamp": 1793491200000})
        if teller.chance(0.1):
            add("message", message={"role": "bashExecution", "command": "ls", "output": teller.text(20), "exitCode": 0, "cancelled": False, "truncated": False, "timestamp": 1793491200000})
            add("custom_message", customType="note", content=teller.text(5), display=True)
        if teller.chance(0.1):
            add("compaction", summary=teller.text(10), firstKeptEntryId=first, tokensBefore=160000)
    return lines


WRITERS = {"chat": chat, "anthropic": anthropic, "responses": responses, "claude-code": claude_code, "codex": codex, "gemini": gemini, "pi": pi}


# Damages


def damaged_records(rng, records):
    """Loses, doubles or exchanges whole records, as programs do that crash or merge histories."""
    at, other = (rng.randrange(len(records)) for _ in range(2))
    how = rng.choice(("lose", "double", "exchange", "lose"))
    if how == "lose" and len(records) > 2:
        del records[at]
    elif how == "double":
        records.insert(at, records[at])
    else:
        records[at], records[other] = records[other], records[at]
    return records


def damaged_bytes(rng, data):
    lines = data.split(b"\n")[:-1]
    at = rng.randrange(len(lines))
    how = rng.choice(("cut", "flip", "join", "tear", "bom", "nul", "blank"))
    if how == "cut":
        return data[:rng.randrange(len(data) // 2, len(data))]
    if how == "flip":
        place = rng.randrange(len(data))
        return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1:]
    if how == "join":
        return data[:-1].replace(b"\n", b"", 1) + b"\n"
    changed = {"tear": lines[at][:len(lines[at]) // 2], "bom": b"\xef\xbb\xbf" + lines[at], "nul": b"\0" * 16 + lines[at], "blank": b"\n" + lines[at]}[how]
    return b"\n".join(lines[:at] + [changed] + lines[at + 1:]) + b"\n"


def session(number, seed=0):
    """Returns a made-up session: its format, whether it was meant to be legal, and its bytes."""
    rng = random.Random(f"{seed}/{number}")
    form = FORMATS[number % len(FORMATS)]
    level = rng.choices(("legal", "odd", "damaged"), (4, 4, 2))[0]
    teller = Teller(rng, {"legal": 0, "odd": rng.choice((0.02, 0.1)), "damaged": 0.005}[level])
    records = WRITERS[form](teller, teller.story())
    if level == "damaged" and rng.random() < 0.6:
        records = damaged_records(rng, records)
    data = b"".join(json.dumps(record, ensure_ascii=rng.random() < 0.3 or not is_utf8(record), separators=(",", ":")).encode() + b"\n" for record in records)
    if level == "damaged" and rng.random() < 0.6:
        data = damaged_bytes(rng, data)
    return form, level == "legal", data


def is_utf8(record):
    try:
        json.dumps(record, ensure_ascii=False).encode()
        return True
    except UnicodeEncodeError:
        return False
