//! A corpus is processed in parts: by `xargs -P`, by GNU parallel, and from and to object storage.
//! `tests/fleet/spark.py` does the same with Spark.

use std::fs;
use std::path::Path;

use ctx_testkit::Case;

use crate::bench::{bash, good};
use crate::compact::messages;

const STRANGE: &str = "{\"messages\":[{\"kind\":\"human\",\"text\":\"x\"}]}\n";
const COMPACT: &str = "ctx-compact --batch -q --budget 600 --tag-failed";

/// Returns a folder with `batch.jsonl`, in which one conversation cannot be compacted, and
/// `one.jsonl`, the output of one run over it.
fn field() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let conversation = |count: usize| {
        let list = messages(0, count).trim_end().replace('\n', ",");
        format!("{{\"id\":\"é{count}\",\"messages\":[{list}]}}\n")
    };
    let some: String = (1..30).map(conversation).collect();
    let batch = some.clone() + STRANGE + &some;
    fs::write(dir.path().join("batch.jsonl"), batch).expect("written");
    good(dir.path(), &format!("{COMPACT} < batch.jsonl > one.jsonl"));
    dir
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).expect("a file")
}

/// The parts of several processes, concatenated, equal the output of one run.
#[test]
fn parts_by_xargs_are_what_one_run_writes() {
    let dir = field();
    let line = format!(
        "mkdir parts new && split -n l/5 batch.jsonl parts/ && ls parts | \
         xargs -P 3 -I {{}} sh -c '{COMPACT} -j 1 < parts/{{}} > new/{{}}' && cat new/* > parts.jsonl"
    );
    good(dir.path(), &line);
    let one = read(dir.path(), "one.jsonl");
    assert_eq!(read(dir.path(), "parts.jsonl"), one);
    assert_eq!(one.matches("{\"_ctx\":{\"failed\":").count(), 1);
}

/// Without the tag, a failing part has an exit status, and all lines are in the output.
#[test]
fn a_part_with_a_failing_conversation_says_so() {
    let dir = field();
    let compact = COMPACT.replace(" --tag-failed", "");
    let done =
        bash(dir.path(), &format!("{compact} -j 1 < batch.jsonl > all.jsonl || [ $? -eq 3 ]"));
    assert_eq!(done.code, 0);
    assert!(done.stderr.contains("<stdin>:30: the format is not known"));
    let untagged = good(dir.path(), "ctx-split --strip one.jsonl");
    assert_eq!(read(dir.path(), "all.jsonl"), untagged);
}

/// The output of GNU parallel over the parts equals the output of one run.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn parts_by_gnu_parallel_are_what_one_run_writes() {
    let dir = field();
    if bash(dir.path(), "parallel --version | grep -q GNU").code != 0 {
        eprintln!("skipped: GNU parallel is not here");
        return;
    }
    let line = format!(
        "parallel --will-cite --pipe --block 4k -k -j 3 {COMPACT} -j 1 < batch.jsonl > parts.jsonl"
    );
    good(dir.path(), &line);
    assert_eq!(read(dir.path(), "parts.jsonl"), read(dir.path(), "one.jsonl"));
}

/// A stand-in for `aws` whose buckets are folders.
const AWS: &str = r#"#!/bin/sh
[ "$1 $2" = "s3 cp" ] || exit 9
from=$3 to=$4
case $from in s3://*) from=buckets/${from#s3://} ;; esac
case $to in s3://*) to=buckets/${to#s3://}; mkdir -p "$(dirname "$to")" ;; esac
[ "$from" = - ] && from=/dev/stdin
[ "$to" = - ] && to=/dev/stdout
cat "$from" > "$to"
"#;

/// Returns the sh block of `docs/fleet.md` that contains this text.
fn recipe(part: &str) -> String {
    let page = fs::read_to_string(xtask::root().join("docs/fleet.md")).expect("the page");
    let mut blocks = page.split("```sh\n").skip(1);
    let block = blocks.find_map(|rest| rest.split("```").next().filter(|it| it.contains(part)));
    block.expect("a block").to_owned()
}

/// Object storage as on the page: whole objects arrive, and no object arrives if a stage fails.
#[test]
fn a_failing_stage_uploads_nothing() {
    let dir = field();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir_all(at("bin")).expect("made");
    fs::write(at("bin/aws"), AWS).expect("written");
    good(dir.path(), "chmod +x bin/aws; mkdir -p buckets/in; cp batch.jsonl buckets/in/part.jsonl");
    let recipe = recipe("aws s3 cp");
    let run = |recipe: &str| bash(dir.path(), &format!("PATH=$PWD/bin:$PATH\n{recipe}"));
    let done = run(&recipe);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let out = read(dir.path(), "buckets/out/part.jsonl");
    assert_eq!(out.lines().count(), 59);
    assert!(out.contains("ctx_summary"));
    fs::remove_file(at("buckets/out/part.jsonl")).expect("removed");
    // In the first case the download breaks off; in the second a flag is unknown.
    for (from, to) in [("s3://in/part", "s3://in/no-such-part"), ("--batch", "--no-such-flag")] {
        let done = run(&recipe.replace(from, to));
        assert_ne!(done.code, 0);
        assert!(!at("buckets/out/part.jsonl").exists());
    }
}

/// A conversation that cannot be compacted keeps its place in the output, and no store is created.
#[test]
fn nothing_but_the_output_is_left_behind() {
    let dir = field();
    let mut names: Vec<_> = fs::read_dir(dir.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["batch.jsonl", "one.jsonl"]);
    let lines = |name| read(dir.path(), name).lines().count();
    assert_eq!(lines("one.jsonl"), lines("batch.jsonl"));
    Case::new(env!("CARGO_BIN_EXE_ctx-score"))
        .within(dir.path())
        .args(["--batch", "--min", "0.1", "batch.jsonl", "one.jsonl"])
        .stdout_has("58 conversations scored")
        .stderr_has("one.jsonl:30: the format")
        .code(3)
        .run();
}
