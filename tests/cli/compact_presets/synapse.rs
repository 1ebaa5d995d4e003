//! synapse: first moves large results into files, and summarizes only if that is not enough.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_testkit::{Act, Case, Server};
use serde_json::json;

use super::talk::Talk;
use super::{asking, call, call_in, is_due_above, report, run, said};

const REFERENCE: &str = "Tool result is at: ";
/// An answer with one of the requested sections.
const WELL: &str = "## Current Status\nAll is well.";

#[test]
fn due_above_eight_tenths_of_the_window() {
    is_due_above("synapse", 102_400, "share", &|tokens| Talk::of(50, tokens), &[]);
}

#[test]
fn the_last_5_messages_stay_and_with_no_more_nothing_is_done() {
    for (messages, outcome) in [(4, "nothing-to-do"), (5, "nothing-to-do"), (6, "compacted")] {
        let session = Talk::new().system(10).talk(messages, 6_000);
        for args in [&[][..], &["--force"]] {
            let ran = run(call("synapse", session.as_str()).args(args.iter().copied()));
            ran.is(outcome);
            assert_eq!(ran.report["success"], true);
            if outcome == "compacted" {
                assert_eq!(ran.number("kept_records"), 5);
                let (role, text) = ran.summary();
                assert_eq!(role, "user");
                assert!(text.starts_with("[Compressed History]\n\n"), "{text}");
            } else {
                assert_eq!(ran.number("freed_tokens"), 0);
            }
        }
    }
}

#[test]
fn results_of_2000_tokens_and_more_go_into_files() {
    for (tokens, goes) in [(1_999, false), (2_000, true), (2_001, true)] {
        // In the kept part, the reference stays.
        let session = Talk::of(20, 9_000).result("ls", tokens).reply(20);
        let ran = run(call("synapse", session.as_str()));
        ran.is("compacted");
        assert_eq!(ran.live.contains(REFERENCE), goes, "{tokens}");
        assert_eq!(ran.store_has("offloaded/demo/"), goes, "{tokens}");
        assert_eq!(ran.tried()[0] == "offloaded", goes, "{:?}", ran.tried());
        assert!(ran.summary().1.starts_with("[Compressed History]"));
    }
}

/// Stage 2 follows only if the session is still over the threshold and too little was freed.
#[test]
fn enough_freed_is_enough() {
    let session = |tokens| Talk::new().result("ls", tokens).talk(60, 130_000);
    let done = call("synapse", session(9_000).as_str()).args(["-n"]).run();
    let preview = |tokens: u64, enough: Option<u64>| {
        let live = done.dir().join("s.jsonl");
        fs::write(&live, session(tokens).as_str()).expect("writes");
        let case = call_in(done.dir(), "synapse").args(["-n", "--if-due"]);
        let enough = enough.map(|enough| enough.to_string());
        let case = enough
            .iter()
            .fold(case, |case, enough| case.env("SYNAPSE_COMPACT_TRIGGER_THRESHOLD", enough));
        let report = report(&case.run());
        assert_eq!(report["outcome"], "compacted");
        let after = report["attempts"][0]["tokens"].as_u64().expect("a number");
        let attempts = report["attempts"].as_array().expect("a list").len();
        (130_000 - after, attempts == 1)
    };
    // The length of a reference depends on its path.
    let (freed, _) = preview(16_000, None);
    for (enough, is_enough) in [(freed - 1, true), (freed, true), (freed + 1, false)] {
        assert_eq!(preview(16_000, Some(enough)), (freed, is_enough), "{enough}");
    }
    // The default is 15,000.
    let about = 15_000 + 16_000 - freed;
    for tokens in about - 8..about + 8 {
        let (freed, is_enough) = preview(tokens, None);
        assert_eq!(is_enough, freed >= 15_000, "{freed}");
    }
    for (tokens, expected) in [(about - 100, false), (about + 100, true)] {
        assert_eq!(preview(tokens, None).1, expected, "{tokens}");
    }
}

