//! Draws the picture in the README: a real run of the tools on the example session, in a terminal.
//!
//! The tools run in a temporary home folder with sessions of three agents, all made from the
//! example session. As long as the tools do not change, neither does the picture.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use unicode_width::UnicodeWidthStr;

use crate::{Files, root};

const COLUMNS: u16 = 100;

/// The commands that create three sessions, each for a different agent, before the picture begins.
const BEFORE: &str = include_str!("picture/before.sh");

/// The commands that the picture shows, run in the first session's folder.
const SHOWN: &str = include_str!("picture/shown.sh");

/// Draws the picture for light and for dark pages by running the tools from the folder `bin`.
pub fn drawn(bin: &Path) -> anyhow::Result<Files> {
    let home = tempfile::tempdir().context("cannot make a folder")?;
    let home = home.path();
    let example = root().join("examples/session.jsonl");
    fs::copy(&example, home.join("session.jsonl")).context("cannot copy the example")?;
    let said = run(bin, home, home, BEFORE)?;
    ensure!(said.is_empty(), "unexpected: {said}");
    let folder = home.join(".claude/projects/-work-berthbook");
    let mut shown = Vec::new();
    for command in SHOWN.lines() {
        let said = run(bin, home, &folder, command)?;
        shown.push(format!("\u{1b}[0;2m$ \u{1b}[0;1m{command}\u{1b}[0m\n{said}"));
    }
    let shown = shown.join("\n");
    let files = [("light", LIGHT), ("dark", DARK)].map(|(name, theme)| {
        (PathBuf::from(format!("docs/picture/{name}.svg")), draw(&shown, theme).into_bytes())
    });
    Ok(Files::from(files))
}

/// Runs a command in a terminal and returns its output. The command must succeed and print nothing
/// on stderr. Stderr is a pipe, because the progress line of a slow run would change the picture.
fn run(bin: &Path, home: &Path, folder: &Path, command: &str) -> anyhow::Result<String> {
    let terminal = ctx_testkit::Terminal::new(COLUMNS);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash = Command::new("bash");
    bash.args(["-euc", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", home)
        .env("TERM", "xterm-256color")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .stdin(terminal.stream())
        .stdout(terminal.stream())
        .stderr(Stdio::piped());
    let ended = bash.spawn().and_then(Child::wait_with_output);
    drop(bash);
    let ended = ended.context("bash does not run")?;
    let text = terminal.ended();
    let said = String::from_utf8_lossy(&ended.stderr);
    let is_well = ended.status.success() && said.is_empty();
    ensure!(is_well, "{command}: {}: {text}{said}", ended.status);
    Ok(text)
}

/// The colours of the background and the text, and the style for each ECMA-48 code (select graphic
/// rendition). Each colour has a contrast of at least 4.5 with the background (WCAG 2.2, 1.4.3).
const LIGHT: &str = include_str!("picture/light.css");
const DARK: &str = include_str!("picture/dark.css");

/// The width of a character in user units: 0.6 times the font size, which is 14.
const COLUMN: f64 = 8.4;
const ROW: f64 = 20.0;
const MARGIN: f64 = 20.0;

/// Draws the content of a terminal. The picture is as wide as the longest line.
fn draw(shown: &str, theme: &str) -> String {
    let mut style: Vec<String> = Vec::new();
    let (mut drawn, mut rows, mut columns) = (String::new(), 0.0, 0);
    for line in shown.lines() {
        let mut column = 0;
        for (number, part) in line.trim_end_matches('\r').split("\u{1b}[").enumerate() {
            let (codes, run) = part.split_once('m').filter(|_| number > 0).unwrap_or(("", part));
            for code in codes.split(';').filter(|code| !code.is_empty()) {
                match code {
                    "0" => style.clear(),
                    code => style.push(format!("sgr{code}")),
                }
            }
            if !run.trim().is_empty() {
                text(&mut drawn, run, &style.join(" "), (column, rows));
            }
            column += run.width();
        }
        columns = columns.max(column);
        rows += 1.0;
    }
    let width = COLUMN * columns as f64 + 2.0 * MARGIN;
    let height = ROW * rows + 2.0 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.0}\" role=\"img\" aria-label=\"ctx-tools in a terminal\">\n\
         <style>\n{theme}</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\"/>\n\
         {drawn}</svg>\n",
        width - 1.0,
        height - 1.0,
    )
}

/// Draws text in one style. The position and the width of the text do not depend on the font.
fn text(drawn: &mut String, run: &str, style: &str, (column, row): (usize, f64)) {
    let (x, y) = (MARGIN + COLUMN * column as f64, MARGIN + ROW * (row + 0.75));
    let length = COLUMN * run.width() as f64;
    let escaped = run.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Writing to a string cannot fail.
    let _ = writeln!(
        drawn,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{style}\" textLength=\"{length:.1}\" xml:space=\"preserve\">{escaped}</text>",
    );
}

#[cfg(test)]
mod tests {
    use super::{DARK, LIGHT, draw};

    /// Returns the relative luminance, as defined by WCAG 2.2.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let byte = u8::from_str_radix(&colour[at..at + 2], 16).expect("hex");
            let value = f64::from(byte) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_colour_can_be_read() {
        for theme in [LIGHT, DARK] {
            let mut colours = theme.split("fill: #").skip(1).map(|rest| &rest[..6]);
            let background = colours.next().expect("a background");
            let colours: Vec<&str> = colours.collect();
            assert!(colours.len() >= 8, "{theme}");
            for colour in colours {
                let contrast = contrast(colour, background);
                assert!(contrast >= 4.5, "{colour} on {background}: {contrast}");
            }
        }
    }

    #[test]
    fn text_stands_at_its_column_and_is_escaped() {
        let drawn = draw("ab\u{1b}[31m<&>\u{1b}[0m  x", LIGHT);
        assert!(drawn.contains(">&lt;&amp;&gt;</text>"), "{drawn}");
        assert!(drawn.contains("x=\"36.8\" y=\"35.0\" class=\"sgr31\""), "{drawn}");
    }

    #[test]
    fn colours_hold_until_they_are_reset() {
        let drawn = draw("a \u{1b}[1;32mb\r\nc\u{1b}[0md m\u{1b}[91mf", LIGHT);
        for (text, class) in
            [("a ", ""), ("b", "sgr1 sgr32"), ("c", "sgr1 sgr32"), ("d m", ""), ("f", "sgr91")]
        {
            let mut lines = drawn.lines();
            let line = lines.find(|line| line.contains(&format!(">{text}</text>")));
            let class = format!(" class=\"{class}\"");
            assert!(line.is_some_and(|line| line.contains(&class)), "{text}: {drawn}");
        }
    }
}
