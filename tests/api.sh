#!/usr/bin/env bash
# Compares the public API of ctx-tokens, the crate that is published, with
# crates/ctx-tokens/api.txt, so that the API only changes on purpose. If a line is removed or
# changed, the crate needs a new major version (before 1.0 a minor one). Needs cargo-public-api
# (cargo install --locked cargo-public-api) and a nightly toolchain.
#
#     tests/api.sh [--write]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../crates/ctx-tokens"

api=$(RUSTUP_TOOLCHAIN=nightly cargo public-api --all-features -ss 2> /dev/null) ||
    { echo "tests/api.sh: cargo public-api failed; RUSTUP_TOOLCHAIN=nightly cargo public-api -p ctx-tokens says why" >&2; exit 2; }
if [ "${1:-}" = --write ]; then
    printf '%s\n' "$api" > api.txt
elif ! diff --unified api.txt <(printf '%s\n' "$api"); then
    echo "tests/api.sh: the API is not what api.txt says; if that is meant, tests/api.sh --write" >&2
    exit 1
fi
