//! The picture of the README: a real run of the tools on the example session, in a terminal.
//!
//! The output is that of the tools; the example session is in a separate home, as sessions of three
//! agents. The same tools draw the same picture.

mod screen;
mod svg;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::{Files, root};
use screen::{Run, Style};

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
    let terminal = terminal::Terminal { bin, home: home.path(), columns: COLUMNS };
    let said = terminal.run(home.path(), BEFORE)?;
    ensure!(said.is_empty(), "unexpected: {said}");
    let folder = home.path().join(".claude/projects/-work-berthbook");
    let mut lines = Vec::new();
    for (number, command) in SHOWN.iter().enumerate() {
        if number > 0 {
            lines.push(Vec::new());
        }
        lines.push(prompt(command));
        lines.extend(screen::lines(&terminal.run(&folder, command)?));
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
