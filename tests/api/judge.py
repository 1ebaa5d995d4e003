"""Holds sessions against the request types of the vendors' own SDKs, and against `rules.py`.

The types know the kinds, required members and enums of messages and blocks. They know nothing of ids, order, pairs and empty
texts; the rules do.
"""

import collections
import inspect
import json
import re
import sys
import typing

# The SDKs declare content as Iterable, which pydantic checks only while somebody walks through it.
typing.Iterable = typing.List

import anthropic.types.beta  # noqa: E402
import openai.types.chat  # noqa: E402
import openai.types.responses  # noqa: E402
from google.genai import types as google  # noqa: E402
from pydantic import ConfigDict, TypeAdapter, ValidationError  # noqa: E402
from typing_extensions import is_typeddict  # noqa: E402

import rules  # noqa: E402

APIS = ("chat", "anthropic", "responses")
LOGS = ("claude-code", "codex", "gemini", "pi")
# What a message has; programs store more beside it.
MEMBERS = {"chat": {"role", "content", "name", "refusal", "audio", "tool_calls", "tool_call_id", "function_call"}, "anthropic": {"role", "content"}}


def forbid_unknown_members():
    """Makes the types refuse unknown members, as the APIs do."""
    block = anthropic.types.beta.BetaContentBlockParam
    # Blocks of an answer can be handed back as objects of the SDK. These objects take any member.
    content = str | list[typing.Union[tuple(kind for kind in typing.get_args(block) if is_typeddict(kind))]]
    for name, module in list(sys.modules.items()):
        if name.startswith(("anthropic.types", "openai.types")):
            for name, found in list(vars(module).items()):
                if name == "BetaMessageContentParam":
                    setattr(module, name, content)
                elif inspect.isclass(found) and is_typeddict(found):
                    found.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


forbid_unknown_members()
ANTHROPIC = TypeAdapter(anthropic.types.beta.BetaMessageParam)
CHAT = TypeAdapter(openai.types.chat.ChatCompletionMessageParam)
RESPONSES = TypeAdapter(openai.types.responses.ResponseInputItemParam)
GEMINI = TypeAdapter(google.Content)


def refusals(dialect, data, strict=False):
    """Returns what an API would refuse in the bytes of a session, as a Counter of kinds.

    With `strict`, all members of a message are judged; else only those that programs send.
    """
    found = collections.Counter()
    adapter, values, check = requests(dialect, data, strict)
    for value in values:
        try:
            if adapter and not (dialect == "chat" and not strict and is_ollama(value)):
                # Reasoning has an id only if the server has stored it: a made-up one would be worse.
                may_lack = not strict or value.get("type") == "reasoning"
                adapter.validate_python(filled(value) if dialect == "responses" and may_lack else value)
        except ValidationError as error:
            found.update(f"type: {text}" for text in told(error.errors()))
        # The clients of Claude Code and pi send U+FFFD instead, and nothing is known of the Gemini API.
        if dialect in (*APIS, "codex") and not is_utf8(value):
            found["rule: lone surrogate"] += 1
    found.update(f"rule: {text}" for text in check(values))
    if strict:
        # OpenAI is lenient here, the servers that speak its language are not.
        found["rule: C9 arguments are not a JSON object"] += sum(not rules.is_json_object(given) for given in arguments(dialect, values))
    elif dialect == "chat":
        # Those servers accept other names, and who wrote the session may use one.
        del found["rule: C10 name of a function must match the pattern"]
    return +found


def parted(dialect, before, after):
    """Returns the refusals that only both sessions together show, as a Counter of kinds."""
    found = rules.parted(records_of(before), records_of(after)) if dialect == "responses" else []
    return collections.Counter(f"rule: {text}" for text in found)


def arguments(dialect, values):
    if dialect == "chat":
        calls = [call.get("function") for value in values for call in value.get("tool_calls") or [] if isinstance(call, dict)]
        return [call.get("arguments") for call in calls if isinstance(call, dict)]
    return [value.get("arguments") for value in values if dialect in ("responses", "codex") and value.get("type") == "function_call"]


def requests(dialect, data, strict=False):
    """Returns the type of what would be sent of a session, the values, and the rules for them."""
    records = records_of(data)
    if dialect in APIS:
        if len(records) == 1 and isinstance(records[0].get("messages"), list):
            records = [message for message in records[0]["messages"] if isinstance(message, dict)]
        values = records if strict else [sent(dialect, record) for record in records]
        adapter = {"chat": CHAT, "anthropic": ANTHROPIC, "responses": RESPONSES}[dialect]
        return adapter, values, {"chat": rules.chat, "anthropic": rules.anthropic, "responses": rules.responses}[dialect]
    if dialect == "claude-code":
        return ANTHROPIC, [sent("anthropic", message) for message in claude_code_messages(records)], rules.claude_code
    if dialect == "codex":
        return RESPONSES, list(codex_items(records)), rules.codex
    if dialect == "gemini":
        return GEMINI, gemini_contents(records), rules.gemini
    # pi turns its messages into those of an API by itself, and no SDK has a type for its own.
    return None, pi_messages(records), rules.pi


