//! The examples of README.md and docs/*.md do what they show.
//!
//! Each `console` block runs in a fresh copy of `examples/`. A line that begins
//! with `$ ` is a command, and goes on in the next line when it ends in `\`;
//! the lines behind it are what it writes. `[..]` stands for any text within a line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_cli::ExitStatus;

use crate::{tool_path, tools};

struct Block {
    /// `README.md:12`
    place: String,
    lines: Vec<String>,
}

struct Step {
    command: String,
    output: Vec<String>,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = fs::read_dir(root().join("docs"))
        .expect("docs/")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// The blocks fenced as `language` in a page.
fn blocks(page: &Path, language: &str) -> Vec<Block> {
    let text = fs::read_to_string(page).expect("a page");
    let name = page
        .strip_prefix(root())
        .expect("in the repository")
        .display();
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(fence) = line.strip_prefix("```").filter(|word| !word.is_empty()) else {
            continue;
        };
        let content = lines
            .by_ref()
            .map(|(_, line)| line.to_owned())
            .take_while(|line| line != "```")
            .collect();
        if fence == language {
            blocks.push(Block {
                place: format!("{name}:{}", number + 1),
                lines: content,
            });
        }
    }
    blocks
}

fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in &block.lines {
        let text = match (goes_on, line.strip_prefix("$ ")) {
            (true, _) => line.as_str(),
            (false, Some(command)) => {
                steps.push(Step {
                    command: String::new(),
                    output: Vec::new(),
                });
                command
            }
            (false, None) => {
                let step = steps
                    .last_mut()
                    .unwrap_or_else(|| panic!("{}: output before the first command", block.place));
                step.output.push(line.clone());
                continue;
            }
        };
        goes_on = text.ends_with('\\');
        let step = steps.last_mut().expect("a command has begun");
        step.command.push_str(text);
        step.command.push('\n');
    }
    steps
}

/// Runs a command as the reader would: the tools first on PATH, nothing of ours in the environment.
fn run(command: &str, folder: &Path) -> (Option<i32>, String) {
    let bin = tool_path(tools()[0].name);
    let bin = bin.parent().expect("a folder of binaries");
    let path = std::env::var("PATH").expect("PATH");
    let output = Command::new("bash")
        .args(["-eo", "pipefail", "-c"])
        .arg(format!("exec 2>&1\n{command}"))
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", folder)
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .output()
        .expect("bash starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

/// Whether `found` is what `shown` says; `[..]` in it stands for any text.
fn matches(shown: &str, found: &str) -> bool {
    let mut parts = shown.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = found.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn check(block: &Block) {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(root().join("examples")).expect("examples/") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, folder.path().join(path.file_name().expect("a name"))).expect("a copy");
    }
    for step in steps(block) {
        let (code, text) = run(&step.command, folder.path());
        let place = format!("{}: $ {}", block.place, step.command);
        assert_eq!(code, Some(0), "exit status of {place}{text}");
        let found: Vec<&str> = text.lines().collect();
        let same = found.len() == step.output.len()
            && step
                .output
                .iter()
                .zip(&found)
                .all(|(shown, found)| matches(shown, found));
        assert!(
            same,
            "{place}--- shown\n{}\n--- found\n{text}",
            step.output.join("\n")
        );
    }
}

#[test]
fn every_console_block_runs_as_shown() {
    for page in pages() {
        for block in blocks(&page, "console") {
            check(&block);
        }
    }
}

#[test]
fn the_readme_starts_with_two_commands() {
    let shell: Vec<String> = blocks(&root().join("README.md"), "sh")
        .into_iter()
        .map(|block| block.lines.join("\n"))
        .collect();
    assert_eq!(
        shell,
        ["examples/compact.sh", "cargo test --workspace --locked"]
    );
}

#[test]
fn every_tool_has_an_example_in_the_readme() {
    let commands: Vec<String> = blocks(&root().join("README.md"), "console")
        .iter()
        .flat_map(steps)
        .map(|step| step.command)
        .collect();
    for tool in tools() {
        let shown = commands.iter().any(|command| {
            command
                .split_whitespace()
                .any(|word| word.trim_start_matches('(') == tool.name)
        });
        assert!(shown, "README.md shows no use of {}", tool.name);
    }
}

#[test]
fn the_readme_has_every_tool_and_every_exit_status() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    for (status, meaning) in ExitStatus::TABLE {
        let row = format!("| {} | {meaning} |", status.code());
        assert!(text.contains(&row), "README.md lacks {row}");
    }
    let listed: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `ctx-"))
        .filter_map(|rest| rest.split('`').next())
        .collect();
    for tool in tools() {
        let name = tool.name.trim_start_matches("ctx-");
        assert!(
            listed.contains(&name),
            "README.md does not list {}",
            tool.name
        );
    }
    assert_eq!(listed.len(), tools().len(), "README.md lists {listed:?}");
}

#[test]
fn a_wildcard_stands_for_text_within_a_line() {
    assert!(matches("saved [..] (12 lines)", "saved a-20 (12 lines)"));
    assert!(matches("[..]", ""));
    assert!(matches("a[..]b[..]c", "a1b2bc"));
    assert!(!matches("saved [..] (12 lines)", "saved a-20 (13 lines)"));
    assert!(!matches("same", "same "));
    assert!(!matches("a[..]b", "ba"));
}

#[test]
fn commands_go_on_behind_a_backslash() {
    let block = Block {
        place: "x".to_owned(),
        lines: ["$ a |\\", "  b", "out", "", "$ c"]
            .map(str::to_owned)
            .to_vec(),
    };
    let steps = steps(&block);
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].command, "a |\\\n  b\n");
    assert_eq!(steps[0].output, ["out", ""]);
    assert_eq!(steps[1].command, "c\n");
}
