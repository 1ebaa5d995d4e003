//! Runs the recipes of docs/cookbook: each file that a page shows is run in an environment like
//! that of the program that it is for.

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

/// Returns the file with this name in a page of the cookbook.
fn file(page: &str, name: &str) -> String {
    let page = root().join("docs/cookbook").join(page);
    let shown = blocks(&page).into_iter().find(|block| block.file.as_deref() == Some(name));
    shown.unwrap_or_else(|| panic!("{} shows no {name}", page.display())).text()
}

/// Returns the blocks of a page that a reader types into a shell unchanged.
fn shell_blocks(page: &str) -> Vec<String> {
    let page = root().join("docs/cookbook").join(page);
    let blocks = blocks(&page).into_iter();
    blocks.filter(|block| block.language == "sh").map(|block| block.text()).collect()
}

/// Returns the folder of our tools.
fn bin() -> PathBuf {
    tool_path("ctx-count").parent().expect("a folder").to_owned()
}

/// Returns a home folder with an idle session of Claude Code that needs a compaction by the policy
/// in `small.toml`.
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

/// The agent last wrote an hour ago.
fn rest(home: &Path) {
    let file = fs::File::options().write(true).open(session(home));
    let time = SystemTime::now() - Duration::from_secs(3600);
    file.expect("opens").set_modified(time).expect("a time");
}

/// Runs a line like cron and systemd: with an empty environment and without a terminal. Our tools
/// are in the `/usr/local/bin` of the recipe's PATH.
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

/// Makes a program that runs `script`, in the folder that is first in the PATH of [`with`].
fn stand_in(home: &Path, name: &str, script: &str) {
    let folder = home.join("stand-ins");
    fs::create_dir_all(&folder).expect("made");
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Runs a line of bash with the stand-ins in its PATH.
fn with(home: &Path, line: &str) -> Done {
    bench::bash(home, &format!("PATH=\"$HOME/stand-ins:$PATH\"\nset -e\n{line}"))
}
