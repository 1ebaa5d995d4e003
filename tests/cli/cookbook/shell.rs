//! The blocks that a reader types into a shell, of full-window.md and of shell.md (GNU parallel), and
//! the program of python.md.

use std::fs;

use super::{file, home, shell_blocks, stand_in, with};
use crate::bench::good;
use crate::is_there;

/// An agent that somebody wrote compacts its session after a refused request and sends it again.
#[test]
fn an_agent_of_ones_own_goes_on() {
    let home = home();
    let [block] = &shell_blocks("full-window.md")[..] else {
        panic!("one block");
    };
    // The stand-in for the API has a small window.
    stand_in(home.path(), "send", "ctx-check -q --max-tokens 10000 \"$1\" && echo answered");
    let block = block.replace("100k", "9000");
    let done = with(home.path(), &format!("{block}\necho \"$answer\""));
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(done.stdout, "answered\n");
    assert_eq!(good(home.path(), "ctx-snapshot --list").lines().count(), 1);
}

/// The recipes run with GNU parallel over files, and over the records of one file.
#[test]
fn parallel_compacts_files_and_records() {
    if !is_there("parallel") {
        return;
    }
    let home = home();
    good(
        home.path(),
        "mkdir sessions; for n in 1 2 3; do head -n $((n * 60)) session.jsonl > \"sessions/day $n.jsonl\"; done
         for n in 1 2 3 4 5 6; do head -n $((n * 30)) session.jsonl | jq -cs '{messages: .}'; done > corpus.jsonl",
    );
    for block in shell_blocks("shell.md") {
        let done = with(home.path(), &block.replace("8000", "2000"));
        assert_eq!(done.code, 0, "{block}{}", done.stderr);
    }
    let log = fs::read_to_string(home.path().join("jobs.tsv")).expect("a log");
    assert_eq!(log.lines().count(), 4, "{log}");
    let alone = "ctx-compact -q --batch --budget 2000 < corpus.jsonl | cmp - smaller.jsonl";
    good(home.path(), alone);
}

/// A Python program compacts messages and whole requests.
#[test]
fn python_passes_messages_through_a_pipe() {
    if !is_there("python3") {
        return;
    }
    let home = home();
    for name in ["compact.py", "use.py"] {
        fs::write(home.path().join(name), file("python.md", name)).expect("written");
    }
    let done = with(home.path(), "python3 use.py");
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_eq!(done.stdout, file("python.md", "use.out"));
}
