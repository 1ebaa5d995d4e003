//! The picture of the README: a real run of the tools on the example session, in a terminal.
//!
//! The output is that of the tools; the example session is in a separate home, as sessions of three
//! agents. The same tools draw the same picture.

mod svg;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::{Files, root};

const COLUMNS: u16 = 100;

/// What is done before, out of sight: three sessions, at rest.
const BEFORE: &str = "
put() {
    mkdir -p \"$(dirname \"$2\")\"
    ctx-convert -q --to \"$1\" --cwd \"$4\" -s 11111111-2222-4333-8444-555555555555 \"$3\" -o \"$2\"
    touch -d \"$5\" \"$2\"
}
head -n 59 session.jsonl > begun.jsonl
(head -n 1 session.jsonl && sed -n 124,156p session.jsonl) > zones.jsonl
put claude-code ~/.claude/projects/-work-berthbook/day.jsonl session.jsonl /work/berthbook '25 minutes ago'
put codex ~/.codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-11111111-2222-4333-8444-555555555555.jsonl begun.jsonl /work/berthbook '3 hours ago'
put pi ~/.pi/agent/sessions/--work-kiosk--/kiosk.jsonl zones.jsonl /work/kiosk '2 days ago'
";

/// What is shown, in the folder of the first session.
const SHOWN: [&str; 5] = [
    "ctx-ls --window 32k",
    "ctx-count --window 32k day.jsonl",
    "ctx-compact -n --budget 9000 day.jsonl",
    "ctx-compact --budget 9000 day.jsonl",
    "ctx-rollback --undo day.jsonl   # every byte is back",
];

/// Draws it with the tools in a folder: light and dark.
pub fn drawn(bin: &Path) -> anyhow::Result<Files> {
    let home = tempfile::tempdir().context("cannot make a folder")?;
    let example = root().join("examples/session.jsonl");
    fs::copy(&example, home.path().join("session.jsonl")).context("cannot copy the example")?;
    let terminal = Terminal { bin, home: home.path(), columns: COLUMNS };
    let said = terminal.run(home.path(), BEFORE)?;
    ensure!(said.is_empty(), "unexpected: {said}");
    let folder = home.path().join(".claude/projects/-work-berthbook");
    let mut lines = Vec::new();
    for (number, command) in SHOWN.iter().enumerate() {
        if number > 0 {
            lines.push(Vec::new());
        }
        lines.push(prompt(command));
        lines.extend(screen(&terminal.run(&folder, command)?));
    }
    let themes = [("light", svg::LIGHT), ("dark", svg::DARK)];
    let files = themes.iter().map(|(name, theme)| {
        let path = PathBuf::from(format!("docs/picture/{name}.svg"));
        (path, svg::draw(&lines, theme).into_bytes())
    });
    Ok(files.collect())
}

fn prompt(command: &str) -> Vec<Run> {
    let run = |text: &str, style| Run { text: text.to_owned(), style };
    let faint = Style { is_faint: true, ..Style::default() };
    let bold = Style { is_bold: true, ..Style::default() };
    vec![run("$ ", faint), run(command, bold)]
}

struct Terminal<'a> {
    /// Where the tools are.
    bin: &'a Path,
    home: &'a Path,
    columns: u16,
}

impl Terminal<'_> {
    /// What a command writes to stdout, as the terminal gets it. It must succeed, and say nothing
    /// on stderr, which is no terminal: how far a slow run is would make another picture.
    fn run(&self, folder: &Path, command: &str) -> anyhow::Result<String> {
        let terminal = ctx_testkit::Terminal::new(self.columns);
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-euc", command])
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{}:{path}", self.bin.display()))
            .env("HOME", self.home)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(terminal.stream())
            .stdout(terminal.stream())
            .stderr(Stdio::piped());
        let ended = bash.spawn().and_then(std::process::Child::wait_with_output);
        drop(bash);
        let ended = ended.context("bash does not run")?;
        let text = terminal.ended();
        let said = String::from_utf8_lossy(&ended.stderr);
        let is_well = ended.status.success() && said.is_empty();
        ensure!(is_well, "{command}: {}: {text}{said}", ended.status);
        Ok(text)
    }
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    /// One of the 16 colours of a terminal; the default colour if `None`.
    colour: Option<u8>,
    is_bold: bool,
    is_faint: bool,
}

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    text: String,
    style: Style,
}

/// The lines, each of them in runs.
fn screen(text: &str) -> Vec<Vec<Run>> {
    let mut style = Style::default();
    let lines = text.lines();
    lines.map(|line| runs(line.trim_end_matches('\r'), &mut style)).collect()
}

fn runs(line: &str, style: &mut Style) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut parts = line.split("\u{1b}[");
    push(&mut runs, parts.next().unwrap_or_default(), *style);
    for part in parts {
        let Some((codes, text)) = part.split_once('m') else {
            continue;
        };
        for code in codes.split(';') {
            *style = changed(*style, code);
        }
        push(&mut runs, text, *style);
    }
    runs
}

fn push(runs: &mut Vec<Run>, text: &str, style: Style) {
    if !text.is_empty() {
        runs.push(Run { text: text.to_owned(), style });
    }
}

/// ECMA-48, select graphic rendition.
fn changed(style: Style, code: &str) -> Style {
    match code.parse().unwrap_or(0_u8) {
        0 => Style::default(),
        1 => Style { is_bold: true, ..style },
        2 => Style { is_faint: true, ..style },
        22 => Style { is_bold: false, is_faint: false, ..style },
        code @ 30..=37 => Style { colour: Some(code - 30), ..style },
        code @ 90..=97 => Style { colour: Some(code - 82), ..style },
        39 => Style { colour: None, ..style },
        _ => style,
    }
}

#[cfg(test)]
mod tests {
    use super::{Run, Style, screen};

    fn run(text: &str, colour: Option<u8>, is_bold: bool) -> Run {
        let style = Style { colour, is_bold, is_faint: false };
        Run { text: text.to_owned(), style }
    }

    #[test]
    fn colours_hold_until_they_are_reset() {
        let shown = screen("a \u{1b}[1;32mb\u{1b}[22mc\r\nd\u{1b}[0me\u{1b}[91mf");
        assert_eq!(
            shown,
            [
                vec![run("a ", None, false), run("b", Some(2), true), run("c", Some(2), false)],
                vec![run("d", Some(2), false), run("e", None, false), run("f", Some(9), false)],
            ]
        );
    }
}
