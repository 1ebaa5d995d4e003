//! The examples of README.md and docs/*.md do what they show.
//!
//! Each `console` block runs in a fresh copy of `examples/`, next to the files that the page shows.
//! A line that begins with `$ ` is a command, and continues on the next line if it ends in `\`; the
//! lines after it are its output. `[..]` stands for any text within a line. A variable that a
//! command sets is available to the next one. A preparation that would bore a reader is a comment
//! above the block: `<!-- before: COMMAND -->`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::pages::{Block, blocks, pages, root};
use crate::{tool_path, tools};

struct Step {
    command: String,
    output: Vec<String>,
}

fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in &block.lines {
        let text = match (goes_on, line.strip_prefix("$ ")) {
            (true, _) => line.as_str(),
            (false, Some(command)) => {
                steps.push(Step { command: String::new(), output: Vec::new() });
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

/// Runs a command as the reader would: with the tools first in PATH, and with an environment that
/// only the earlier commands have changed, which is kept in `state`.
fn run(command: &str, folder: &Path, state: &Path) -> (Option<i32>, String) {
    let bin = tool_path(tools()[0].name);
    let bin = bin.parent().expect("a folder of binaries");
    let path = std::env::var("PATH").expect("PATH");
    let output = Command::new("bash")
        .args(["-eo", "pipefail", "-c"])
        .arg(format!(
            "exec 2>&1\n[ ! -e \"$STATE\" ] || . \"$STATE\"\nset -a\n{command}\nexport -p > \"$STATE\""
        ))
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", folder)
        .env("STATE", state)
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .output()
        .expect("bash starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

/// Returns true if `found` matches `shown`, in which `[..]` stands for any text.
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

/// Runs a block and returns the differences. `files` are the files that its page shows.
fn check(block: &Block, files: &[&Block]) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let state = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(root().join("examples")).expect("examples/") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, folder.path().join(path.file_name().expect("a name"))).expect("a copy");
    }
    for file in files {
        let name = file.file.as_deref().expect("a name");
        fs::write(folder.path().join(name), file.text()).expect("written");
    }
    let state = state.path().join("state");
    if let Some(before) = &block.before {
        let (code, text) = run(before, folder.path(), &state);
        if code != Some(0) {
            return Err(format!("{}: before it: {text}", block.place));
        }
    }
    for step in steps(block) {
        let (code, text) = run(&step.command, folder.path(), &state);
        let place = format!("{}: $ {}", block.place, step.command);
        if code != Some(0) {
            return Err(format!("{place}--- exit status {code:?}\n{text}"));
        }
        let found: Vec<&str> = text.lines().collect();
        let same = found.len() == step.output.len()
            && step.output.iter().zip(&found).all(|(shown, found)| matches(shown, found));
        if !same {
            let shown = step.output.join("\n");
            return Err(format!("{place}--- shown\n{shown}\n--- found\n{text}"));
        }
    }
    Ok(())
}

#[test]
fn every_console_block_runs_as_shown() {
    let mut wrong = Vec::new();
    for page in pages() {
        let blocks = blocks(&page);
        let files: Vec<&Block> = blocks.iter().filter(|it| it.file.is_some()).collect();
        let shown = blocks.iter().filter(|it| it.language == "console");
        wrong.extend(shown.filter_map(|block| check(block, &files).err()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the lines of a section in one language in the README.
fn typed(language: &str) -> Vec<String> {
    blocks(&root().join("README.md"))
        .into_iter()
        .filter(|block| block.language == language)
        .map(|block| block.lines.join("\n"))
        .collect()
}

#[test]
fn the_readme_installs_tries_and_tests() {
    let install =
        "cargo install --locked --path . && cargo install --locked --path crates/ctx-memory-tool";
    let test = "cargo test --workspace --locked";
    assert_eq!(typed("sh"), [install, "examples/compact.sh", test]);
}

/// The README is short enough that a new user reads it to the end.
#[test]
fn the_readme_is_short() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    assert!(text.lines().count() <= 150, "{} lines", text.lines().count());
}

#[test]
fn every_tool_has_a_page_with_an_example_and_a_row_in_the_readme() {
    let text = fs::read_to_string(root().join("README.md")).expect("README.md");
    let rows = text.lines().filter(|line| line.starts_with("| [`ctx-"));
    assert_eq!(rows.count(), tools().len());
    for tool in tools() {
        let name = tool.name;
        let row = format!("| [`{name}`](docs/tools/{name}.md) | ");
        assert!(text.contains(&row), "README.md lacks {row}");
        let page = blocks(&root().join(format!("docs/tools/{name}.md")));
        let shown = page.iter().filter(|block| block.language == "console");
        let is_shown = shown.flat_map(steps).any(|step| {
            let mut words = step.command.split_whitespace();
            words.any(|word| word.trim_start_matches('(') == name)
        });
        assert!(is_shown, "docs/tools/{name}.md shows no use of it");
    }
}

/// The targets of links exist: files, and headings in them.
#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for link in links(&page) {
            count += 1;
            if !leads_somewhere(&page, &link) {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "{count} links");
}

/// Returns the targets of links and pictures within the repository.
fn links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("a page");
    let link = regex::Regex::new(r#"\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)""#).expect("a pattern");
    let targets = link.captures_iter(&text).filter_map(|it| it.get(1).or(it.get(2)));
    targets
        .map(|target| target.as_str().to_owned())
        .filter(|target| !target.contains("://"))
        .collect()
}

fn leads_somewhere(page: &Path, link: &str) -> bool {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => page.parent().expect("a folder").join(file),
    };
    let Ok(text) = fs::read_to_string(&target) else {
        return target.exists() && heading.is_empty();
    };
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    heading.is_empty() || headings.any(|line| anchor(line) == heading)
}

/// Returns the anchor of a heading on GitHub.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
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
        language: "console".to_owned(),
        file: None,
        before: None,
        lines: ["$ a |\\", "  b", "out", "", "$ c"].map(str::to_owned).to_vec(),
    };
    let steps = steps(&block);
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].command, "a |\\\n  b\n");
    assert_eq!(steps[0].output, ["out", ""]);
    assert_eq!(steps[1].command, "c\n");
}
