#!/usr/bin/env python3
"""Compares ctx-memory search with other ways to find a message again, in one run on the same sessions.

    CTX_TRANSCRIPTS=~/sessions/claude-code benches/retrieval.py recall
    CTX_TRANSCRIPTS=~/sessions/claude-code benches/retrieval.py recall --list      # each query and each engine's rank
    CTX_TRANSCRIPTS=~/sessions/claude-code benches/retrieval.py speed

The sessions are whole files of Claude Code (*.jsonl in the folder). A document is a message: a record with its texts,
reasoning, calls with their arguments, and results. There are three kinds of query. Rules make them, so they are the same in
every run:

value     an argument of a tool call in the second half of a session: the whole string if it is one line of 3 to 60
          characters, otherwise its words of 6 to 60 characters that look like a name (a digit, a joint, a capital inside)
line      a line of such an argument, without blanks at its ends: 20 to 160 characters, three words or more
words     five words of one message of the first half, in another order, and two words of another session; the answer is the message

A value or a line must occur in an earlier message; the answer is the first message that has it, letter by letter.

Strings that occur in more than a quarter of the messages of a session are left out. At most PER queries of each kind are taken
from a session, spread evenly. "Within the session" means that the name of the session is a filter. "Over all" has no filter;
there the answer to a value is the earliest message of all sessions, by its timestamp. The sessions belong to set A and set B in
turn. The ranking was developed with set A only.

The engines are ours; substring (ripgrep: messages that have the whole string, or any of its words, the most occurrences first,
then in the order of the files); SQLite's FTS5 (BM25) with unicode61 and with trigrams, each with the string as a phrase and with
any of its words; and `cv search`, if CV names clustervision's binary, with the string as a phrase, and if that finds nothing
with any of its words. `cv search` returns sessions with a snippet of each, so a snippet counts as the message that has it. For
this comparison a table shows whether each engine finds the session; of the other engines the first 100 messages count. CTX_BIN
names the folder of our tools (default: target/release).

`speed` puts COPIES of each session into one home and one store, and measures the first index and five queries as whole
processes; the commands take turns, and the median counts. ctx-memory makes its index during the first search, which also
answers a query.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # No cache folders in the repository.
from ls import clock, peak

BIN = pathlib.Path(os.environ.get("CTX_BIN", "target/release"))
CV = os.environ.get("CV")
BEST = 10
Message = collections.namedtuple("Message", "session line time text")
Query = collections.namedtuple("Query", "kind set session text answers holders")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = {"recall": recall, "speed": speed}
    parser.add_argument("command", choices=commands)
    parser.add_argument("--per", type=int, default=40, help="at most so many queries of a kind and a session")
    parser.add_argument("--list", action="store_true", help="print each query instead of the tables")
    parser.add_argument("--only", choices=["A", "B"], help="only the sessions of one set")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--copies", type=int, default=2, help="speed: so many copies of each session")
    args = parser.parse_args()
    folder = os.environ.get("CTX_TRANSCRIPTS") or sys.exit("CTX_TRANSCRIPTS names no folder")
    args.files = sorted(pathlib.Path(folder).glob("*.jsonl"))
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as place:
        commands[args.command](args, pathlib.Path(place))


# --- the messages of a session -----------------------------------------------------


def messages(path):
    found = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        texts, when = [], ""
        for record in objects(line.decode(errors="replace")):
            if record.get("type") in ("user", "assistant"):
                texts += parts(record["message"]["content"])
                when = when or record.get("timestamp", "")
        if any(text.strip() for text in texts):
            found.append(Message(path.stem, number, when, "\n".join(texts)))
    return found


def objects(line):
    """Returns the JSON objects of a line; a few lines have two."""
    at = 0
    while line[at:].strip():
        at += len(line[at:]) - len(line[at:].lstrip())
        try:
            value, at = json.JSONDecoder().raw_decode(line, at)
        except ValueError:
            return
        if isinstance(value, dict):
            yield value


def parts(content):
    if isinstance(content, str):
        return [content]
    texts = []
    for part in content:
        match part.get("type"):
            case "text":
                texts.append(part["text"])
            case "thinking":
                texts.append(part["thinking"])
            case "tool_use":
                texts += [part["name"], *strings(part["input"], True)]
            case "tool_result":
                texts += parts(part.get("content") or [])
    return texts


def strings(value, with_keys=False):
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                if with_keys:
                    yield key
                yield from strings(inner, with_keys)
        case list():
            for inner in value:
                yield from strings(inner, with_keys)
        case bool() | None:
            pass
        case _:
            if with_keys:
                yield str(value)


def calls(path):
    """Yields the line and the arguments of each tool call."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        for record in objects(line.decode(errors="replace")):
            content = record.get("type") == "assistant" and record["message"]["content"]
            for part in content if isinstance(content, list) else []:
                if part.get("type") == "tool_use":
                    yield number, list(strings(part["input"]))