#[test]
fn what_brings_the_context_under_the_threshold_is_enough() {
    let session = |total| Talk::new().result("ls", 5_000).talk(60, total);
    let probe = call("synapse", session(106_000).as_str()).args(["-n", "--if-due"]).run();
    let after = report(&probe)["attempts"][0]["tokens"].as_u64().expect("a number");
    for (left, is_enough) in [(102_399, true), (102_400, true), (102_401, false)] {
        let live = probe.dir().join("s.jsonl");
        fs::write(&live, session(106_000 + left - after).as_str()).expect("writes");
        let report = report(&call_in(probe.dir(), "synapse").args(["-n", "--if-due"]).run());
        assert_eq!(report["attempts"][0]["tokens"], left, "the fixture");
        assert_eq!(report["tokens_after"] == left, is_enough, "{report}");
    }
}

#[test]
fn its_environment_works() {
    let session = Talk::new().result("ls", 9_000).talk(60, 130_000);
    for (threshold, attempts) in [("8000", 1), ("9500", 2)] {
        let case = call("synapse", session.as_str())
            .env("SYNAPSE_COMPACT_TRIGGER_THRESHOLD", threshold)
            .env("SYNAPSE_COMPACT_PRESERVE_COUNT", "7")
            .args(["--if-due"]);
        let ran = run(case);
        ran.is("compacted");
        assert_eq!(ran.tried().len(), attempts, "{threshold}");
        if attempts == 2 {
            assert_eq!(ran.number("kept_records"), 7);
        }
    }
    let server = Server::new([said(WELL)]);
    let case = call("synapse", session.as_str())
        .env("SYNAPSE_COMPACT_TARGET_TOKENS", "4000")
        .env("SYNAPSE_COMPACT_MODEL", "small")
        .args(["--llm-window", "200000"]);
    run(asking(&server, case)).is("compacted");
    let request = server.requests().concat();
    for part in ["\"model\":\"small\"", "\"max_tokens\":4800", "about 4000 tokens"] {
        assert!(request.contains(part), "{part}");
    }
    for section in ["Technical Context", "Project Overview", "Code Changes", "Debugging & Issues"] {
        assert!(request.contains(&format!("## {section}")), "{section}");
    }
}

/// A policy limits the calls of the model in total, including the first one.
#[test]
fn tries_used_up_leave_the_history_as_it_was() {
    let session = Talk::of(30, 9_000);
    for (count, tries) in [("0", 1), ("1", 1), ("2", 2)] {
        let server = Server::new((0..tries).map(|_| Act::Cut));
        let case = call("synapse", session.as_str())
            .env("SYNAPSE_COMPACT_RETRY_COUNT", count)
            .code(2)
            .stderr_has("connection failed");
        let ran = run(asking(&server, case));
        ran.is("summary-failed");
        assert_eq!(ran.report["success"], false);
        let done = ran.done;
        assert_eq!(server.requests().len(), tries);
        assert_eq!(done.read("s.jsonl"), session.as_str().as_bytes());
    }
    // The policy allows three. The server would answer the fourth.
    let server = Server::new([Act::Cut, Act::Cut, Act::Cut, said(WELL)]);
    let case = call("synapse", session.as_str()).code(2);
    let ran = run(asking(&server, case.stderr_has("connection failed")));
    ran.is("summary-failed");
    assert_eq!((&ran.report["success"], server.requests().len()), (&json!(false), 3));
    assert_eq!(ran.done.read("s.jsonl"), session.as_str().as_bytes());
    // The third and last attempt succeeds.
    let server = Server::new([Act::Cut, Act::Cut, said(WELL)]);
    run(asking(&server, call("synapse", session.as_str()))).is("compacted");
}

/// Results that were moved into files stay there, and can be restored.
#[test]
fn without_an_answer_offloaded_results_stay_offloaded() {
    let session = Talk::new().result("ls", 9_000).talk(60, 130_000);
    let server = Server::new((0..4).map(|_| Act::Cut));
    let case = call("synapse", session.as_str())
        .args(["--if-due"])
        .code(3)
        .stderr_has("connection failed");
    let ran = run(asking(&server, case));
    ran.is("summary-failed");
    assert_eq!(ran.report["success"], false);
    assert!(ran.number("tokens_after") < 122_000 && ran.live.contains(REFERENCE));
    Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
        .within(ran.done.dir())
        .args(["-q", "--undo", "-s", "demo", "s.jsonl"])
        .run();
    let back = fs::read_to_string(ran.done.dir().join("s.jsonl")).expect("reads");
    assert_eq!(back, session.as_str());
}

