//! `ctx-compact --batch`: lines of conversations, as a filter and in place.

use ctx_testkit::Case;
use serde_json::Value;

use crate::compact::{CTX_COMPACT, messages};

const CTX_ROLLBACK: &str = env!("CARGO_BIN_EXE_ctx-rollback");

/// Returns a conversation with this many messages.
fn conversation(count: usize) -> String {
    let list = messages(0, count).trim_end().replace('\n', " ,  ");
    format!("{{\"id\": {count}, \"messages\": [ {list} ] , \"n\":1E2}}\n")
}

fn batch(counts: &[usize]) -> String {
    counts.iter().copied().map(conversation).collect()
}

/// Returns the messages of each conversation, one on each line.
fn lists(batch: &str) -> Vec<String> {
    let list = |line: &str| {
        let inner = line.split_once("\"messages\": [ ").expect("a list").1;
        let inner = inner.rsplit_once(" ] ,").expect("its end").0;
        inner.replace(" ,  ", "\n") + "\n"
    };
    batch.lines().map(list).collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

/// Each line is compacted like a session of its own; everything else keeps its bytes.
#[test]
fn each_conversation_is_compacted_as_if_alone() {
    for flags in [&["--keep-messages", "6"][..], &["--budget", "600"]] {
        let input = batch(&[30, 2, 41]);
        let done = Case::new(CTX_COMPACT)
            .args(["--batch"])
            .args(flags.to_vec())
            .stdin(input.as_str())
            .stdout_any()
            .run();
        let output = text(done.stdout);
        assert_eq!(output.lines().nth(1), input.lines().nth(1));
        for (before, after) in lists(&input).into_iter().zip(lists(&output)) {
            Case::new(CTX_COMPACT).args(flags.to_vec()).stdin(before).stdout(after).run();
        }
        for (line, count) in output.lines().zip([30, 2, 41]) {
            assert!(line.starts_with(&format!("{{\"id\": {count}, \"messages\": [ {{")));
            assert!(line.ends_with(" ] , \"n\":1E2}"), "{line}");
        }
    }
}

/// If a batch is cut into parts, their outputs together are the output of the whole batch.
#[test]
fn the_parts_of_a_batch_give_the_same_lines() {
    let compact = |input: String| {
        let case = Case::new(CTX_COMPACT).args(["--batch", "--budget", "500"]);
        text(case.stdin(input).stdout_any().run().stdout)
    };
    let whole = compact(batch(&[20, 30, 40, 4]));
    let parts = [batch(&[20]), batch(&[30, 40]), batch(&[4])].map(compact);
    assert_eq!(whole, parts.concat());
}

/// A line that cannot be compacted is named, passes unchanged, and does not affect the others.
#[test]
fn a_failing_record_stops_nothing() {
    let strange = "{\"messages\":[{\"kind\":\"human\",\"text\":\"x\"}]}\nno JSON\n{\"n\":1}\n\n";
    let input = conversation(30) + strange + &conversation(31);
    let done = Case::new(CTX_COMPACT)
        .args(["--batch", "--keep-messages", "6"])
        .stdin(input)
        .stdout_any()
        .code(3)
        .stderr(concat!(
            "ctx-compact: <stdin>:2: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n",
            "ctx-compact: warning: <stdin>:3: 1 bad line kept in place; the first: not JSON: expected ident at column 2\n",
            "ctx-compact: warning: <stdin>: lines without a conversation (\"messages\"): 1\n",
        ))
        .run();
    let output = text(done.stdout);
    assert!(output.contains(&format!("\n{strange}{{\"id\": 31,")), "{output}");
    assert_eq!(output.matches("ctx_summary").count(), 2);
}

/// In place all lines are one change, which one undo reverts.
#[test]
fn a_file_is_compacted_in_place_and_brought_back() {
    let input = batch(&[30, 2, 41]);
    let done = Case::new(CTX_COMPACT)
        .file("b.jsonl", &input)
        .args(["--batch", "--keep-messages", "6", "b.jsonl"])
        .stdout_has("b.jsonl: 2 of 3 conversations compacted: ")
        .run();
    let after = text(done.read("b.jsonl"));
    Case::new(CTX_COMPACT)
        .args(["--batch", "--keep-messages", "6"])
        .stdin(input.as_str())
        .stdout(after.as_str())
        .run();
    let log = text(done.read(".local/state/ctx/context/events.jsonl"));
    let last: Value = serde_json::from_str(log.lines().last().expect("a record")).expect("JSON");
    assert_eq!((&last["op"], &last["outcome"]), (&"compact".into(), &"compacted".into()));
    assert_eq!((&last["messages_before"], &last["messages_after"]), (&73.into(), &16.into()));
    Case::new(CTX_ROLLBACK).within(done.dir()).args(["-q", "--undo", "b.jsonl"]).run();
    assert_eq!(text(done.read("b.jsonl")), input);
}

#[test]
fn a_preview_changes_nothing_and_json_has_an_object_a_conversation() {
    let input = batch(&[30, 2]);
    let done = Case::new(CTX_COMPACT)
        .file("b.jsonl", &input)
        .args(["--batch", "-n", "--json", "--keep-messages", "6", "b.jsonl"])
        .stdout_any()
        .run();
    assert_eq!(text(done.read("b.jsonl")), input);
    let said = text(done.stdout.clone());
    let objects: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let seen: Vec<_> =
        objects.iter().map(|it| (it["line"].as_u64(), it["outcome"].as_str())).collect();
    assert_eq!(seen, [(Some(1), Some("compacted")), (Some(2), Some("nothing-to-do"))]);
    Case::new(CTX_COMPACT)
        .within(done.dir())
        .args(["--batch", "-n", "--keep-messages", "6"])
        .stdin(input)
        .stdout_has("<stdin>: 1 of 2 conversations would be compacted: ")
        .run();
}

/// A nightly job does not report lines that need no compaction, or that cannot be made smaller.
#[test]
fn a_job_over_a_batch_ends_well_where_nothing_is_due() {
    let input = batch(&[3, 2]);
    for flags in [
        &["--if-due", "--trigger-tokens", "100000"][..],
        &["--if-due", "--trigger-messages", "1", "--keep-messages", "3"],
    ] {
        Case::new(CTX_COMPACT)
            .args(["--batch"])
            .args(flags.to_vec())
            .stdin(input.as_str())
            .stdout(input.as_str())
            .run();
    }
}

#[test]
fn with_o_the_output_appears_whole() {
    let done = Case::new(CTX_COMPACT)
        .args(["--batch", "--keep-messages", "6", "-o", "new.jsonl"])
        .stdin(batch(&[30, 2]))
        .run();
    let new = text(done.read("new.jsonl"));
    assert_eq!((new.lines().count(), new.matches("ctx_summary").count()), (2, 1));
}

/// Several threads write the same output as one, and report the same messages in the same order.
#[test]
fn the_number_of_jobs_changes_nothing() {
    let strange = "{\"messages\":[{\"kind\":\"human\",\"text\":\"x\"}]}\nno JSON\n";
    let some = batch(&[30, 2, 41, 6, 25]);
    let input = [some.as_str(), strange, &some, strange].concat();
    let run = |jobs: &str, flags: &[&str]| {
        let dir = tempfile::tempdir().expect("a folder");
        let done = Case::new(CTX_COMPACT)
            .within(dir.path())
            .file("b.jsonl", &input)
            .args(["--batch", "--budget", "600", "--jobs", jobs])
            .args(flags.to_vec())
            .stdin(input.as_str())
            .stdout_any()
            .stderr_has("the format is not known")
            .code(3)
            .run();
        // In place a warning names the file, and in a filter stdin.
        (text(done.stdout.clone()), done.stderr.clone(), done.dir().join("b.jsonl"), dir)
    };
    for flags in [&[][..], &["-n"], &["-q", "b.jsonl"]] {
        let (stdout, stderr, file, _dir) = run("1", flags);
        let file = std::fs::read(file).expect("the file");
        assert!(stderr.contains(":6: the format") && stderr.contains(":13: the format"));
        for jobs in ["2", "7"] {
            let (other_out, other_err, other, _dir) = run(jobs, flags);
            assert_eq!((&other_out, &other_err), (&stdout, &stderr), "{jobs} jobs");
            assert_eq!(std::fs::read(other).expect("the file"), file);
        }
    }
}

/// The collected output of many runs shows which lines failed. The next run removes the tag.
#[test]
fn a_conversation_that_fails_can_be_tagged() {
    let strange = "{\"id\":7,\"messages\":[{\"kind\":\"human\",\"text\":\"x\"}]}\n";
    let tagged =
        "{\"_ctx\":{\"failed\":\"the format is not known, so it cannot be read\"},\"id\":7,";
    let run = |input: &str, flags: &[&str], code: i32, output: &str| {
        Case::new(CTX_COMPACT)
            .args(["--batch", "--keep-messages", "6"])
            .args(flags.to_vec())
            .stdin(input)
            .stdout(output)
            .stderr_has(":1: the format is not known")
            .code(code)
            .run();
    };
    let with_tag = strange.replacen("{\"id\":7,", tagged, 1);
    run(strange, &["--tag-failed"], 0, &with_tag);
    run(&with_tag, &["--tag-failed"], 0, &with_tag);
    run(&with_tag, &[], 3, strange);
    let unreachable = conversation(30);
    let strict = ["--batch", "--strict-target", "--target-tokens", "10"];
    let strict = || Case::new(CTX_COMPACT).args(strict).stdin(&*unreachable);
    strict().stdout(&*unreachable).stderr_has("out of reach").code(1).run();
    strict()
        .args(["--tag-failed"])
        .stdout(unreachable.replacen('{', "{\"_ctx\":{\"failed\":\"unreachable\"},", 1))
        .stderr_has("out of reach")
        .run();
    Case::new(CTX_COMPACT)
        .file("b.jsonl", strange)
        .args(["--batch", "--tag-failed", "b.jsonl"])
        .stderr("ctx-compact: --tag-failed cannot be used with a file compacted in place; as a filter: ctx-compact --batch --tag-failed -o NEW < FILE\n")
        .code(2)
        .run();
}

/// A part of a corpus may have only one conversation. The exit status then means the same as for
/// many conversations.
#[test]
fn also_where_all_conversations_fail_the_status_is_3() {
    let strange = "{\"messages\":[{\"kind\":\"human\",\"text\":\"x\"}]}\n";
    Case::new(CTX_COMPACT)
        .args(["--batch"])
        .stdin(strange)
        .stdout(strange)
        .stderr_has("<stdin>:1: the format is not known")
        .code(3)
        .run();
}

/// If temporary files cannot be created, that is not the fault of a conversation, so the whole run
/// fails.
#[test]
fn a_failing_disk_ends_a_batch() {
    for jobs in ["1", "3"] {
        Case::new(CTX_COMPACT)
            .args(["--batch", "--keep-messages", "6", "--jobs", jobs])
            .env("TMPDIR", "/no/such/folder")
            .stdin(batch(&[30, 31]))
            .stderr("ctx-compact: cannot use a temporary file: No such file or directory; set TMPDIR to another folder\n")
            .code(2)
            .run();
    }
}

#[test]
fn jobs_are_for_batches() {
    Case::new(CTX_COMPACT)
        .args(["--jobs", "2", "a.jsonl"])
        .stderr("ctx-compact: --jobs requires --batch; a single session is one job; for several files: printf '%s\\0' *.jsonl | xargs -0 -P 8 -n 1 ctx-compact\n")
        .code(2)
        .run();
}

/// A filter neither reads nor writes a store, so workers share nothing.
#[test]
fn a_filter_of_batches_needs_no_store() {
    let done = Case::new(CTX_COMPACT)
        .args(["--batch", "--keep-messages", "6"])
        .stdin(batch(&[30, 31]))
        .stdout_any()
        .run();
    assert_eq!(done.dir().read_dir().expect("the folder").count(), 0);
}
