//! The line that shows the progress of a run.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use ctx_testkit::{Act, Server, Terminal};

use super::call;

const USER: &str = "{\"role\":\"user\",\"content\":\"some words\"}\n";
/// The bytes that erase the line of progress.
const ERASE: &str = "\u{1b}[2K";

/// Starts a call that reads a pipe, with stderr on `terminal`.
fn start(mut command: Command, terminal: &Terminal) -> Child {
    let started =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(terminal.stream()).spawn();
    started.expect("the tool starts")
}

/// Ends the input of the call, waits for the call, and returns its stdout.
fn end(mut child: Child) -> String {
    drop(child.stdin.take());
    let mut text = String::new();
    let mut out = child.stdout.take().expect("a pipe");
    out.read_to_string(&mut text).expect("text");
    assert!(child.wait().expect("it ends").success());
    text
}

fn feed(child: &mut Child, text: &str) {
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("it reads");
    stdin.flush().expect("it reads");
}

/// After a second, a run shows bytes and time, and erases them at the end; stdout is not affected.
#[test]
fn a_slow_input_is_told_and_nothing_of_it_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let terminal = Terminal::new(80);
    let mut child = start(call("ctx-count", folder.path()), &terminal);
    feed(&mut child, &USER.repeat(50));
    let at = terminal.wait_for("reading <stdin>: 1.9KB, ", 0);
    feed(&mut child, &USER.repeat(50));
    terminal.wait_for("3.8KB", at);
    assert_eq!(end(child), "100 603 3900\n");
    let shown = terminal.ended();
    let line = shown.rfind("reading").expect("it was shown");
    assert!(shown[line..].contains(ERASE), "{shown:?}");
    assert!(!shown.contains('\n'), "{shown:?}");
}

/// A quick run shows nothing, even on a terminal.
#[test]
fn a_quick_run_shows_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let terminal = Terminal::new(80);
    let mut child = start(call("ctx-count", folder.path()), &terminal);
    feed(&mut child, USER);
    end(child);
    assert_eq!(terminal.ended(), "");
}

/// With -q, on a terminal that cannot erase, or without a terminal (as in cron), there is no line.
#[test]
fn nothing_is_shown_where_it_is_not_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = |args: &[&str]| {
        let mut command = call("ctx-count", folder.path());
        command.args(args);
        command
    };
    let mut dumb = plain(&[]);
    dumb.env("TERM", "dumb");
    let mut no_term = plain(&[]);
    no_term.env_remove("TERM");
    let silent = [plain(&["-q"]), plain(&["--progress", "never"]), dumb, no_term];
    let runs: Vec<(Terminal, Child)> = silent
        .into_iter()
        .map(|command| {
            let terminal = Terminal::new(80);
            let mut child = start(command, &terminal);
            feed(&mut child, USER);
            (terminal, child)
        })
        .collect();
    let mut cron = plain(&[]);
    cron.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut cron = cron.spawn().expect("the tool starts");
    feed(&mut cron, USER);
    thread::sleep(Duration::from_millis(1_600));
    for (terminal, child) in runs {
        end(child);
        assert_eq!(terminal.ended(), "");
    }
    let mut said = String::new();
    let mut stderr = cron.stderr.take().expect("a pipe");
    end(cron);
    stderr.read_to_string(&mut said).expect("text");
    assert_eq!(said, "");
}

/// A message first erases the line, so that the two do not mix.
#[test]
fn a_message_does_not_stand_in_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let terminal = Terminal::new(80);
    let mut command = call("ctx-compact", folder.path());
    command.args(["--keep-turns", "1", "-v", "-"]);
    let mut child = start(command, &terminal);
    feed(&mut child, USER);
    terminal.wait_for("reading <stdin>", 0);
    feed(&mut child, "broken\n");
    end(child);
    let shown = terminal.ended();
    let at = shown.find("ctx-compact: ").expect("it is told");
    let line = &shown[shown[..at].rfind('\r').map_or(0, |cr| cr + 1)..at];
    assert!(!line.contains("reading"), "{shown:?}");
}

/// For many files, the line shows their number.
#[test]
fn files_are_told_by_their_number() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("b.jsonl"), USER).expect("a file");
    let terminal = Terminal::new(80);
    let mut command = call("ctx-count", folder.path());
    command.args(["-j", "1", "b.jsonl", "-"]);
    let mut child = start(command, &terminal);
    feed(&mut child, USER);
    terminal.wait_for("file 2 of 2 ", 0);
    end(child);
}

/// While a model writes, the line shows the part, the tokens and the time.
#[test]
fn a_question_to_a_model_is_told_by_its_part_and_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let (go, wait) = channel();
    let choice =
        serde_json::json!({"message": {"content": "## Goal\nShip it."}, "finish_reason": "stop"});
    let answer = Act::ok(&serde_json::json!({"choices": [choice]}).to_string());
    let server = Server::new([Act::Late(wait, Box::new(answer))]);
    let terminal = Terminal::new(80);
    let mut command = call("ctx-summarize", folder.path());
    command.args(["--budget", "300", "--method", "llm", "--llm-url", &server.url]);
    let mut child = start(command, &terminal);
    feed(&mut child, &USER.repeat(200));
    drop(child.stdin.take());
    terminal.wait_for(" tokens sent: 1 s", 0);
    let shown = terminal.shown();
    assert!(shown.contains("asking the model: "), "{shown:?}");
    go.send(()).expect("the server waits");
    assert!(end(child).contains("ctx_summary"));
}

/// For a batch, the line shows the number of finished conversations.
#[test]
fn the_records_of_a_batch_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let terminal = Terminal::new(80);
    let mut command = call("ctx-compact", folder.path());
    command.args(["--batch", "-j", "1", "--keep-turns", "1"]);
    let mut child = start(command, &terminal);
    let batch = format!("{{\"messages\":[{}]}}\n", USER.trim_end());
    feed(&mut child, &batch.repeat(7));
    terminal.wait_for("7 records, ", 0);
    end(child);
}
