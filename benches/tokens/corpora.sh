#!/usr/bin/env bash
# Writes the texts for the measurements into a folder: code, prose, JSON, logs, Chinese, and hostile
# pieces of one megabyte.
#
#   CTX_TRANSCRIPTS=~/sessions benches/tokens/corpora.sh FOLDER
#
# Code and prose come from the local cargo registry; JSON from the *.jsonl below CTX_TRANSCRIPTS;
# Chinese from the manual pages of Debian's package manpages-zh, below MAN_ZH (/usr/share/man); logs
# and hostile pieces are made up. Needs python3.
set -euo pipefail
mkdir -p "$1"
python3 - "$1" "${CARGO_HOME:-$HOME/.cargo}/registry/src" "${CTX_TRANSCRIPTS:-}" \
    "${MAN_ZH:-/usr/share/man}" <<'PY'
import base64, gzip, pathlib, random, re, sys

out, registry, transcripts, manual = map(pathlib.Path, sys.argv[1:5])
LIMIT = 4_000_000
random.seed(1)

def write(name, text):
    text = text.encode("utf-8", "ignore")[:LIMIT].decode("utf-8", "ignore")
    if text:
        (out / name).write_text(text, newline="")

def files(root, pattern, most):
    taken = 0
    for path in sorted(root.rglob(pattern)):
        text = path.read_text(errors="replace")[:most]
        yield text
        taken += len(text)
        if taken > LIMIT:
            return

write("code", "".join(files(registry, "*.rs", 40_000)))
write("prose", "".join(files(registry, "*.md", 40_000)))
if sys.argv[3]:
    write("json", "".join(files(transcripts, "*.jsonl", 200_000)))

# Returns the text of a manual page without the roff markup.
def plain(page):
    page = re.sub(r"(?m)^['.].*\n?", "", page)
    return re.sub(r"\\f.|\\[&|^]", "", page).replace("\\-", "-")

write("chinese", "".join(
    plain(gzip.decompress(page.read_bytes()).decode("utf-8", "replace"))
    for page in sorted(manual.glob("zh_*/man*/*.gz"))))
levels = ["INFO", "WARN", "ERROR", "DEBUG"]
write("log", "".join(
    f"2026-11-{n % 30 + 1:02}T{n % 24:02}:{n % 60:02}:{n * 7 % 60:02}.{n % 1000:03}Z "
    f"{random.choice(levels)} worker-{n % 17} request={random.getrandbits(64):016x} "
    f"GET /api/v2/items/{random.randrange(100000)} 200 {random.random() * 90:.2f}ms\n"
    for n in range(60_000)))

for name, text in {
    "hostile-a": "a" * 1_000_000,
    "hostile-space": " " * 1_000_000,
    "hostile-cjk": "".join(chr(random.randrange(0x4e00, 0xa000)) for _ in range(333_334)),
    "hostile-base64": base64.b64encode(random.randbytes(750_000)).decode(),
    "hostile-letters": "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
}.items():
    (out / name).write_text(text)
PY
