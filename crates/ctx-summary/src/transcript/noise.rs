//! Removes content that is useful only to machines, such as colour codes, progress bars, reminders
//! from an agent program, and encoded data.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::pack::shorten;
use crate::LISTS;
use crate::ledger::without_reminders;
use ctx_text::{edited, regex};

/// Matches terminal escape sequences for colours and cursor movements.
static CONTROL: LazyLock<Regex> =
    LazyLock::new(|| regex("\u{1b}(?:\\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])"));
static ADDED: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("added by programs")));
/// Matches runs of characters that are longer than any word, such as base64 data.
static DATA: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z0-9+/=_-]{1000,}"));
/// How many characters of encoded data are kept. The beginning may reveal what the data is.
const BEGINNING: usize = 40;
/// The maximum number of consecutive equal lines that are kept. If there are more equal lines, only
/// the first is kept.
const SAME: usize = 3;

/// Returns `text` without content that is useful only to machines.
pub(super) fn without_noise(text: &str) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    if text.contains('\u{1b}') {
        clean = CONTROL.replace_all(text, "");
    }
    clean = edited(clean, without_reminders);
    if text.contains("<local-command-") {
        clean = edited(clean, |text| ADDED.replace_all(text, ""));
    }
    if clean.lines().any(|line| line.len() >= 1_000) {
        let shortened = |found: &Captures<'_>| {
            let (beginning, rest) = found[0].split_at(BEGINNING);
            format!("{beginning}[… {} characters of data …]", rest.len())
        };
        clean = edited(clean, |text| DATA.replace_all(text, shortened));
    }
    if clean.trim_end_matches('\r').contains('\r') || repeats(&clean) {
        clean = Cow::Owned(each_line_once(&clean));
    }
    clean
}

fn repeats(text: &str) -> bool {
    let (mut before, mut times) = ("", 0);
    text.lines().any(|line| {
        times = if line == before { times + 1 } else { 0 };
        before = line;
        times >= SAME
    })
}

/// Keeps only the final state of each overwritten line, and only the first of many consecutive
/// equal lines.
fn each_line_once(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_end_matches('\r'));
    let lines: Vec<&str> = lines.map(|line| line.rsplit('\r').next().unwrap_or(line)).collect();
    let mut clean = String::new();
    for same in lines.chunk_by(|a, b| a == b) {
        let shown = if same.len() > SAME { 1 } else { same.len() };
        same[..shown].iter().for_each(|line| clean.extend([line, "\n"]));
        let more = same.len() - shown;
        if more > 0 && !same[0].is_empty() {
            let _ = writeln!(clean, "[… the same line {more} times more …]");
        }
    }
    clean
}

/// The percentages of the kept characters that come from the beginning and the end of a cut text.
/// The rest of the kept characters come from the most informative lines in between.
const HEAD: usize = 35;
const TAIL: usize = 30;
static OUTCOME: LazyLock<Regex> = LazyLock::new(|| regex(&LISTS.pattern("outcome")));

/// Cuts `text` to about `limit` characters. `is_told` returns true if a name in a line is mentioned
/// later.
pub(super) fn cut(text: &str, limit: usize, is_told: impl Fn(&str) -> bool) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let lengths: Vec<usize> = lines.iter().map(|line| line.chars().count() + 1).collect();
    if lines.len() < 4 || lengths.iter().any(|length| *length > limit / 3) {
        return shorten(text, limit);
    }
    let mut kept = vec![false; lines.len()];
    let mut left = limit;
    let head = first(lengths.iter(), limit * HEAD / 100);
    let tail = lines.len() - first(lengths[head..].iter().rev(), limit * TAIL / 100);
    for at in (0..head).chain(tail..lines.len()) {
        kept[at] = true;
        left = left.saturating_sub(lengths[at]);
    }
    for worth in [2, 1, 0] {
        for at in head..tail {
            let of_line = || {
                let tells = OUTCOME.is_match(lines[at]);
                usize::from(tells) + usize::from(is_told(lines[at]))
            };
            if !kept[at] && lengths[at] <= left && (worth == 0 || of_line() >= worth) {
                kept[at] = true;
                left -= lengths[at];
            } else if worth == 0 && !kept[at] {
                break;
            }
        }
    }
    render(&lines, &kept)
}

/// Returns how many of the first lines together have at most `limit` characters.
fn first<'l>(lengths: impl Iterator<Item = &'l usize>, limit: usize) -> usize {
    let mut all = 0;
    let fits = |length: &&usize| {
        all += **length;
        all <= limit
    };
    lengths.take_while(fits).count()
}

fn render(lines: &[&str], kept: &[bool]) -> String {
    let mut text = String::new();
    let mut lines = lines.iter();
    for run in kept.chunk_by(|a, b| a == b) {
        let of_run = lines.by_ref().take(run.len());
        if run[0] {
            of_run.for_each(|line| text.extend([line, "\n"]));
        } else {
            let left_out = of_run.count();
            let _ = writeln!(text, "[… {left_out} lines left out …]");
        }
    }
    text.truncate(text.trim_end().len());
    text
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

#[cfg(test)]
mod cut_tests {
    use super::cut;

    fn listing() -> String {
        let lines = (0..100).map(|n| match n {
            40 => "E   AssertionError: 3 rows written".to_owned(),
            60 => "def parse_line(text): the middle".to_owned(),
            n => format!("line {n} of a listing"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn beginning_end_errors_and_what_was_talked_about_stay() {
        let text = listing();
        let short = cut(&text, 400, |line| line.contains("parse_line"));
        assert!(short.starts_with("line 0 of a listing\nline 1 "), "{short}");
        assert!(short.ends_with("line 98 of a listing\nline 99 of a listing"), "{short}");
        assert!(short.contains("AssertionError") && short.contains("parse_line"), "{short}");
        assert!(short.contains("lines left out …]\n"), "{short}");
        assert!(short.chars().count() < 500, "{short}");
    }

    #[test]
    fn long_lines_are_cut_in_the_middle() {
        let text = "x".repeat(1_000);
        let half = "x".repeat(100);
        assert_eq!(
            cut(&text, 200, |_| true),
            format!("{half}\n[… 800 characters left out …]\n{half}")
        );
    }
}
