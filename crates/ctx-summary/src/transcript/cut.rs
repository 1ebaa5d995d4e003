//! Shortens a tool's text: keeps its beginning, its end, and lines between them with errors or with
//! names that occur later.

use std::sync::LazyLock;

use regex::Regex;

use super::pack::shorten;
use crate::pattern::pattern;

/// The percentage of characters for the beginning; the end gets the rest.
const HEAD: usize = 35;
const TAIL: usize = 30;
/// Lines that tell how something went.
static OUTCOME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        "(?i)\\b(?:errors?|exception|fail(?:ed|ure|s)?|panicked|fatal|assert\\w*|traceback|warning|passed|denied|not found|错误|失败)\\b",
    )
});

/// At most about `limit` characters of a text; `is_told`: whether a line was mentioned elsewhere.
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

/// How many of the first lines have that many characters.
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
    let mut missing = 0;
    for (line, kept) in lines.iter().zip(kept) {
        if *kept {
            tell(&mut text, &mut missing);
            text.push_str(line);
            text.push('\n');
        } else {
            missing += 1;
        }
    }
    tell(&mut text, &mut missing);
    text.truncate(text.trim_end().len());
    text
}

fn tell(text: &mut String, missing: &mut usize) {
    if *missing > 0 {
        let mark = format!("[… {missing} lines left out …]\n");
        text.push_str(&mark);
        *missing = 0;
    }
}

#[cfg(test)]
mod tests {
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
