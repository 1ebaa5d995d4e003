//! The recipes of docs/cookbook do what they say: each file that a page shows is run in an
//! environment like that of the program it is for.

mod ci;
mod cron;
mod hooks;
mod local_model;
mod shell;
mod systemd;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::bench::{self, Done, good};
use crate::pages::{blocks, root};
use crate::tool_path;

/// The file that a page of the cookbook shows under that name.
fn file(page: &str, name: &str) -> String {
    let page = root().join("docs/cookbook").join(page);
    let shown = blocks(&page).into_iter().find(|block| block.file.as_deref() == Some(name));
    shown.unwrap_or_else(|| panic!("{} shows no {name}", page.display())).text()
}

/// The blocks of a page that a reader types into a shell as they stand.
fn shell_blocks(page: &str) -> Vec<String> {
    let page = root().join("docs/cookbook").join(page);
    let blocks = blocks(&page).into_iter();
    blocks.filter(|block| block.language == "sh").map(|block| block.text()).collect()
}

/// The folder of our tools.
fn bin() -> PathBuf {
    tool_path("ctx-count").parent().expect("a folder").to_owned()
}

/// A home with a session of Claude Code at rest, which the policy in `small.toml` finds due.
fn home() -> TempDir {
    let home = tempfile::tempdir().expect("a folder");
    let example = root().join("examples/session.jsonl");
    fs::copy(example, home.path().join("session.jsonl")).expect("copied");
    good(
        home.path(),
        "mkdir -p .claude/projects/-work-app
         ctx-convert -q --to claude-code session.jsonl -o .claude/projects/-work-app/day.jsonl
         ctx-compact --show-preset default | sed 's/^\\[trigger\\]/&\\nwindow = 32000/' > small.toml",
    );
    rest(home.path());
    home
}

fn session(home: &Path) -> PathBuf {
    home.join(".claude/projects/-work-app/day.jsonl")
}

/// The agent wrote last an hour ago.
fn rest(home: &Path) {
    let file = fs::File::options().write(true).open(session(home));
    let time = SystemTime::now() - Duration::from_secs(3600);
    file.expect("opens").set_modified(time).expect("a time");
}

/// Runs a line as cron and systemd do: a bare environment, no terminal. `/usr/local/bin` in the
/// PATH that the recipe sets is where our tools are.
fn bare(home: &Path, path: &str, line: &str) -> Done {
    let path = path.replace("/usr/local/bin", &bin().display().to_string());
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", line])
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("CTX_CONFIG", home.join("small.toml"))
        .current_dir(home);
    bench::done(&command.output().expect("sh starts"))
}

/// A program that does what `script` says, in a folder that comes first in the PATH of [`with`].
fn stand_in(home: &Path, name: &str, script: &str) {
    let folder = home.join("stand-ins");
    fs::create_dir_all(&folder).expect("made");
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Runs a line of bash with the stand-ins in its path.
fn with(home: &Path, line: &str) -> Done {
    bench::bash(home, &format!("PATH=\"$HOME/stand-ins:$PATH\"\nset -e\n{line}"))
}
