//! `ctx-compact` next to other programs: agents that append, other runs, a slow model.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use ctx_testkit::{Act, Case, Server};

use crate::compact::{CTX_COMPACT, messages};

fn said(text: &str) -> Act {
    let choice = serde_json::json!({"message": {"content": text}, "finish_reason": "stop"});
    Act::ok(&serde_json::json!({"choices": [choice]}).to_string())
}

fn start(dir: &Path, server: &Server) -> Child {
    Command::new(CTX_COMPACT)
        .args([
            "-q",
            "--keep-messages",
            "4",
            "--method",
            "llm",
            "--on-failure",
            "extractive",
            "-s",
            "demo",
            "s.jsonl",
        ])
        .env("CTX_HOME", dir.join("store"))
        .env("CTX_LLM_URL", &server.url)
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts")
}

/// Waits until one of the runs has sent a request to the server, which it does after it has claimed
/// the session.
fn asked(server: &Server, runs: &mut [Child]) {
    while server.requests().is_empty() {
        let mut ends = runs.iter_mut().map(|run| run.try_wait().expect("runs"));
        assert!(ends.any(|end| end.is_none()), "all ended, and none asked");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("opens");
    file.write_all(text.as_bytes()).expect("writes");
}

#[test]
fn a_slow_model_holds_up_nobody_else_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    fs::write(&live, messages(0, 20)).expect("writes");
    let (word, wait) = channel();
    let server = Server::new([Act::Late(wait, Box::new(said("## 任务目标\nwords")))]);
    let mut run = start(dir.path(), &server);
    asked(&server, std::slice::from_mut(&mut run));

    // An agent continues.
    append(&live, &messages(20, 22));
    // Other runs are refused the session, and told at once who holds it. A tool that waited would
    // wait forever, because the model answers only after these runs.
    let store = dir.path().join("store");
    let store = store.to_str().expect("UTF-8");
    Case::new(CTX_COMPACT)
        .within(dir.path())
        .env("CTX_HOME", store)
        .args(["-s", "demo", "s.jsonl"])
        .code(4)
        .stderr(&format!(
            "ctx-compact: session demo is being changed by ctx-compact (pid {}); try again\n",
            run.id()
        ))
        .run();
    // Another session and gc are not blocked.
    Case::new(CTX_COMPACT)
        .within(dir.path())
        .file("other.jsonl", messages(0, 30))
        .env("CTX_HOME", store)
        .args(["--keep-messages", "4", "other.jsonl"])
        .stdout_has("compacted")
        .run();
    Case::new(env!("CARGO_BIN_EXE_ctx-gc"))
        .within(dir.path())
        .env("CTX_HOME", store)
        .args(["-q"])
        .run();

    word.send(()).expect("the server waits");
    let status = run.wait().expect("it ends");
    assert!(status.success(), "{status}");
    let after = fs::read_to_string(&live).expect("reads");
    assert!(after.contains("words"), "{after}");
    // Lines that were appended during the request follow the kept ones.
    assert!(after.ends_with(&messages(16, 22)), "{after}");
}

/// Triggers an event on the session during a request to a model; returns the messages of the run.
fn while_asked(act: impl FnOnce(&Path)) -> (i32, String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    fs::write(&live, format!("{}{HALF}", messages(0, 20))).expect("writes");
    let (word, wait) = channel();
    let server = Server::new([Act::Late(wait, Box::new(said("## 任务目标\nwords")))]);
    let mut run = start(dir.path(), &server);
    asked(&server, std::slice::from_mut(&mut run));
    act(&live);
    word.send(()).expect("the server waits");
    let output = run.wait_with_output().expect("it ends");
    let code = output.status.code().expect("it was not killed");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (code, said, fs::read_to_string(&live).expect("reads"))
}

/// A line that is still being written.
const HALF: &str = "{\"role\":\"user\",\"content\":\"ha";

#[test]
fn a_half_line_that_is_ended_meanwhile_is_one_line() {
    let rest = format!("lf\"}}\n{}", messages(20, 22));
    let (code, _, after) = while_asked(|live| append(live, &rest));
    assert_eq!(code, 0);
    let whole = format!("{}{HALF}{rest}", messages(16, 20));
    assert!(after.ends_with(&whole), "{after}");
}