# --- the queries ------------------------------------------------------------------------

NAME = re.compile(r"[\w./@~+:#-]+")
TELLS = re.compile(r"[\d./_:#-]|[a-z][A-Z]")
WORD = re.compile(r"[^\W\d_]+")


def values(arguments):
    for text in arguments:
        if "\n" not in text and 3 <= len(text) <= 60:
            yield text
            continue
        for name in NAME.findall(text):
            name = name.strip(".:#-")
            if 6 <= len(name) <= 60 and TELLS.search(name):
                yield name


def lines(arguments):
    for text in arguments:
        for line in map(str.strip, text.splitlines()):
            if 20 <= len(line) <= 160 and len(line.split()) >= 3:
                yield line


def long_words(message):
    return {word for word in WORD.findall(message.text) if 4 <= len(word) <= 20}


def queries(args, sessions):
    """Returns all queries, each with its answers within the session and over all sessions."""
    everything = [message for of in sessions.values() for message in of]
    in_time = sorted(everything, key=lambda message: (message.time, message.session, message.line))
    for number, path in enumerate(args.files):
        side = "AB"[number % 2]
        if args.only in (None, side):
            own = sessions[path.stem]
            for kind, strings_of in (("value", values), ("line", lines)):
                for text, first, holders in spread(held_before(path, own, strings_of), args.per):
                    over_all = next(message for message in in_time if text in message.text)
                    yield Query(kind, side, path.stem, text, (where(first), where(over_all)), holders)
            others = sessions[args.files[number - 1].stem]
            for text, message in word_queries(path, own, others, args.per):
                yield Query("words", side, path.stem, text, (where(message),) * 2, 1)


def where(message):
    return message.session, message.line


