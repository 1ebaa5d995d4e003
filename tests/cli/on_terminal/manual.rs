//! `--man`, and `--completions`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ctx_testkit::{Case, Terminal};

use super::call;
use crate::{tool_path, tools};

fn of_repository(path: &str) -> String {
    fs::read_to_string(xtask::root().join(path)).expect("it is checked in")
}

/// Each tool contains its manual and completions, which cargo does not install.
#[test]
fn each_tool_has_its_page_and_its_completions() {
    for tool in tools() {
        let name = tool.name;
        let told = |args: &[&str], file: &str| {
            Case::new(tool_path(name))
                .args(args.iter().copied())
                .env("CTX_HOME", "/nowhere")
                .stdout(of_repository(file))
                .run();
        };
        told(&["--man"], &format!("man/{name}.1"));
        told(&["--completions", "bash"], &format!("completions/bash/{name}"));
        told(&["--completions=zsh"], &format!("completions/zsh/_{name}"));
        told(&["--completions", "fish"], &format!("completions/fish/{name}.fish"));
    }
}

/// An unknown shell is a usage error.
#[test]
fn an_unknown_shell_is_refused() {
    Case::new(tool_path("ctx-count"))
        .args(["--completions", "tcsh"])
        .code(2)
        .stderr("ctx-count: --completions cannot be \"tcsh\"; use one of bash, zsh, fish\n")
        .run();
}

/// Returns the output of `ctx-count --man` with the programs in `path`.
fn shown(path: &str, pager: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let terminal = Terminal::new(80);
    let mut command = call("ctx-count", folder.path());
    command
        .arg("--man")
        .env("PATH", path)
        .env("PAGER", pager)
        .env("MANPAGER", pager)
        .stdin(terminal.stream());
    super::shown(command, terminal)
}

/// On a terminal the page is shown as `man` shows it.
#[test]
#[allow(clippy::print_stderr)] // A test that skips says so.
fn man_shows_the_page_where_there_is_one() {
    let man = Command::new("man").arg("--version").stdout(Stdio::null()).status();
    if !man.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no man");
        return;
    }
    let page = shown("/usr/bin:/bin", "/bin/cat");
    assert!(page.contains("CTX-COUNT(1)"), "{page}");
}

/// Without `man` the page is plain text, through a pager or directly.
#[test]
fn without_man_the_page_is_plain_text() {
    for pager in ["/bin/cat", "/no/such/pager"] {
        let page = shown("/nowhere", pager);
        assert!(page.contains("\nNAME\n  ctx-count - Count the messages"), "{page}");
        assert!(page.contains("\n  -j, --jobs <N>\n"), "{page}");
        assert!(page.contains("\nEXIT STATUS\n"), "{page}");
        assert!(!page.contains(['\\', '\u{1b}']), "{page}");
        assert!(!page.lines().any(|line| line.starts_with('.')), "{page}");
        assert!(page.ends_with("ctx(7)\n"), "{page}");
    }
    assert!(!Path::new("/nowhere").exists());
}
