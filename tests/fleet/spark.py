#!/usr/bin/env python3
"""Compacts a batch with Spark's RDD.pipe, and compares the output with that of a single run, byte for byte.

    tests/fleet/spark.py [--bin DIR] [--batch FILE] [--cores N] [--partitions N] [--work DIR]

Needs Java, and a Python with pyspark. Without --batch the script makes a small batch. Some of its conversations
cannot be compacted, some lines are not JSON, and some characters are line ends for certain readers.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
# A conversation that cannot be compacted is tagged, so that Spark does not repeat its partition.
COMPACT = "ctx-compact --batch -q --budget 1500 --tag-failed"
PIPED = f"{COMPACT} --jobs 1"
FAILED = '{"_ctx":{"failed":'
STRANGE = '{"messages":[{"kind":"human","text":"x"}]}'


def small(path):
    """Writes a batch of cuts of the example, with lines that cannot be compacted."""
    example = (ROOT / "examples/session.jsonl").read_text().splitlines()
    with open(path, "w", encoding="utf-8", newline="") as batch:
        for number in range(60):
            messages = ",".join(example[: 2 + number * 3])
            batch.write(f'{{"id":"{number}\u2028é","messages":[{messages}]}}' + "\r\n"[number % 3 > 0 :])
            if number % 20 == 7:
                batch.write(f"{STRANGE}\n\nno JSON \x85 \x0b\n")


def lines(spark, path, partitions):
    """Returns the lines of a file, which only newlines separate; textFile would also end a line at a carriage return."""
    conf = {"textinputformat.record.delimiter": "\n"}
    kinds = ["org.apache.hadoop.mapreduce.lib.input.TextInputFormat", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text"]
    size = max(1, Path(path).stat().st_size // partitions)
    conf["mapreduce.input.fileinputformat.split.maxsize"] = str(size)
    return spark.sparkContext.newAPIHadoopFile(f"file://{path}", *kinds, conf=conf).values()


def written(folder):
    """Returns the output of the tasks, in the order of the lines."""
    for part in sorted(folder.glob("part-*")):
        yield part.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/debug")
    parser.add_argument("--batch", type=Path)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=7)
    parser.add_argument("--work", type=Path)
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="ctx-spark-", dir=args.work))
    os.environ["PATH"] = f"{args.bin.resolve()}:{os.environ['PATH']}"
    # The piped commands get only this environment.
    env = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    batch = args.batch and args.batch.resolve() or work / "batch.jsonl"
    if not args.batch:
        small(batch)

    start = time.monotonic()
    with open(batch, "rb") as source, open(work / "alone.jsonl", "wb") as target:
        alone = subprocess.run([*COMPACT.split(), "--jobs", str(args.cores)], stdin=source, stdout=target, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    assert alone.returncode == 0, alone.returncode

    spark = SparkSession.builder.master(f"local[{args.cores}]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    start = time.monotonic()
    piped = lines(spark, batch, args.partitions).pipe(PIPED, env, checkCode=True)
    piped.saveAsTextFile(f"file://{work}/out")
    spark_seconds = time.monotonic() - start
    parts = piped.getNumPartitions()
    size = batch.stat().st_size / 1e6
    print(f"one run, {args.cores} jobs: {seconds:.1f} s, {size / seconds:.1f} MB/s")
    print(f"Spark, local[{args.cores}], {parts} partitions: {spark_seconds:.1f} s, {size / spark_seconds:.1f} MB/s")

    with open(work / "alone.jsonl", "rb") as one:
        for part in written(work / "out"):
            assert one.read(len(part)) == part, "Spark wrote other bytes than one run"
        assert not one.read(1), "Spark wrote less than one run"

    # Conversations that failed are in the output, where their tag is found.
    out = lines(spark, work / "alone.jsonl", args.partitions)
    failed = out.filter(lambda line: line.startswith(FAILED)).count()
    if not args.batch:
        assert failed == 3, failed

    # The sums of the partitions' counts must equal the counts of the whole batch.
    count = "ctx-count --batch --json --jobs 1"
    totals = lines(spark, batch, args.partitions).pipe(count, env, checkCode=True).map(json.loads)
    totals = totals.filter(lambda it: it["type"] == "total")
    summed = totals.map(lambda it: (it["conversations"], it["tokens"])).reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]))
    whole = subprocess.run(["ctx-count", "--batch", "--json", batch], capture_output=True, check=True)
    whole = json.loads(whole.stdout.splitlines()[-1])
    assert summed == (whole["conversations"], whole["tokens"]), (summed, whole)

    # The job must fail if the error is not in a record, for example if the disk is full or a tool is missing.
    for command in (f"env TMPDIR=/no/such/folder {PIPED}", "sh -c 'no-such-tool --batch'"):
        try:
            lines(spark, batch, 1).pipe(command, env, checkCode=True).count()
        except Exception as error:
            assert "Pipe function" in str(error), error
        else:
            raise AssertionError(f"passed as done: {command}")
    print(f"the same bytes as one run; {failed} conversations failed and are tagged; counts agree; a failing disk fails the job")
    spark.stop()
    shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())
