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
    assert_eq!(run("ctx", &["ls", "--version"]), version);
    assert_eq!(run("ctx", &["ctx-ls", "--version"]), version);
    let (code, _, said) = run("ctx", &["count", "/no/such/file"]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("ctx-count: /no/such/file: "), "{said}");
}

/// `ctx` lists the tools, and names the tool that a wrong word stands for.
#[test]
fn alone_it_lists_the_tools() {
    for args in [&[][..], &["-h"], &["--help"], &["help"]] {
        let (code, help, _) = run("ctx", args);
        assert_eq!(code, Some(0));
        assert!(help.contains("\n  ls         List the sessions of all agents"), "{help}");
    }
    assert_eq!(run("ctx", &["-V"]), (Some(0), "ctx 0.1.0\n".to_owned(), String::new()));
    let said = "ctx: the first word must be the name of a tool; ctx lists the tools; ctx TOOL -h lists the flags of one\n";
    assert_eq!(run("ctx", &["help", "x"]), (Some(2), String::new(), said.to_owned()));
    assert!(run("ctx", &["help", "ls"]).1.contains("\nUsage: ctx-ls "));
    for (typed, answer) in [
        ("compat", "did you mean compact? (ctx -h)"),
        ("undo", "did you mean ctx rollback --undo FILE? (ctx -h)"),
        ("x", "use one of ls, count, check, "),
    ] {
        let (code, _, said) = run("ctx", &[typed]);
        assert_eq!(code, Some(2));
        assert!(said.starts_with(&format!("ctx: there is no command {typed}; {answer}")), "{said}");
    }
}
