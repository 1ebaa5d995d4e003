//! A session in a folder, what bash does to it, and what must hold after any fault.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use ctx_testkit::Case;

use crate::snapshot::CTX_SNAPSHOT;

/// How a line of bash ended.
pub(crate) struct Done {
    /// 128 and the signal for what a signal has ended, as bash says it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a line of bash in `dir`, with the tools in its path and a clean environment.
pub(crate) fn bash(dir: &Path, line: &str) -> Done {
    let output = shell(dir, line).output().expect("bash");
    done(&output)
}

/// The same, as a command that can be run otherwise.
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

/// `s.jsonl` is unchanged, or its old content is in a snapshot; it is legal; all snapshots are
/// complete.
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

/// The bytes of all snapshots.
pub(crate) fn snapshots(dir: &Path) -> Vec<String> {
    let list = good(dir, "ctx-snapshot --list");
    let ids = list.lines().filter_map(|line| line.split(' ').next());
    ids.map(|id| good(dir, &format!("ctx-snapshot --show {id}"))).collect()
}

/// Unfinished files, and second names of replaced ones.
pub(crate) fn leftovers(dir: &Path) -> Vec<String> {
    let mut found = files(dir);
    found.retain(|path| path.contains(".ctx-tmp-") || path.contains(".ctx-old-"));
    found
}

/// All files below `dir`.
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

/// `s.jsonl` with this many messages, saved as number 1, followed by as many more.
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

/// Whether a program can be run here.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|output| output.status.success())
}