def spread(found, most):
    return [found[number * len(found) // most] for number in range(most)] if len(found) > most else found


def held_before(path, own, strings_of):
    """Yields the strings of calls in the second half, each with the first message that has it and the number of such messages."""
    found, seen = [], set()
    half = own[len(own) // 2].line
    for line, arguments in calls(path):
        for text in strings_of(arguments) if line >= half else ():
            if text in seen or not text.strip():
                continue
            seen.add(text)
            holders = [message for message in own if text in message.text]
            if holders and holders[0].line < line and len(holders) * 4 <= len(own):
                found.append((text, holders[0], len(holders)))
    return found


def word_queries(path, own, others, most):
    rng = random.Random(path.stem)
    count = collections.Counter(word for message in own for word in long_words(message))
    # Of messages with equal texts the first one counts.
    first = {message.text: message for message in reversed(own)}
    noise = sorted(set().union(*map(long_words, others[:200])))
    found = []
    for message in spread([message for message in own[: len(own) // 2] if first[message.text] is message], most):
        words = sorted(word for word in long_words(message) if count[word] * 10 <= len(own))
        if len(words) >= 8 and noise:
            chosen = rng.sample(words, 5) + rng.sample(noise, 2)
            rng.shuffle(chosen)
            found.append((" ".join(chosen), message))
    return found


# --- the engines: from a query, and a session or None, to the ten best places ------------------------


class Ours:
    name = "`ctx-memory search`"

    def __init__(self, args, place, _sessions):
        self.store = place / "store"
        for file in args.files:
            tool("ctx-snapshot", "-q", "--store", self.store, "-s", file.stem, file)
        self.find("x", None)

    def find(self, text, session, most=BEST):
        only = ["-s", session] if session else []
        done = tool("ctx-memory", "search", "--store", self.store, *only, "--limit", str(most), "--", text, codes=(0, 1))
        hits = [json.loads(line) for line in done.splitlines()]
        return [(hit["session"], hit["line"]) for hit in hits]


def tool(name, *args, codes=(0,)):
    done = subprocess.run([BIN / name, *args], capture_output=True)
    if done.returncode not in codes:
        sys.exit(f"failed: {name} {args}\n{done.stderr.decode()}")
    return done.stdout


class Substring:
    name = "substring, most occurrences first"

    def __init__(self, _args, _place, sessions):
        self.sessions = sessions

    def find(self, text, session, most=BEST):
        those = [session] if session else self.sessions
        counted = [(-self.count(text, message.text), where(message)) for name in those for message in self.sessions[name]]
        return [place for count, place in sorted(counted) if count][:most]

    def count(self, text, where):
        return where.count(text)


class AnyWord(Substring):
    """Counts the lines that `rg -c -e WORD -e WORD` counts."""

    name = "substring, any word, most occurrences first"

    def count(self, text, where):
        return sum(map(where.count, set(text.split())))


class Sqlite:
    tokenizer = "unicode61"

    def __init__(self, _args, _place, sessions):
        self.db = sqlite3.connect(":memory:")
        self.db.execute(f"create virtual table m using fts5(text, session unindexed, line unindexed, tokenize='{self.tokenizer}')")
        for of in sessions.values():
            self.db.executemany("insert into m values (?, ?, ?)", ((m.text, m.session, m.line) for m in of))

    def match(self, text):
        return quoted(text)

    def find(self, text, session, most=BEST):
        only = "and session = ?" if session else ""
        sql = f"select session, line from m where m match ? {only} order by rank, rowid limit {most}"
        match = self.match(text)
        return self.db.execute(sql, [match, session] if session else [match]).fetchall() if match else []


def quoted(text):
    return '"' + text.replace('"', '""').replace("\0", "") + '"'


class SqliteWords(Sqlite):
    name = "FTS5, unicode61, any word"

    def match(self, text):
        return " OR ".join(map(quoted, re.findall(r"[^\W_]+", text)))


class SqlitePhrase(Sqlite):
    name = "FTS5, unicode61, phrase"


class SqliteTrigrams(Sqlite):
    name, tokenizer = "FTS5, trigram, phrase", "trigram"


class SqliteTrigramWords(Sqlite):
    name, tokenizer = "FTS5, trigram, any word", "trigram"

    def match(self, text):
        return " OR ".join(quoted(word) for word in text.split() if len(word) >= 3)


class Cv:
    name = "`cv search`"

    def __init__(self, args, place, sessions):
        self.home = place / "home"
        self.texts = {name: [(where(m), " ".join(m.text.split())) for m in of] for name, of in sessions.items()}
        make_home(self.home, args.files, 1)
        self.run("index")

    def run(self, *words):
        done = subprocess.run([CV, *words], env={"HOME": str(self.home)}, capture_output=True)
        return done.stdout

    def hits(self, text):
        for query in ['"' + text.replace('"', '\\"') + '"', " OR ".join(re.findall(r"\w+", text))]:
            out = self.run("search", "--json", "--kind", "all", "--limit", "1000", "--", query)
            hits = json.loads(out)["hits"] if out else []
            if hits:
                return hits
        return []

    def find(self, text, session, most=BEST):
        """Returns for each session that is found the messages that have its snippet."""
        found = []
        for hit in self.hits(text):
            if session in (None, hit["id"]):
                shown = " ".join(hit["snippet"].split())
                found.append({place for place, whole in self.texts[hit["id"]] if shown in whole} | {(hit["id"], None)})
        return found[:most]


def make_home(home, files, copies):
    folder = home / ".claude/projects/-work"
    folder.mkdir(parents=True)
    for number in range(copies):
        for file in files:
            shutil.copyfile(file, folder / f"{number or ''}{file.name}")


ENGINES = [Ours, Substring, AnyWord, SqliteWords, SqlitePhrase, SqliteTrigramWords, SqliteTrigrams, *([Cv] if CV else [])]


# --- the tables ---------------------------------------------------------------------------------


def recall(args, place):
    sessions = {file.stem: messages(file) for file in args.files}
    asked = list(queries(args, sessions))
    ranks = collections.defaultdict(list)
    for engine in ENGINES:
        begun = time.time()
        engine_of = engine(args, place, sessions)
        for query in asked:
            for scope, answer in enumerate(query.answers):
                found = engine_of.find(query.text, None if scope else query.session)
                ranks[query, SCOPES[scope]].append(rank_of(answer, found))
            if CV and query.kind != "words":
                found = [session_of(hit) for hit in engine_of.find(query.text, None, 100)]
                ranks[query, SCOPES[2]].append(rank_of(query.answers[1][0], list(dict.fromkeys(found))))
        print(f"{engine.name}: {time.time() - begun:.1f} s", file=sys.stderr)
    if args.list:
        for (query, scope), of in ranks.items():
            print(json.dumps([scope, *query, of], ensure_ascii=False))
        return
    for scope in SCOPES:
        print_table(scope, {query: of for (query, at), of in ranks.items() if at == scope})


SCOPES = ["within the session", "over all sessions", "over all sessions, the session"]


def session_of(hit):
    return next(iter(hit))[0] if isinstance(hit, set) else hit[0]


def rank_of(answer, found):
    """Returns the rank of the answer, starting at 1, or 0 if it was not found."""
    fits = (number for number, hit in enumerate(found, 1) if hit == answer or isinstance(hit, set) and answer in hit)
    rank = next(fits, 0)
    return rank if rank <= BEST else 0


def print_table(scope, ranks):
    kinds = list(dict.fromkeys(query.kind for query in ranks))
    if not kinds:
        return
    columns = [(kind, measure) for kind in kinds for measure in MEASURES]
    count = {kind: [sum((q.kind, q.set) == (kind, side) for q in ranks) for side in "AB"] for kind in kinds}
    print(f"\nQueries in A and B: " + ", ".join(f"{kind} {a} and {b}" for kind, (a, b) in count.items()) + "\n")
    print(f"| {scope}, %, A / B | " + " | ".join(f"{kind}, {measure}" for kind, measure in columns) + " |")
    print("|---|" + "--:|" * len(columns))
    for number, engine in enumerate(ENGINES):
        cells = []
        for kind, measure in columns:
            sides = [[of[number] for query, of in ranks.items() if (query.kind, query.set) == (kind, side)] for side in "AB"]
            shares = [sum(map(MEASURES[measure], of)) / max(len(of), 1) for of in sides]
            cells.append(" / ".join(f"{share:.1%}".rstrip("%") for share in shares))
        print(f"| {engine.name} | " + " | ".join(cells) + " |")


# The value of a rank in each measure; rank 0 means that the answer was not found.
MEASURES = {"@1": lambda rank: rank == 1, "@10": lambda rank: rank > 0, "MRR": lambda rank: 1 / rank if rank else 0}


# --- speed --------------------------------------------------------------------------------------

QUESTIONS = ["computeSessionLanes", "cmd/entire/cli/hooks.go", "failed to parse transcript", "why is the session not found", "sqlite"]


def speed(args, place):
    home, store = place / "home", place / "store"
    make_home(home, args.files, args.copies)
    files = sorted(home.rglob("*.jsonl"))
    for file in files:
        tool("ctx-snapshot", "-q", "--store", store, "-s", file.stem, file)
    ours = [str(BIN.resolve() / "ctx-memory"), "search", "--store", str(store), "--"]
    cv_index, cv = home / ".clustervision", [CV, "search", "--json"]
    rows = {"`ctx-memory search`, no index": ([*ours, "session"], store / "index")}
    if CV:
        rows["`cv index`, no index"] = ([CV, "index"], cv_index)
    figures, peaks = collections.defaultdict(list), {}
    for number in range(args.runs):
        for name, (command, index) in rows.items():
            shutil.rmtree(index, ignore_errors=True)
            figures[name].append(clock(command, home))
        for question in QUESTIONS:
            figures["`ctx-memory search`"].append(clock([*ours, question], home))
            if CV:
                figures["`cv search`"].append(clock([*cv, question], home))
    for name, (command, index) in rows.items():
        shutil.rmtree(index, ignore_errors=True)
        peaks[name] = peak(command, home)
    peaks["`ctx-memory search`"] = peak([*ours, QUESTIONS[0]], home)
    peaks["`cv search`"] = peak([*cv, QUESTIONS[0]], home) if CV else 0
    size = {name: sum(f.stat().st_size for f in index.rglob("*") if f.is_file()) for name, (_, index) in rows.items()}
    total = sum(file.stat().st_size for file in files)
    print(f"{len(files)} sessions, {total / 1e6:.0f} MB; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| | ms, median | least ms | ms of processor time | peak MB | index, MB |\n|---|--:|--:|--:|--:|--:|")
    for name, of in figures.items():
        wall, cpu = zip(*of)
        index = f"{size[name] / 1e6:.1f}" if name in size else ""
        print(f"| {name} | {statistics.median(wall):.1f} | {min(wall):.1f} | {statistics.median(cpu):.1f} | {peaks[name]:.1f} | {index} |")


if __name__ == "__main__":
    main()
