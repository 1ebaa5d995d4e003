//! Tests of the program that contains all tools.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

fn run(name: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ctx-tools"));
    let done = program.arg0(name).args(args).output();
    let Output { status, stdout, stderr } = done.expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// The program acts as the tool that its own name or its first argument names.
#[test]
fn it_is_each_tool() {
    let version = (Some(0), "ctx-ls 0.1.0\n".to_owned(), String::new());
    assert_eq!(run("ctx-ls", &["--version"]), version);
    assert_eq!(run("/usr/bin/ctx-ls", &["--version"]), version);
    assert_eq!(run("ctx-tools", &["ls", "--version"]), version);
    assert_eq!(run("ctx-tools", &["ctx-ls", "--version"]), version);
    let (code, _, said) = run("ctx-tools", &["count", "/no/such/file"]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("ctx-count: /no/such/file: "), "{said}");
}

/// `--help` lists the tools; a missing or unknown tool name is an error.
#[test]
fn alone_it_tells_of_itself() {
    let (code, help, _) = run("ctx-tools", &["--help"]);
    assert_eq!(code, Some(0));
    assert!(help.contains("\n  ls         List the sessions of all agents"), "{help}");
    assert_eq!(help.lines().filter(|line| line.starts_with("  ")).count(), 16);
    let version = "ctx-tools 0.1.0\n".to_owned();
    assert_eq!(run("ctx-tools", &["-V"]), (Some(0), version, String::new()));
    for args in [&[][..], &["lss"], &["-x"]] {
        let said = "ctx-tools: specify a tool; ctx-tools -h lists all tools\n".to_owned();
        assert_eq!(run("ctx-tools", args), (Some(2), String::new(), said));
    }
}
