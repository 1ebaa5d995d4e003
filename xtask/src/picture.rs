//! The picture of the README: a real run of the tools on the example session, in a terminal.
//!
//! The output is that of the tools; the example session is in a separate home, as sessions of three
//! agents. The same tools draw the same picture.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use unicode_width::UnicodeWidthStr;

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
    let home = home.path();
    let example = root().join("examples/session.jsonl");
    fs::copy(&example, home.join("session.jsonl")).context("cannot copy the example")?;
    let said = run(bin, home, home, BEFORE)?;
    ensure!(said.is_empty(), "unexpected: {said}");
    let folder = home.join(".claude/projects/-work-berthbook");
    let mut shown = Vec::new();
    for command in SHOWN {
        let said = run(bin, home, &folder, command)?;
        shown.push(format!("\u{1b}[0;2m$ \u{1b}[0;1m{command}\u{1b}[0m\n{said}"));
    }
    let shown = shown.join("\n");
    let files = [("light", LIGHT), ("dark", DARK)].map(|(name, theme)| {
        let path = PathBuf::from(format!("docs/picture/{name}.svg"));
        (path, draw(&shown, &theme).into_bytes())
    });
    Ok(Files::from(files))
}

/// What a command writes to stdout, as the terminal gets it. It must succeed, and say nothing
/// on stderr, which is no terminal: how far a slow run is would make another picture.
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

/// Colours on a background: those of the text, faint text, and the 16 of a terminal.
struct Theme {
    background: &'static str,
    border: &'static str,
    text: &'static str,
    faint: &'static str,
    colours: [&'static str; 16],
}

/// Each colour has a contrast of 4.5 and more on the background (WCAG 2.2, 1.4.3).
const LIGHT: Theme = Theme {
    background: "#ffffff",
    border: "#d0d7de",
    text: "#1f2328",
    faint: "#59636e",
    colours: [
        "#24292f", "#b31d28", "#116329", "#7d4e00", "#0550ae", "#6f2dbd", "#0b6070", "#57606a",
        "#57606a", "#a40e26", "#1a7f37", "#633c01", "#0969da", "#8250df", "#1b7c83", "#424a53",
    ],
};

/// The same on a dark one.
const DARK: Theme = Theme {
    background: "#0d1117",
    border: "#30363d",
    text: "#e6edf3",
    faint: "#9198a1",
    colours: [
        "#8b949e", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
        "#8b949e", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
    ],
};

/// In user units: a character of the font is 0.6 of its size wide.
const SIZE: f64 = 14.0;
const COLUMN: f64 = 8.4;
const ROW: f64 = 20.0;
const MARGIN: f64 = 20.0;

/// How a piece of text looks.
#[derive(Clone, Copy, Default)]
struct Style {
    /// One of the 16 colours of a terminal; the default colour if `None`.
    colour: Option<u8>,
    is_bold: bool,
    is_faint: bool,
}

/// Draws what a terminal shows, on as many columns as the longest line takes.
fn draw(shown: &str, theme: &Theme) -> String {
    let mut style = Style::default();
    let (mut drawn, mut rows, mut columns) = (String::new(), 0.0, 0);
    for line in shown.lines() {
        let mut parts = line.trim_end_matches('\r').split("\u{1b}[");
        let mut runs = vec![(style, parts.next().unwrap_or_default())];
        for part in parts {
            let Some((codes, text)) = part.split_once('m') else {
                continue;
            };
            for code in codes.split(';') {
                style = changed(style, code);
            }
            runs.push((style, text));
        }
        let mut column = 0;
        for (style, run) in runs {
            let (x, y) = (MARGIN + COLUMN * column as f64, MARGIN + ROW * (rows + 0.75));
            column += run.width();
            if !run.trim().is_empty() {
                text(&mut drawn, run, style, (x, y), theme);
            }
        }
        columns = columns.max(column);
        rows += 1.0;
    }
    let width = COLUMN * columns as f64 + 2.0 * MARGIN;
    let height = ROW * rows + 2.0 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.0}\" role=\"img\" aria-label=\"ctx-tools in a terminal\">\n\
         <style>text {{ font: {SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }}</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\" fill=\"{}\" stroke=\"{}\"/>\n\
         {drawn}</svg>\n",
        width - 1.0,
        height - 1.0,
        theme.background,
        theme.border,
    )
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

/// Text in one style, at its place whatever font there is.
fn text(drawn: &mut String, run: &str, style: Style, (x, y): (f64, f64), theme: &Theme) {
    let fill = match style.colour {
        Some(colour) => theme.colours[usize::from(colour)],
        None if style.is_faint => theme.faint,
        None => theme.text,
    };
    let weight = if style.is_bold { " font-weight=\"bold\"" } else { "" };
    let length = COLUMN * run.width() as f64;
    let escaped = run.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Writing to a string cannot fail.
    let _ = writeln!(
        drawn,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{fill}\"{weight} textLength=\"{length:.1}\" xml:space=\"preserve\">{escaped}</text>",
    );
}

#[cfg(test)]
mod tests {
    use super::{DARK, LIGHT, Theme, draw};

    /// Relative luminance, as WCAG 2.2 defines it.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let byte = u8::from_str_radix(&colour[at..at + 2], 16).expect("hex");
            let value = f64::from(byte) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_colour_can_be_read() {
        for Theme { background, text, faint, colours, .. } in [LIGHT, DARK] {
            for colour in colours.into_iter().chain([text, faint]) {
                let contrast = contrast(colour, background);
                assert!(contrast >= 4.5, "{colour} on {background}: {contrast}");
            }
        }
    }

    #[test]
    fn text_stands_at_its_column_and_is_escaped() {
        let drawn = draw("ab\u{1b}[31m<&>\u{1b}[0m  x", &LIGHT);
        assert!(drawn.contains(">&lt;&amp;&gt;</text>"), "{drawn}");
        assert!(drawn.contains("x=\"36.8\""), "{drawn}");
        assert!(drawn.contains("fill=\"#b31d28\""), "{drawn}");
    }

    #[test]
    fn colours_hold_until_they_are_reset() {
        let drawn = draw("a \u{1b}[1;32mb\u{1b}[22mc\r\nd\u{1b}[0me\u{1b}[91mf", &LIGHT);
        for (text, looks) in [
            ("a ", "fill=\"#1f2328\" textLength"),
            ("b", "fill=\"#116329\" font-weight=\"bold\""),
            ("c", "fill=\"#116329\" textLength"),
            ("d", "fill=\"#116329\" textLength"),
            ("e", "fill=\"#1f2328\" textLength"),
            ("f", "fill=\"#a40e26\" textLength"),
        ] {
            let mut lines = drawn.lines();
            let line = lines.find(|line| line.contains(&format!(">{text}</text>")));
            assert!(line.is_some_and(|line| line.contains(looks)), "{text}: {drawn}");
        }
    }
}
