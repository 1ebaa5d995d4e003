//! Conventions of all tools, checked on each of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::{Arg, ArgAction};
use ctx_cli::Tool;
use ctx_testkit::Case;

use crate::{tool_path, tools};

const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/session.jsonl");

/// Returns an ordinary call that writes to stdout: its arguments and what is piped in.
fn ordinary(tool: &Tool) -> (Vec<&'static str>, Vec<u8>) {
    let session = || fs::read(SESSION).expect("the example");
    match tool.name {
        "ctx-check" | "ctx-count" | "ctx-extract" | "ctx-split" => (vec![], session()),
        "ctx-compact" => (vec!["--keep-turns=3"], session()),
        "ctx-convert" => (vec!["--to=anthropic"], session()),
        "ctx-gc" => (vec!["-n"], vec![]),
        "ctx-ls" => (vec![SESSION], vec![]),
        "ctx-memory" => (vec!["search", "--help"], vec![]),
        "ctx-prune" => (vec!["--clear"], session()),
        "ctx-rollback" => (vec!["--help"], vec![]),
        "ctx-offload" | "ctx-snapshot" => (vec!["-s", "demo"], session()),
        "ctx-score" => (vec!["-", SESSION], session()),
        "ctx-stats" => (vec![], vec![]),
        "ctx-summarize" => (vec!["--partial"], session()),
        other => panic!("{other}: add an ordinary call of it here"),
    }
}

/// Returns the flags and operands that have a help text, according to clap.
fn arguments(tool: &Tool) -> Vec<Arg> {
    let mut command = tool.full_command();
    command.build();
    let own = command.get_arguments();
    let below = command.get_subcommands().flat_map(clap::Command::get_arguments);
    own.chain(below).cloned().collect()
}

