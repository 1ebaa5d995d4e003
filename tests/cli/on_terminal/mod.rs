//! Output that appears only on a terminal: headings and bars, progress, manual pages, and
//! completions.

mod completions;
mod count;
mod manual;
mod progress;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use ctx_testkit::Terminal;

/// Returns a call of a tool in `folder`, on an ordinary terminal.
fn call(tool: &str, folder: &Path) -> Command {
    let mut command = Command::new(crate::tool_path(tool));
    command.env_clear().env("HOME", folder).env("TERM", "xterm-256color").current_dir(folder);
    command
}

/// Returns the output of a successful call on a terminal.
fn shown(mut command: Command, terminal: Terminal) -> String {
    let status = command.stdout(terminal.stream()).stderr(terminal.stream()).status();
    assert!(status.expect("the tool starts").success());
    drop(command);
    terminal.ended().replace("\r\n", "\n")
}

/// A project with a long name leaves space for the title, and no row is wider than the terminal.
#[test]
fn long_names_of_projects_are_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = r#"{"uuid":"1","parentUuid":null,"sessionId":"s","cwd":"/w/a-project-whose-name-is-very-long","type":"user","message":{"role":"user","content":"Look at the file."}}"#;
    let path = folder.path().join("s.jsonl");
    std::fs::write(&path, format!("{line}\n")).expect("a session");
    let old = SystemTime::now() - Duration::from_secs(7_500);
    let file = std::fs::File::options().write(true).open(&path);
    file.expect("opens").set_modified(old).expect("a time");
    let listed = |columns| {
        let mut command = call("ctx-ls", folder.path());
        command.args(["--color", "never", "s.jsonl"]);
        shown(command, Terminal::new(columns))
    };
    assert_eq!(
        listed(80),
        "\
ID  AGENT        PROJECT        AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE\n\
s   claude-code  a-project-wh…   2h         1     ~12       ?  ?    Look at the…\n"
    );
    assert!(listed(200).contains("a-project-whose-name-is-very-long"));
    for columns in [30, 80, 120] {
        let rows = listed(columns);
        let widths = rows.lines().map(|line| line.chars().count());
        assert_eq!(widths.max(), Some(usize::from(columns).min(92)), "{rows}");
    }
}
