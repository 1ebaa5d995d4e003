"""Makes a session that shows a refusal as small as it can be."""

import json


def shrink(data, shows):
    """Returns a smaller session that `shows` still accepts: lines go, then members and elements, then the ends of texts."""
    try:
        lines = [line_of(json.loads(data))]
    except ValueError:
        lines = data.split(b"\n")
    if not shows(b"\n".join(lines)):
        return data
    count = max(1, len(lines) // 2)
    while count:
        at = 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + count:]
            if fewer and shows(b"\n".join(fewer)):
                lines = fewer
            else:
                at += count
        count //= 2
    for at, line in enumerate(lines):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        # A rewritten line may be another one, such as where the order of the bytes is what is wrong.
        if shows(with_line(lines, at, record)):
            smaller(record, lambda: shows(with_line(lines, at, record)))
            lines[at] = line_of(record)
    return b"\n".join(lines)


def with_line(lines, at, record):
    return b"\n".join([*lines[:at], line_of(record), *lines[at + 1:]])


def line_of(record):
    return json.dumps(record, separators=(",", ":")).encode()


def smaller(value, shows):
    """Removes what it can from an object or list in place."""
    for key in list(value) if isinstance(value, dict) else range(len(value) - 1, -1, -1):
        kept = value.pop(key)
        if shows():
            continue
        if isinstance(value, dict):
            value[key] = kept
        else:
            value.insert(key, kept)
        if isinstance(kept, str) and len(kept) > 8:
            value[key] = kept[:8]
            if not shows():
                value[key] = kept
        elif isinstance(kept, (dict, list)):
            smaller(kept, shows)
