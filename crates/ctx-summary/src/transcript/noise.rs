//! Removes what only machines read: colours, progress bars, reminders of an agent's program, data.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::ledger::without_reminders;
use regex::{Captures, Regex};

use crate::pattern::pattern;

/// Colours and moves of a terminal's cursor.
static CONTROL: LazyLock<Regex> =
    LazyLock::new(|| pattern("\u{1b}(?:\\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])"));
/// What an agent's program (Claude Code 2) adds to user messages besides reminders.
static PROGRAM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?s)<local-command-caveat>.*?</local-command-caveat>\n?",
        r"|<local-command-stdout>\s*</local-command-stdout>\n?",
    ))
});
/// Base64 and the like: no word is so long.
static DATA: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+/=_-]{1000,}"));
/// Characters at the beginning of data that stay: they tell what it is.
const BEGINNING: usize = 40;
/// A line that occurs more often is kept once.
const SAME: usize = 3;

/// The text without it.
pub(super) fn without_noise(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    if text.contains('\u{1b}') {
        clean = replaced(clean, &CONTROL, |_| String::new());
    }
    clean = match clean {
        Cow::Borrowed(text) => without_reminders(text),
        Cow::Owned(text) => without_reminders(&text).into_owned().into(),
    };
    if text.contains("<local-command-") {
        clean = replaced(clean, &PROGRAM, |_| String::new());
    }
    if clean.lines().any(|line| line.len() >= 1_000) {
        clean = replaced(clean, &DATA, |found| {
            let data = &found[0];
            let left = data.len() - BEGINNING;
            format!("{}[… {left} characters of data …]", &data[..BEGINNING])
        });
    }
    if clean.trim_end_matches('\r').contains('\r') || repeats(&clean) {
        clean = Cow::Owned(each_line_once(&clean));
    }
    clean
}

fn replaced<'t>(
    text: Cow<'t, str>,
    what: &Regex,
    with: impl Fn(&Captures<'_>) -> String,
) -> Cow<'t, str> {
    match what.replace_all(&text, |found: &Captures<'_>| with(found)) {
        Cow::Borrowed(_) => text,
        Cow::Owned(text) => text.into(),
    }
}

fn repeats(text: &str) -> bool {
    let (mut before, mut times) = ("", 0);
    text.lines().any(|line| {
        times = if line == before { times + 1 } else { 0 };
        before = line;
        times >= SAME
    })
}

/// Keeps the final state of a line that was overwritten, and the first of equal lines in a row.
fn each_line_once(text: &str) -> String {
    let last = |line: &'_ str| -> String {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or(line).to_owned()
    };
    let mut lines: Vec<(String, usize)> = Vec::new();
    for line in text.lines().map(last) {
        match lines.last_mut() {
            Some((before, times)) if *before == line => *times += 1,
            _ => lines.push((line, 1)),
        }
    }
    let mut clean = String::new();
    for (line, times) in lines {
        let shown = if times > SAME { 1 } else { times };
        for _ in 0..shown {
            clean.push_str(&line);
            clean.push('\n');
        }
        if times > shown && !line.is_empty() {
            let mark = format!("[… the same line {} times more …]\n", times - shown);
            clean.push_str(&mark);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::without_noise;

    #[test]
    fn colours_reminders_and_bars_go() {
        for (text, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a<system-reminder>\nbe nice\n</system-reminder>b", "ab"),
            ("<local-command-stdout></local-command-stdout>", ""),
            (" 10 %\r 50 %\r100 %\ndone\n", "100 %\ndone\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("x\nw\nw\nw\nw\nw\ny", "x\nw\n[… the same line 4 times more …]\ny\n"),
            ("w\nw\nw", "w\nw\nw"),
        ] {
            assert_eq!(without_noise(text), clean, "{text:?}");
        }
        let data = format!("png: {}", "iVBORw0K".repeat(200));
        assert_eq!(
            without_noise(&data),
            format!("png: {}[… 1560 characters of data …]", "iVBORw0K".repeat(5))
        );
    }

    #[test]
    fn what_people_read_stays() {
        let text = "line\nother line\n\n```\n<b>x</b>\n```\n";
        assert!(matches!(without_noise(text), Cow::Borrowed(same) if same == text));
    }
}
