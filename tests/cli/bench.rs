//! A session in a folder, the commands that bash runs on it, and what must be true after any fault.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use ctx_testkit::Case;

use crate::snapshot::CTX_SNAPSHOT;

/// The result of a line that bash ran.
pub(crate) struct Done {
    /// The exit status. A process that a signal ended has 128 plus the signal, as in bash.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a line of bash in `dir`, with the tools in its path and a clean environment.
pub(crate) fn bash(dir: &Path, line: &str) -> Done {
    let output = shell(dir, line).output().expect("bash");
    done(&output)
}

/// Returns the command that runs a line of bash in `dir`, so that the caller can change it.
pub(crate) fn shell(dir: &Path, line: &str) -> Command {
    let tools = Path::new(CTX_SNAPSHOT).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    command
        .args(["-o", "pipefail", "-c", line])
        .env_clear()
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("HOME", dir)
        .current_dir(dir);
    command
}

pub(crate) fn done(output: &Output) -> Done {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Done {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Runs a line that must succeed.
#[track_caller]
pub(crate) fn good(dir: &Path, line: &str) -> String {
    let done = bash(dir, line);
    assert_eq!(done.code, 0, "{line}: {}", done.stderr);
    done.stdout
}

/// Checks that `s.jsonl` is unchanged or its old content is in a snapshot, that it is legal, and
/// that all snapshots are complete.
#[track_caller]
pub(crate) fn nothing_is_lost(dir: &Path, before: &str) {
    let live = fs::read_to_string(dir.join("s.jsonl")).expect("the session");
    assert!(
        live == before || snapshots(dir).iter().any(|bytes| bytes == before),
        "what was there is lost"
    );
    for line in ["ctx-check -q s.jsonl", "ctx-snapshot --verify --read-data"] {
        let done = bash(dir, line);
        assert_eq!(done.code, 0, "{line}: {}{}", done.stdout, done.stderr);
    }
}

/// Returns the bytes of all snapshots.
pub(crate) fn snapshots(dir: &Path) -> Vec<String> {
    let list = good(dir, "ctx-snapshot --list");
    let ids = list.lines().filter_map(|line| line.split(' ').next());
    ids.map(|id| good(dir, &format!("ctx-snapshot --show {id}"))).collect()
}

/// Returns the unfinished files below `dir`, and the second names of replaced files.
pub(crate) fn leftovers(dir: &Path) -> Vec<String> {
    let mut found = files(dir);
    found.retain(|path| path.contains(".ctx-tmp-") || path.contains(".ctx-old-"));
    found
}

/// Returns all files below `dir`.
pub(crate) fn files(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found
}

/// Writes `s.jsonl` with this many messages, saves it as number 1, and appends as many again.
pub(crate) fn saved(messages: usize) -> (tempfile::TempDir, String) {
    let first = crate::compact::messages(0, messages);
    let all = crate::compact::messages(0, 2 * messages);
    let dir = tempfile::tempdir().expect("a folder");
    Case::new(CTX_SNAPSHOT)
        .within(dir.path())
        .file("s.jsonl", first)
        .args(["-s", "demo", "s.jsonl"])
        .stdout_any()
        .run();
    fs::write(dir.path().join("s.jsonl"), &all).expect("the session");
    (dir, all)
}

/// Returns true if a program is installed and runs.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|output| output.status.success())
}
