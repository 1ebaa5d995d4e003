"""Makes up conversations of two people, as long as LoCoMo's, and lists the lines that tell something.

Sentences are drawn from english.txt and chinese.txt: what people say about themselves (jobs,
plans, changes of mind, family, tastes, health, ...) among questions, reactions and
small talk, which has names and numbers, too. The same language and seed give the same
conversation. Whoever wrote the sentences did not look at what the tools here keep.
"""

import datetime
import pathlib
import random
import re
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).parent
LANGUAGES = ("english", "chinese")


class Evidence(NamedTuple):
    """A turn that tells something: all of its `facts` have to be kept together, with the person."""

    turn: int
    kind: str
    person: str
    role: str
    facts: list


class Conversation(NamedTuple):
    people: list
    turns: list  # (role, text)
    evidence: list


def material(language):
    """Returns the choices of a language's file, by section."""
    sections = {}
    for line in (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            name = line[1:-1]
            sections[name] = []
        elif line and not line.startswith("#"):
            sections[name] += line.split("|") if name.startswith("slot ") else [line]
    return sections


class Deck:
    """Draws choices in random order; no choice is repeated before all have been drawn."""

    def __init__(self, choices, chance):
        self.choices, self.chance, self.left = choices, chance, []

    def draw(self):
        if not self.left:
            self.left = self.chance.sample(self.choices, len(self.choices))
        return self.left.pop()


class Writer:
    def __init__(self, language, seed):
        self.chance = random.Random(f"{language} {seed}")
        self.language = language
        self.decks = {name: Deck(lines, self.chance) for name, lines in material(language).items()}
        self.kinds = Deck(
            [name.split()[1] for name in self.decks if name.startswith("evidence ")], self.chance
        )
        self.gap = "" if language == "chinese" else " "
        self.people = re.split(" and |和", self.decks["people"].draw())
        self.turns, self.evidence = [], []

    def value(self, name, taken):
        deck = self.decks.get(f"slot {name}") or self.decks[f"slot {name.rstrip('2')}"]
        while (value := deck.draw()) in taken:
            pass
        return value

    def text(self, section, speaker):
        """Returns a line of a section with its slots filled, and the facts that it tells."""
        listener, facts = self.people[1 - speaker], []

        def fill(match):
            if match[1] == "listener":
                return listener
            facts.append(self.value(match[1], facts))
            return facts[-1]

        text = re.sub(r"\{(\w+)\}", fill, self.decks[section].draw())
        facts += re.findall(r"\*(.+?)\*", text)
        text = text.replace("*", "")
        # Later sentences of the line start with a capital letter, too.
        return re.sub(r"(^|[.?!] )([a-z])", lambda m: m[1] + m[2].upper(), text), facts

    def say(self, speaker, *parts):
        text = self.gap.join(part for part in parts if part)
        colon = ":" if self.language == "chinese" else ": "
        self.turns.append((("user", "assistant")[speaker], self.people[speaker] + colon + text))

    def maybe(self, share, section, speaker):
        return self.text(section, speaker)[0] if self.chance.random() < share else ""

    def small_talk(self, speaker):
        """Adds turns that nobody needs to remember."""
        if self.chance.random() < 0.5:
            parts = self.text("small", speaker)[0].split(" | ")
        else:
            parts = [""] * self.chance.randint(2, 3)
        for at, part in enumerate(parts):
            musing = self.maybe(0.6 if part else 1, "musing", speaker)
            react = self.maybe(0.6, "react", speaker) if at and not part else ""
            self.say(speaker, react, part, musing, self.maybe(0.4, "musing", speaker))
            speaker = 1 - speaker

    def scene(self):
        """Adds a turn in which one person tells something, and the reaction of the other."""
        kind, speaker = self.kinds.draw(), self.chance.randrange(2)
        other = 1 - speaker
        if self.chance.random() < 0.5:
            self.say(other, self.maybe(0.5, "musing", other), self.text(f"ask {kind}", other)[0])
        told, facts = self.text(f"evidence {kind}", speaker)
        self.evidence.append(
            Evidence(
                len(self.turns), kind, self.people[speaker], ("user", "assistant")[speaker], facts
            )
        )
        before, after = self.maybe(0.6, "lead", speaker), self.maybe(0.6, "tail", speaker)
        self.say(speaker, before, told, after)
        self.say(
            other,
            self.text("react", other)[0],
            self.maybe(0.6, f"reply {kind}", other),
            self.maybe(0.5, "musing", other),
        )
        if self.chance.random() < 0.6:
            self.say(speaker, self.text("followup", speaker)[0], self.maybe(0.5, "musing", speaker))
        if self.chance.random() < 0.6:
            self.small_talk(self.chance.randrange(2))

    def session(self, day, scenes):
        first = self.chance.randrange(2)
        begin = len(self.turns)
        self.say(first, self.text("opening", first)[0])
        role, text = self.turns[begin]
        hour = f"{self.chance.randrange(7, 23)}:{self.chance.randrange(60):02}"
        self.turns[begin] = role, f"[{self.date(day)}, {hour}] {text}"
        self.say(1 - first, self.text("opening answer", 1 - first)[0])
        self.small_talk(first)
        for _ in range(scenes):
            self.scene()
        self.say(first, self.text("closing", first)[0])
        self.say(1 - first, self.text("closing answer", 1 - first)[0])

    def date(self, day):
        if self.language == "chinese":
            return f"{day.year}年{day.month}月{day.day}日"
        return f"{day.day} {day:%B} {day.year}"


def conversation(language, seed):
    """Returns a conversation of some 500 turns, in about 13 sessions over most of a year."""
    writer = Writer(language, seed)
    day = datetime.date(2024, 1, 1) + datetime.timedelta(writer.chance.randrange(200))
    for _ in range(writer.chance.randint(12, 14)):
        writer.session(day, writer.chance.randint(5, 8))
        day += datetime.timedelta(writer.chance.randint(6, 32))
    return Conversation(writer.people, writer.turns, writer.evidence)
