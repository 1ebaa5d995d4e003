#!/usr/bin/env bash
# Measures Python's tiktoken and npm's gpt-tokenizer with o200k_base: their MB/s of processor time
# on some texts (best of 3 passes), and the time of a whole process that counts 34 bytes (median of
# 11).
#
#   benches/tokens/others.sh FILE…
#
# Needs python3 with venv, npm, and both package registries. tiktoken would download its vocabulary;
# here it reads the one in the sources of tiktoken-rs, in the local cargo registry.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet tiktoken
export TIKTOKEN_CACHE_DIR=$work/cache
mkdir "$TIKTOKEN_CACHE_DIR"
vocabulary=$(ls "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/tiktoken-rs-*/assets/o200k_base.tiktoken | tail -n 1)
url=https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken
cp "$vocabulary" "$TIKTOKEN_CACHE_DIR/$(printf %s "$url" | sha1sum | cut -d ' ' -f 1)"
cat >"$work/count.py" <<'PY'
import sys, time, tiktoken
encoding = tiktoken.get_encoding("o200k_base")
for path in sys.argv[1:]:
    text = open(path, newline="").read()
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        tokens = len(encoding.encode_ordinary(text))
        best = min(best, time.process_time() - start)
    print(f"{path}: {len(text.encode()) / best / 1e6:.1f} MB/s, {tokens} tokens")
PY

npm install --silent --prefix "$work/npm" gpt-tokenizer >/dev/null
cat >"$work/npm/count.mjs" <<'JS'
import fs from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
for (const path of process.argv.slice(2)) {
  const text = fs.readFileSync(path, "utf8");
  let best = Infinity, tokens;
  for (let pass = 0; pass < 3; pass++) {
    const start = process.cpuUsage();
    tokens = encode(text, { disallowedSpecial: new Set() }).length;
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, user + system);
  }
  console.log(`${path}: ${(Buffer.byteLength(text) / best).toFixed(1)} MB/s, ${tokens} tokens`);
}
JS

tiktoken=("$work/venv/bin/python" "$work/count.py")
gpt_tokenizer=(node "$work/npm/count.mjs")
echo "tiktoken $("$work/venv/bin/pip" show tiktoken | sed -n 's/^Version: //p'), Python $(python3 -V | cut -d ' ' -f 2)"
"${tiktoken[@]}" "$@"
echo "gpt-tokenizer $(sed -n 's/^ *"version": "\(.*\)",/\1/p' "$work/npm/node_modules/gpt-tokenizer/package.json"), node $(node -v)"
"${gpt_tokenizer[@]}" "$@"

printf 'the quick brown fox jumps over it\n' >"$work/tiny"
start_up() {
    for _ in {1..11}; do
        local start=${EPOCHREALTIME/./}
        "$@" "$work/tiny" >/dev/null
        echo $(((${EPOCHREALTIME/./} - start) / 1000))
    done | sort -n | sed -n 6p
}
echo "start-up: tiktoken $(start_up "${tiktoken[@]}") ms, gpt-tokenizer $(start_up "${gpt_tokenizer[@]}") ms"