#[test]
fn a_summary_that_is_too_long_is_accepted_whole() {
    let words = "word ".repeat(900);
    let long = format!("## Current Status\n{}", words.trim_end());
    let server = Server::new([said(&long)]);
    let case = call("synapse", Talk::of(30, 9_000).as_str()).args(["--summary-tokens", "100"]);
    let ran = run(asking(&server, case));
    ran.is("compacted");
    assert!(ran.summary().1.ends_with(&long));
}

/// Returns the only file of an offloaded result.
fn offloaded(dir: &Path) -> PathBuf {
    let folder = dir.join(".local/state/ctx/offloaded/demo");
    let mut files =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    files.find(|path| path.extension().is_some_and(|end| end == "txt")).expect("one")
}

/// If the policy summarizes that a result cannot be read, the tool says so, and the snapshot has
/// the reference.
#[test]
fn a_summary_is_of_the_results_and_not_of_their_references() {
    for is_lost in [false, true] {
        let words = "needle ".repeat(4_000);
        let session = Talk::new().user(10).call("ls", &words, 4_000).talk(60, 104_000);
        let first = run(call("synapse", session.as_str()).args(["--if-due"]));
        first.is("compacted");
        assert_eq!(first.tried(), ["offloaded"]);
        let dir = first.done.dir();
        let file = offloaded(dir);
        let kept = file.with_extension("kept");
        if is_lost {
            fs::rename(&file, &kept).expect("renames");
        }
        let server = Server::new((0..9).map(|_| said(WELL)));
        let case = call_in(dir, "synapse").args(["--llm-window", "200000"]);
        let case = if is_lost {
            case.code(3).stderr_has("s.jsonl:3: summarized without this tool result: cannot read ")
        } else {
            case
        };
        let ran = run(asking(&server, case));
        ran.is("compacted");
        let unreadable = ran.report["unreadable"].as_array().map_or(0, Vec::len);
        assert_eq!(unreadable, usize::from(is_lost));
        let before = first.live.as_str();
        Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
            .within(dir)
            .args(["-q", "--undo", "-s", "demo", "s.jsonl"])
            .run();
        let back = fs::read_to_string(dir.join("s.jsonl")).expect("reads");
        assert_eq!(back, before);
        assert!(back.contains(REFERENCE) && file.exists() != is_lost);
        let request = server.requests().concat();
        assert_eq!(request.contains("needle needle"), !is_lost);
        assert_eq!(request.contains("[Content unavailable: "), is_lost);
        assert!(!request.contains(REFERENCE));
    }
}

/// Files whose results are summarized are moved to the trash. Files that the kept part names stay,
/// and so do the results in the snapshot.
#[test]
fn files_that_the_new_history_does_not_name_are_deleted() {
    let session = Talk::new()
        .user(10)
        .call("ls", &"old ".repeat(3_000), 3_000)
        .talk(20, 9_000)
        .call("ls", &"new ".repeat(3_000), 3_000)
        .reply(20);
    let ran = run(call("synapse", session.as_str()));
    ran.is("compacted");
    assert!(ran.live.contains(REFERENCE));
    let dir = ran.done.dir();
    let deleted = ran.report["deleted_files"].as_array().expect("names");
    let name = deleted[0].as_str().expect("a name");
    assert!(deleted.len() == 1 && name.contains(".txt"), "{name}");
    assert!(!dir.join(".local/state/ctx/offloaded/demo").join(name).exists());
    let kept = fs::read_to_string(offloaded(dir)).expect("the other one");
    assert!(kept.contains("new new"));
    Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
        .within(dir)
        .args(["-q", "--undo", "-s", "demo", "s.jsonl"])
        .run();
    let back = fs::read_to_string(dir.join("s.jsonl")).expect("reads");
    assert_eq!(back, session.as_str());

    // Nothing was offloaded, so the summary is as usual.
    let ran = run(call("synapse", Talk::of(20, 9_000).as_str()));
    assert_eq!(ran.report["deleted_files"], serde_json::json!([]));
}
