#!/usr/bin/env python3
"""sick.py BIN FILE...: checks that the tools read the logs of agents correctly, whole and damaged.

BIN is the folder of the tools, and each FILE is a session as its agent wrote it. This script detects the dialect of the lines with
its own rules, not with those of the tools. For each file it checks that the tools find the same dialect, that ctx-split and
ctx-split --strip give back the same bytes, and that ctx-check names exactly the calls that have no result on the path from which
the session continues. Then it checks damaged copies in the same way: cut at random bytes, without a line end, with NUL bytes. It
also repairs the copies, and checks that a second repair finds nothing to do.

  --cuts N    number of damaged copies of each file [default: 20]
  --seed N    seed of the random choice of damage [default: 1]

Prints the checks that fail and a line of figures. The exit status is 0 if no check failed.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile


def objects(text):
    """Returns the complete lines of a log, or the messages of a document."""
    try:
        whole = json.loads(text)
        return [whole, *whole.get("messages", [])] if isinstance(whole, dict) else whole
    except ValueError:
        pass
    found = []
    for line in text.split("\n"):
        try:
            value, _ = json.JSONDecoder().raw_decode(line.strip())
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def dialect_of(records):
    for record in records:
        kind = record.get("type")
        if kind == "session" or (kind in ("message", "compaction") and "parentId" in record):
            return "pi"
        if isinstance(record.get("payload"), dict):
            return "codex"
        if "parentUuid" in record or kind in ("summary", "file-history-snapshot", "queue-operation"):
            return "claude-code"
        if "projectHash" in record or kind == "gemini" or "$set" in record:
            return "gemini"
    return None


def path_of(records, own, parent):
    """Returns the records of the path from the root to the last record."""
    ids = {record[own]: record for record in records if own in record}
    at, seen, path = records[-1] if records else None, set(), []
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        path.append(at)
        at = ids.get(at.get(parent))
    return path[::-1]


def blocks(message):
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def unanswered_of_claude(records):
    lines = [record for record in records if record.get("uuid") and not record.get("isSidechain")]
    tree = [record for record in lines if record["type"] in ("user", "assistant", "attachment", "system", "progress")]
    if not tree:
        return set()
    said = [record for record in tree if record["type"] in ("user", "assistant")]
    end = said[-1:]
    path = path_of(tree[: tree.index(end[0]) + 1], "uuid", "parentUuid") if end else []
    cuts = [at for at, record in enumerate(path) if record.get("subtype") == "compact_boundary"]
    path = path[cuts[-1] + 1 if cuts else 0:]
    replies = {record["message"].get("id") for record in path if record["type"] == "assistant"}
    # Blocks of one reply belong to the path even if they are on a side branch, and so do their results.
    calls, results = [], set()
    for record in said:
        for block in blocks(record["message"]):
            if block.get("type") == "tool_use" and record["message"].get("id") in replies:
                calls.append(block["id"])
            if block.get("type") == "tool_result":
                results.add(block["tool_use_id"])
    return {call for call in calls if call not in results}


def unanswered_of_pi(records):
    entries = [record for record in records if record.get("type") != "session"]
    path = path_of(entries, "id", "parentId") if any("parentId" in entry for entry in entries) else entries
    cuts = [at for at, entry in enumerate(path) if entry.get("type") == "compaction"]
    if cuts:
        kept = path[cuts[-1]].get("firstKeptEntryId")
        first = next((at for at, entry in enumerate(path) if kept and entry.get("id") == kept), None)
        if first is None and isinstance(path[cuts[-1]].get("firstKeptEntryIndex"), int):
            first = path[cuts[-1]]["firstKeptEntryIndex"] - 1
        path = path[first if first is not None else cuts[-1]:]
    messages = [entry["message"] for entry in path if entry.get("type") == "message"]
    results = {message.get("toolCallId") for message in messages if message["role"] == "toolResult"}
    sent = [m for m in messages if m["role"] == "assistant" and m.get("stopReason") not in ("aborted", "error")]
    calls = [block["id"] for message in sent for block in blocks(message) if block.get("type") == "toolCall"]
    return {call for call in calls if call not in results}


def unanswered_of_codex(records):
    items = [record["payload"] for record in records if record.get("type") == "response_item"]
    cuts = [at for at, record in enumerate(records) if record.get("type") == "compacted"]
    if cuts:
        behind = records[cuts[-1] + 1:]
        items = records[cuts[-1]]["payload"].get("replacement_history") or []
        items = items + [record["payload"] for record in behind if record.get("type") == "response_item"]
    results = {item.get("call_id") for item in items if str(item.get("type")).endswith("_output")}
    calls = [item["call_id"] for item in items if str(item.get("type")).endswith("_call") and "call_id" in item]
    return {call for call in calls if call not in results}


def unanswered_of_gemini(records):
    messages = {}
    for record in records:
        listed = record.get("$set", {}).get("messages") if isinstance(record.get("$set"), dict) else None
        if listed is not None:
            messages = {}
        for message in listed or [record]:
            if "id" in message and message.get("type") in ("user", "gemini"):
                messages[message["id"]] = message
    found, answered = [], set()
    for message in messages.values():
        for call in message.get("toolCalls", []):
            if not call.get("result"):
                found.append(call["id"])
        answered |= {block["functionResponse"].get("id") for block in blocks(message) if "functionResponse" in block}
    return {call for call in found if call not in answered}


UNANSWERED = {
    "claude-code": unanswered_of_claude,
    "codex": unanswered_of_codex,
    "gemini": unanswered_of_gemini,
    "pi": unanswered_of_pi,
}


def run(binary, *args, data=None):
    done = subprocess.run([binary, *args], input=data, capture_output=True)
    if done.returncode not in (0, 1, 2):
        sys.exit(f"{binary} {args}: status {done.returncode}: {done.stderr.decode()[-300:]}")
    return done


class Counts(dict):
    def add(self, what, is_right, why=""):
        right, all_ = self.get(what, (0, 0))
        self[what] = (right + bool(is_right), all_ + 1)
        if not is_right:
            print(f"{what}: {why}")


def identical(tools, path, is_document):
    """Returns True if the tools give back the same bytes; a document is given back as lines."""
    with open(path, "rb") as file:
        tagged = run(tools / "ctx-split", "-q", data=file.read())
    stripped = run(tools / "ctx-split", "-q", "--strip", data=tagged.stdout)
    if is_document:
        return tagged.returncode == 0 and stripped.returncode == 0
    return stripped.stdout == pathlib.Path(path).read_bytes()


def checked(tools, path):
    # The last line is complete in all files, so --strict also counts calls that still wait for a result.
    done = run(tools / "ctx-check", "--json", "--all", "--strict", "-q", "-o", "/dev/stdout", path)
    return json.loads(done.stdout or b"{}")


def damaged(data, rnd):
    kind = rnd.choice(("cut", "run", "nul"))
    at = rnd.randrange(len(data) + 1)
    if kind == "cut":
        return kind, data[:at]
    if kind == "nul":
        return kind, data[:at] + b"\0" * rnd.randrange(1, 4000) + data[at:]
    ends = [place for place, byte in enumerate(data) if byte == 10]
    end = rnd.choice(ends) if ends else len(data)
    return kind, data[:end] + data[end + 1:]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rnd, counts = random.Random(args.seed), Counts()
    with tempfile.TemporaryDirectory() as folder:
        for path in args.files:
            data = path.read_bytes()
            text = data.decode(errors="replace")
            records = objects(text)
            is_document = text.lstrip().startswith("{") and "\n" in text.strip() and path.suffix == ".json"
            wanted = dialect_of(records)
            report = checked(args.bin, path)
            counts.add("dialect", report.get("dialect") == wanted, f"{path}: {report.get('dialect')} for {wanted}")
            counts.add("identity", identical(args.bin, path, is_document), path)
            said = {it["id"] for it in report.get("findings", []) if it["rule"] == "unanswered-call"}
            true = UNANSWERED[wanted](records)
            counts.add("unanswered calls", said == true, f"{path}: {said} for {true}")
            for _ in range(args.cuts):
                kind, bytes_ = damaged(data, rnd)
                copy, repaired = pathlib.Path(folder, "copy.jsonl"), pathlib.Path(folder, "repaired.jsonl")
                copy.write_bytes(bytes_)
                where = f"{path}: {kind}, {len(bytes_)} bytes"
                if is_document:
                    run(args.bin / "ctx-check", "-q", copy)
                    continue
                report = checked(args.bin, copy)
                # If only the first line is left, it may be incomplete.
                known = dialect_of(objects(bytes_.decode(errors="replace")))
                counts.add(f"dialect, {kind}", report.get("dialect") == known, f"{where}: {report.get('dialect')} for {known}")
                counts.add(f"identity, {kind}", identical(args.bin, copy, False), where)
                done = run(args.bin / "ctx-check", "--repair", "-q", "-o", repaired, copy)
                if done.returncode == 0 and known:
                    again = run(args.bin / "ctx-check", "--repair", repaired)
                    is_done = again.stdout == repaired.read_bytes() and not again.stderr.count(b" split ")
                    counts.add(f"repaired once, {kind}", is_done, f"{where}: {again.stderr.decode()[:200]}")
    print(", ".join(f"{what} {right} of {all_}" for what, (right, all_) in counts.items()))
    sys.exit(any(right < all_ for right, all_ in counts.values()))


if __name__ == "__main__":
    main()