#[test]
fn the_table_is_in_order_and_complete() {
    let of_root = ctx_tools::TOOLS.iter();
    let names: Vec<&str> = of_root.map(|tool| tool.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let mut binaries: Vec<String> = fs::read_dir("src/bin")
        .expect("src/bin")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    binaries.sort();
    // `ctx` runs the tools.
    assert_eq!([&["ctx"], &names[..]].concat(), binaries);
}

#[test]
fn commands_are_sound() {
    for tool in tools() {
        tool.full_command().debug_assert();
    }
}

#[test]
fn a_letter_means_one_flag_in_all_tools() {
    let mut meanings: BTreeMap<char, (String, &str)> = BTreeMap::new();
    for tool in tools() {
        for argument in arguments(tool) {
            let (Some(short), Some(long)) = (argument.get_short(), argument.get_long()) else {
                assert!(
                    argument.get_short().is_none(),
                    "{}: -{:?} has no long name",
                    tool.name,
                    argument.get_short()
                );
                continue;
            };
            let (known, elsewhere) =
                meanings.entry(short).or_insert_with(|| (long.to_owned(), tool.name));
            assert_eq!(known, long, "-{short} in {elsewhere} and {}", tool.name);
        }
    }
}

#[test]
fn a_flag_has_one_letter_in_all_tools() {
    let mut letters: BTreeMap<String, (Option<char>, &str)> = BTreeMap::new();
    for tool in tools() {
        for argument in arguments(tool) {
            let Some(long) = argument.get_long() else {
                continue;
            };
            let (known, elsewhere) =
                letters.entry(long.to_owned()).or_insert((argument.get_short(), tool.name));
            assert_eq!(*known, argument.get_short(), "--{long} in {elsewhere} and {}", tool.name);
        }
    }
}

#[test]
fn every_argument_has_help_and_a_value_name() {
    for tool in tools() {
        let about = tool
            .full_command()
            .get_about()
            .unwrap_or_else(|| panic!("{} says nothing of itself", tool.name))
            .to_string();
        sentence_without_stop(&about, tool.name);
        for argument in arguments(tool) {
            let place = format!("{} {}", tool.name, argument.get_id());
            let help =
                argument.get_help().unwrap_or_else(|| panic!("{place} has no help")).to_string();
            sentence_without_stop(&help, &place);
            if matches!(argument.get_action(), ArgAction::Set | ArgAction::Append) {
                let names = argument.get_value_names().unwrap_or_default();
                assert!(!names.is_empty(), "{place} has no value name");
                for name in names {
                    assert_eq!(name.to_uppercase(), name.as_str(), "{place}");
                }
            }
        }
    }
}

fn sentence_without_stop(text: &str, place: &str) {
    assert!(text.starts_with(char::is_uppercase), "{place}: begins small: {text}");
    assert!(!text.ends_with('.'), "{place}: ends with a full stop: {text}");
}

#[test]
fn every_page_has_examples_that_use_the_tool() {
    for tool in tools() {
        let page = tool.page();
        assert!(!page.examples.is_empty(), "{}", tool.name);
        for (command, what) in &page.examples {
            assert!(command.contains(tool.name), "{}: {command}", tool.name);
            sentence_without_stop(what, tool.name);
        }
    }
}

#[test]
fn short_help_fits_the_terminal() {
    for tool in tools() {
        let help = tool.full_command().render_help().to_string();
        for line in help.lines() {
            // Text in brackets does not count, because clap writes it or because it is too valuable
            // to leave out.
            let own = line.split(" [").next().unwrap_or(line);
            let width = own.chars().count();
            assert!(width <= 100, "{} -h: {width} columns: {line}", tool.name);
        }
    }
}

#[test]
fn help_and_version_succeed() {
    for tool in tools() {
        let program = tool_path(tool.name);
        let help = Case::new(&program).args(["--help"]).stdout_any().run();
        let help = String::from_utf8(help.stdout).expect("UTF-8");
        assert!(help.contains("\nExamples:\n"), "{help}");
        Case::new(&program).args(["-h"]).stdout_has("Usage: ").run();
        Case::new(&program)
            .args(["--version"])
            .stdout(format!("{} {}\n", tool.name, env!("CARGO_PKG_VERSION")))
            .run();
    }
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    for tool in tools() {
        Case::new(tool_path(tool.name))
            .args(["--no-such-flag"])
            .code(2)
            .stderr_has("there is no flag --no-such-flag; see ")
            .run();
    }
}

#[test]
fn a_missing_file_is_named() {
    for tool in tools() {
        let reads_files = !matches!(tool.name, "ctx-gc" | "ctx-memory" | "ctx-rollback");
        if reads_files {
            let operands = if tool.name == "ctx-score" { 2 } else { 1 };
            let done = Case::new(tool_path(tool.name))
                .args(vec!["no-such-file.jsonl"; operands])
                .code(2)
                .stderr_has("no-such-file.jsonl")
                .run();
            assert!(done.stderr.starts_with(&format!("{}: ", tool.name)), "{}", done.stderr);
        }
    }
}

#[test]
fn a_name_behind_two_dashes_is_no_flag() {
    for tool in tools().into_iter().filter(|tool| tool.name != "ctx-gc") {
        let mut args = match tool.name {
            "ctx-memory" => vec!["get"],
            "ctx-rollback" => vec!["--snapshot=1", "-s=demo"],
            _ => vec![],
        };
        args.push("--");
        args.push("--version");
        if tool.name == "ctx-score" {
            args.push(SESSION);
        }
        Case::new(tool_path(tool.name))
            .args(args)
            .code(2)
            .stderr_has(&format!("{}: ", tool.name))
            .run();
    }
}

/// Runs an ordinary call in bash with a `redirection` of stdout.
fn redirected(tool: &Tool, redirection: &str) -> (Option<i32>, String) {
    let (args, input) = ordinary(tool);
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("in.jsonl"), input).expect("the input");
    let line = format!("exec \"$0\" \"$@\" < in.jsonl {redirection}");
    let output = Command::new("bash")
        .args(["-c", &line])
        .arg(tool_path(tool.name))
        .args(args)
        .env_clear()
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .output()
        .expect("bash");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

/// C8: a full stdout is a reported failure, not a panic.
#[test]
fn a_full_stdout_is_told() {
    for tool in tools().into_iter().filter(|tool| tool.name != "ctx-gc") {
        let (code, said) = redirected(tool, "> /dev/full");
        // The exit status is 5 if something was done before the report failed.
        assert!(matches!(code, Some(2 | 5)), "{}: {code:?}: {said}", tool.name);
        let start = format!("{}: ", tool.name);
        assert!(said.starts_with(&start), "{said}");
        assert!(said.contains("No space left on device"), "{said}");
    }
}

/// C8: if there is no stdout, no file is opened in its place.
#[test]
fn no_stdout_at_all() {
    for tool in tools() {
        let (code, said) = redirected(tool, ">&-");
        assert_eq!(code, Some(0), "{}: {said}", tool.name);
        assert_eq!(said, "", "{}", tool.name);
    }
}

/// C8: a tool ends quietly if the reader of its stdout exits.
#[test]
fn a_reader_that_went_away_is_no_failure() {
    for tool in tools() {
        let (args, input) = ordinary(tool);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("in.jsonl");
        fs::write(&file, input).expect("the input");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(tool_path(tool.name))
            .args(args)
            .env_clear()
            .env("HOME", folder.path())
            .stdin(fs::File::open(&file).expect("the input"))
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .expect("the tool starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{}: {stderr}", tool.name);
        assert_eq!(stderr, "", "{}", tool.name);
    }
}

#[test]
fn what_is_piped_is_not_coloured() {
    for tool in tools() {
        let (args, input) = ordinary(tool);
        for args in [args, vec!["-h"]] {
            let done = Case::new(tool_path(tool.name))
                .args(args)
                .env("TERM", "xterm-256color")
                .stdin(input.clone())
                .stdout_any()
                .stderr_has("")
                .run();
            assert!(!done.stdout.contains(&0x1b), "{}", tool.name);
            assert!(!done.stderr.contains('\u{1b}'), "{}", tool.name);
        }
    }
}

#[test]
fn no_test_module_is_forgotten() {
    let folder = Path::new("tests/cli");
    let main = fs::read_to_string(folder.join("main.rs")).expect("main.rs");
    for entry in fs::read_dir(folder).expect("tests/cli") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let is_module = path.is_dir() || path.extension().is_some_and(|ext| ext == "rs");
        if is_module && name != "main" {
            let declared = main.lines().any(|line| line == format!("mod {name};"));
            assert!(declared, "tests/cli/main.rs lacks `mod {name};`");
        }
    }
}

/// No tool uses code of another tool: shared code is in a module of `src` or in a library.
#[test]
fn no_tool_uses_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools");
    let (mut folders, mut files) = (vec![root], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a source file");
            assert!(!text.contains("crate::tools"), "{}", path.display());
            for tool in tools() {
                let other = tool.name.replace("ctx-", "super::super::");
                assert!(!text.contains(&other), "{}: {other}", path.display());
            }
            files += 1;
        }
    }
    assert!(files > tools().len());
}

#[test]
fn colour_is_given_on_request_and_never_to_a_pipe() {
    let split = || Case::new(tool_path("ctx-split")).args(["no.jsonl"]).code(2);
    let text = "no such file or directory; check the path\n";
    split().stderr(&format!("ctx-split: no.jsonl: {text}")).run();
    split()
        .args(["--color", "always"])
        .stderr(&format!("\u{1b}[31mctx-split:\u{1b}[0m no.jsonl: {text}"))
        .run();
    split()
        .args(["--color", "never"])
        .env("CLICOLOR_FORCE", "1")
        .stderr(&format!("ctx-split: no.jsonl: {text}"))
        .run();
}