def claude_code_messages(records):
    """Returns the messages after the last compaction, and those before it that it keeps.

    Which branch is sent does not matter here, as the client repairs pairs, ids that occur twice and blank texts.
    """
    begin = max((at for at, record in enumerate(records) if record.get("subtype") == "compact_boundary"), default=-1)
    kept = json.dumps(records[begin].get("compactMetadata")) if begin >= 0 else ""
    sent = [record for at, record in enumerate(records) if at > begin or f'"{record.get("uuid")}"' in kept]
    return [record["message"] for record in sent if record.get("type") in ("user", "assistant") and isinstance(record.get("message"), dict)]


def sent(dialect, record):
    """Returns what a program sends of a record."""
    if isinstance(record.get("audio"), dict):
        record = {**record, "audio": {"id": record["audio"].get("id")}}
    keys = MEMBERS.get(dialect, set(record)) - ({"name"} if record.get("role") == "tool" else set())
    return {key: value for key, value in record.items() if key in keys}


def is_ollama(message):
    """Returns whether a message is one for Ollama's own API: calls and results have no ids there."""
    calls = message.get("tool_calls") if isinstance(message.get("tool_calls"), list) else []
    return any(isinstance(call, dict) and "id" not in call for call in calls) or message.get("role") == "tool" and "tool_call_id" not in message


# What Codex leaves out of its logs.
OF_ITEM = {
    "reasoning": {"id": "rs_0"}, "web_search_call": {"id": "ws_0"}, "local_shell_call": {"id": "lsh_0"}, "message": {"id": "msg_0", "status": "completed"},
}
OF_PART = {"output_text": {"annotations": []}, "input_image": {"detail": "auto"}}
# The SDK does not know what agents say to each other, which Codex sends as it is.
NOT_JUDGED = ("ghost_snapshot", "other", "context_compaction", "agent_message")


def filled(item):
    """Returns an item with what the type demands and the API does not: Codex sends items without."""
    kind = item.get("type")
    if kind != "message" or item.get("role") == "assistant" and isinstance(item.get("content"), list):
        item = {**OF_ITEM.get(kind, {}), **item}
    for key in ("content", "output"):
        if isinstance(item.get(key), list):
            item = {**item, key: [{**OF_PART.get(part.get("type"), {}), **part} if isinstance(part, dict) else part for part in item[key]]}
    return item


def codex_items(records):
    """Yields the items that Codex sends: the last compaction with a history replaces the items before it."""
    history = []
    for record in records:
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        if record.get("type") == "response_item":
            history.append(payload)
        elif record.get("type") == "compacted" and isinstance(payload.get("replacement_history"), list):
            history = [item for item in payload["replacement_history"] if isinstance(item, dict)]
    for item in history:
        if item.get("type") == "compaction_summary":
            item = {**item, "type": "compaction"}
        # Codex does not load a compaction without its content.
        if item.get("type") in NOT_JUDGED or item.get("type") == "compaction" and not isinstance(item.get("encrypted_content"), str):
            continue
        item = filled({key: value for key, value in item.items() if value is not None or key != "id"})
        if item.get("type") == "custom_tool_call":
            # Codex sends what the API's own items have, and the API takes it.
            item = {key: item[key] for key in item if key != "status"}
        if item.get("type") == "local_shell_call" and isinstance(item.get("action"), dict):
            item = {**item, "action": {"env": {}, **{key: value for key, value in item["action"].items() if value is not None}}}
        yield {key: value for key, value in item.items() if value is not None or key not in ("id", "content", "status", "encrypted_content")}


def gemini_contents(records):
    """Returns the contents that the Gemini CLI sends: a later record with a known id replaces the earlier one.

    The client sends no message without content, no empty text of the user, and no reply with an empty part.
    """
    messages = {}
    for record in records:
        update = record.get("$set")
        new = update.get("messages") if isinstance(update, dict) else record.get("messages")
        if isinstance(new, list):
            messages = {message.get("id"): message for message in new if isinstance(message, dict)}
        elif "$rewindTo" in record:
            ids = list(messages)
            at = ids.index(record["$rewindTo"]) if record["$rewindTo"] in messages else 0
            messages = {id: messages[id] for id in ids[:at]}
        elif "type" in record and "content" in record:
            messages[record.get("id")] = record
    contents = []
    for message in sent_by_gemini_cli(list(messages.values())):
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) and content else content if isinstance(content, list) else []
        # A signature is opaque, whatever the type says of it.
        parts = [{key: part[key] for key in part if key != "thoughtSignature"} if isinstance(part, dict) else {"text": part} for part in parts]
        calls = [call for call in message.get("toolCalls") or [] if isinstance(call, dict)]
        if message.get("type") == "user":
            parts = [part for part in parts if part.get("text") != ""]
            contents += [{"role": "user", "parts": parts}] if any(parts) else []
        elif message.get("type") == "gemini" and (parts or calls) and not any(part in ({}, {"text": ""}) for part in parts):
            # Newer versions keep a call in the content as well, with its signature.
            made = [part["functionCall"].get("id") for part in parts if isinstance(part.get("functionCall"), dict)]
            more = [{key: call[key] for key in ("id", "name", "args") if key in call} for call in calls if call.get("id") not in made]
            contents.append({"role": "model", "parts": parts + [{"functionCall": call} for call in more]})
            results = [part for call in calls for part in call.get("result") or [] if isinstance(part, dict)]
            if results:
                contents.append({"role": "user", "parts": results})
    return contents


