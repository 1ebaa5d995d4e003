//! What people see on a terminal and nobody does elsewhere: headings and bars, how far a run
//! is, manual pages, and what a shell completes.

mod completions;
mod count;
mod manual;
mod progress;

use std::path::Path;
use std::process::Command;

use ctx_testkit::Terminal;

/// A call of a tool in `folder`, on a terminal that can do what most can.
fn call(tool: &str, folder: &Path) -> Command {
    let mut command = Command::new(crate::tool_path(tool));
    command
        .env_clear()
        .env("HOME", folder)
        .env("TERM", "xterm-256color")
        .current_dir(folder);
    command
}

/// What a call shows on a terminal; it ends well.
fn shown(mut command: Command, terminal: Terminal) -> String {
    let status = command
        .stdout(terminal.stream())
        .stderr(terminal.stream())
        .status();
    assert!(status.expect("the tool starts").success());
    drop(command);
    terminal.ended().replace("\r\n", "\n")
}