#[test]
fn a_session_that_another_program_changed_is_left_as_it_is() {
    type Change<'a> = &'a dyn Fn(&Path);
    let other = |live: &Path| fs::write(live.with_extension("other"), "{}\n").expect("writes");
    let changes: [(Change<'_>, &str); 3] = [
        (&|live| fs::write(live, "").expect("cuts"), ""),
        (&|live| fs::write(live, "{}\n".repeat(9_000)).expect("writes"), "{}\n"),
        (
            &|live| {
                other(live);
                fs::rename(live.with_extension("other"), live).expect("renames");
            },
            "{}\n",
        ),
    ];
    for (change, now) in changes {
        let (code, said, after) = while_asked(change);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("was changed in the meantime; nothing was replaced"), "{said}");
        assert!(after.starts_with(now) && !after.contains("words"), "{after}");
    }
}

/// L7, L9: two runs of cron overlap, and a killed run holds no lock.
#[test]
fn of_eight_runs_at_once_one_works_and_a_killed_one_stops_nobody() {
    let dir = tempfile::tempdir().expect("a folder");
    let before = messages(0, 20);
    fs::write(dir.path().join("s.jsonl"), &before).expect("writes");
    let (word, wait) = channel();
    let server = Server::new([Act::Late(wait, Box::new(Act::Cut)), said("## 任务目标\nwords")]);
    let mut runs: Vec<Child> = (0..8).map(|_| start(dir.path(), &server)).collect();
    asked(&server, &mut runs);
    // If a second run started to work, it would get an answer and exit with 0.
    while runs.len() > 1 {
        runs.retain_mut(|run| match run.try_wait().expect("runs") {
            Some(status) => {
                assert_eq!(status.code(), Some(4));
                false
            }
            None => true,
        });
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut holder = runs.pop().expect("one is left");
    holder.kill().expect("kills");
    holder.wait().expect("ends");
    word.send(()).expect("the server waits");
    let session = fs::read_to_string(dir.path().join("s.jsonl")).expect("reads");
    assert_eq!(session, before);
    let status = start(dir.path(), &server).wait().expect("it ends");
    assert!(status.success(), "{status}");
}

/// L1: an agent keeps its session open.
#[test]
fn a_file_that_is_open_for_writing_is_left_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    fs::write(&live, messages(0, 30)).expect("writes");
    let held = OpenOptions::new().append(true).open(&live).expect("opens");
    Case::new(CTX_COMPACT)
        .within(dir.path())
        .args(["--keep-messages", "4", "s.jsonl"])
        .code(4)
        .stderr_has("is open for writing by")
        .run();
    drop(held);
    assert_eq!(fs::read_to_string(&live).expect("reads"), messages(0, 30));
}

#[test]
fn a_model_that_does_not_answer_is_replaced_or_ends_the_run() {
    for (preset, code) in [("sanbot", 0), ("synapse", 2)] {
        let server = Server::new((0..8).map(|_| Act::Cut));
        let before = messages(0, 30);
        let done = Case::new(CTX_COMPACT)
            .file("s.jsonl", &before)
            .env("CTX_LLM_URL", &server.url)
            .args(["--preset", preset, "s.jsonl"])
            .code(code)
            .stdout_any()
            .stderr_has("ctx-compact: ")
            .run();
        assert_eq!(done.read("s.jsonl") == before.as_bytes(), code != 0);
    }
}

#[test]
fn the_store_may_lie_on_another_file_system() {
    let Ok(store) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    let before = messages(0, 30);
    let done = Case::new(CTX_COMPACT)
        .file("s.jsonl", &before)
        .env("CTX_HOME", store.path().to_str().expect("UTF-8"))
        .args(["-q", "-s", "demo", "--keep-messages", "4", "s.jsonl"])
        .run();
    assert!(done.read("s.jsonl").len() < before.len() / 2);
    Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
        .within(done.dir())
        .env("CTX_HOME", store.path().to_str().expect("UTF-8"))
        .args(["-q", "-s", "demo", "--undo", "s.jsonl"])
        .run();
    assert_eq!(done.read("s.jsonl"), before.as_bytes());
}

#[test]
fn gc_can_look_into_the_session_that_names_offloaded_results() {
    let large = "some words ".repeat(3_000);
    let session = format!(
        "{}{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}]}}\n{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{large}\"}}\n",
        messages(0, 4)
    );
    let done = Case::new(CTX_COMPACT)
        .file("s.jsonl", session)
        .env("CTX_HOME", "store")
        .args(["-q", "-s", "demo", "--preset", "synapse", "--if-due", "--window", "4k", "s.jsonl"])
        .run();
    let sources = done.read("store/offloaded/demo/sources.jsonl");
    let live = done.dir().canonicalize().expect("a folder").join("s.jsonl");
    let known = serde_json::to_string(&live).expect("UTF-8");
    assert_eq!(String::from_utf8_lossy(&sources).trim_end(), known);
}
