"""The results of a sweep, by operation and fault, in a file, so that a sweep can continue."""

import json
from collections import Counter
from dataclasses import asdict, dataclass

# The columns of the table; similar faults share a column.
COLUMNS = {
    "kill": ["kill"],
    "EIO": ["EIO", "EIO-on"],
    "ENOSPC": ["ENOSPC", "ENOSPC-on"],
    "EINTR": ["EINTR", "EINTR-3"],
    "EROFS": ["EROFS", "EROFS-on"],
    "ENOMEM": ["ENOMEM", "EAGAIN"],
    "EMFILE": ["EMFILE", "open files"],
    "EIO, kill": ["EIO, kill"],
    "short": ["short"],
    "torn": ["torn"],
    "agent": ["agent", "agent, no exchange"],
}


@dataclass
class Tally:
    """The results of one operation under one fault."""

    operation: str
    fault: str
    points: int
    bad: list  # the places, each with what is wrong there

    def write(self, file):
        # Use one write, because several processes append.
        with open(file, "a", buffering=1) as out:
            out.write(json.dumps(asdict(self)) + "\n")


def read(file):
    if not file or not file.exists():
        return []
    return [Tally(**json.loads(line)) for line in file.read_text().splitlines()]


def table(tallies):
    """Returns a Markdown table of the points by operation and fault."""
    count, order = Counter(), {}
    for tally in tallies:
        order[tally.operation] = None
        count[tally.operation, tally.fault] += tally.points
        count["all", tally.fault] += tally.points
    rows = [["", *COLUMNS, "all"], ["---", *["--:" for _ in COLUMNS], "--:"]]
    for operation in [*order, "all"]:
        found = [sum(count[operation, fault] for fault in faults) for faults in COLUMNS.values()]
        rows.append([f"`{operation}`", *map(str, [*found, sum(found)])])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