def sent_by_gemini_cli(messages):
    """Returns the messages without those that the client leaves out: blank ones of the user, and a run of replies one of which has an empty part."""
    kept, run, is_void = [], [], False
    for message in [*messages, {"type": "user", "content": ""}]:
        content = message.get("content")
        if message.get("type") == "gemini":
            run.append(message)
            is_void |= isinstance(content, list) and any(part in ({}, {"text": ""}, "") for part in content)
        if message.get("type") == "user" or any(call.get("result") for call in message.get("toolCalls") or [] if isinstance(call, dict)):
            kept += [] if is_void else run
            run, is_void = [], False
        if message.get("type") == "user" and any(set(part) - {"text"} or part["text"].strip() for part in map(as_part, content if isinstance(content, list) else [content])):
            kept.append(message)
    return kept


def as_part(part):
    return part if isinstance(part, dict) and part else {"text": str(part or "")}


def pi_messages(records):
    """Returns the messages on the path to the last entry, from where the last compaction on it lets them begin."""
    if not records or records[0].get("type") != "session":
        return []
    if not any("id" in record and "parentId" in record for record in records[1:]):
        path = records
    else:
        entries = {record["id"]: record for record in records[1:] if isinstance(record.get("id"), str)}
        path, at = [], records[-1].get("id")
        while at in entries and len(path) <= len(entries):
            path.append(entries[at])
            at = entries[at].get("parentId")
        path.reverse()
    ends = [at for at, entry in enumerate(path) if entry.get("type") == "compaction"]
    if ends:
        kept = path[ends[-1]].get("firstKeptEntryId")
        begin = next((at for at, entry in enumerate(path) if entry.get("id") == kept and kept), ends[-1])
        index = path[ends[-1]].get("firstKeptEntryIndex")
        path = path[index if isinstance(index, int) else begin:]
    return [entry["message"] for entry in path if entry.get("type") == "message" and isinstance(entry.get("message"), dict)]


def told(errors):
    """Returns the errors as texts; of the alternatives of a union only those of the one that was meant."""
    root = Node()
    for error in errors:
        node = root
        for step in map(str, error["loc"]):
            node = node.children[step]
        node.errors.append(error)
    return {f"{place(item['loc'])}: {item['msg'][:100]}" for item in root.meant()[1]}


class Node:
    """A place in a message, or an alternative of a union, with the errors there and below."""

    def __init__(self):
        self.errors, self.children = [], collections.defaultdict(Node)

    def meant(self):
        """Returns a cost and the errors: the fewer kinds and shapes are wrong, the more an alternative was meant."""
        found = [(sum(map(mismatch, self.errors)), self.errors)]
        found += [child.meant() for step, child in self.children.items() if not is_choice(step)]
        choices = [child.meant() for step, child in self.children.items() if is_choice(step)]
        found += [min(choices, key=lambda one: (one[0], len(one[1])))] if choices else []
        return sum(cost for cost, _ in found), [error for _, errors in found for error in errors]


def mismatch(error):
    """Returns how much an error says that another alternative was meant: another shape of JSON, or another kind."""
    if is_choice(str(error["loc"][-1])):
        return 3
    weight = {"role": 2, "type": 1}.get(error["loc"][-1], 0)
    return weight if error["type"] in ("literal_error", "missing") else 0


def is_choice(step):
    return step[:1].isupper() or "[" in step or step == "str" or step.startswith("tagged-union")


def place(loc):
    return ".".join(step for step in map(str, loc) if not is_choice(step) and not step.isdigit())


def is_utf8(value):
    try:
        json.dumps(value, ensure_ascii=False).encode()
        return True
    except UnicodeEncodeError:
        return False


def records_of(data):
    """Returns the JSON objects of a file: its lines, or one document or list."""
    text = re.sub("^\ufeff", "", data.decode("utf-8", "replace"))
    try:
        whole = json.loads(text)
        return [record for record in (whole if isinstance(whole, list) else [whole]) if isinstance(record, dict)]
    except ValueError:
        pass
    records = []
    for line in text.split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def bytes_of(records):
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)
