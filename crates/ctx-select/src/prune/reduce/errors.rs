//! Lines that look like errors: what a reader of a long output looks for.

use std::sync::LazyLock;

use regex::Regex;

use super::noise::without_escapes;

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    // Words are those of ASCII: with Unicode's the automaton gives up at the first
    // letter that is none, and the search is many times slower.
    let words = r"(?i)(?-u:\b)(errors?|err|exception|traceback|panic(ked)?|fatal|fail(ed|ure)s?|denied|abort(ed)?|segmentation fault|no such file|not found|undefined reference)(?-u:\b)|(?-i:[0-9A-Za-z_](Error|Exception)(?-u:\b))|错误|失败|异常";
    Regex::new(words).expect("a constant pattern")
});

/// Whether the first line of a text that is not blank looks like an error.
pub(in crate::prune) fn begins_with_error(text: &str) -> bool {
    let text = without_escapes(text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.is_some_and(|line| looks_like_error(first_chars(line, LINE)))
}

/// Whether a line looks like an error.
fn looks_like_error(line: &str) -> bool {
    ERROR.is_match(line)
}

/// Lines that look like errors, each once, in their order: at most `lines` of
/// them and `chars` characters in all, line ends counted.
pub(super) fn errors_in(text: &str, lines: usize, chars: usize) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut left = chars;
    for line in text.lines() {
        if found.len() == lines || left < 2 {
            break;
        }
        let line = line.trim_end();
        // A line may be megabytes long: its error, if any, is told at its beginning.
        let line = first_chars(line, LOOKED_AT);
        if !looks_like_error(line) || found.contains(&line) {
            continue;
        }
        let line = first_chars(line, LINE.min(left - 1));
        left -= line.chars().count() + 1;
        found.push(line);
    }
    found
}

/// Characters of a line that are looked at, and that are kept.
const LOOKED_AT: usize = 1_000;
const LINE: usize = 200;

/// The first `count` characters.
pub(super) fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{errors_in, looks_like_error};

    #[test]
    fn errors_are_told_from_other_lines() {
        for error in [
            "error[E0308]: mismatched types",
            "E   AssertionError: 1 != 2",
            "thread 'main' panicked at src/main.rs:1",
            "Traceback (most recent call last):",
            "FAILED tests/test_a.py::test_b",
            "cat: x: No such file or directory",
            "java.lang.NullPointerException",
            "bash: permission denied",
            "发生错误",
            "编译error",
        ] {
            assert!(looks_like_error(error), "{error}");
        }
        for line in ["", "ok", "terror", "fn errands()", "mirrors: 3", "failsafe"] {
            assert!(!looks_like_error(line), "{line}");
        }
    }

    #[test]
    fn lines_and_characters_are_limited() {
        let text = "error 1\nfine\nerror 2\r\nerror 1\nerror 3\n";
        assert_eq!(errors_in(text, 9, 99), ["error 1", "error 2", "error 3"]);
        assert_eq!(errors_in(text, 2, 99), ["error 1", "error 2"]);
        assert_eq!(errors_in(text, 9, 16), ["error 1", "error 2"]);
        assert_eq!(errors_in(text, 9, 11), ["error 1", "er"]);
        assert_eq!(errors_in(text, 9, 9), ["error 1"]);
        assert_eq!(errors_in(text, 0, 99), [""; 0]);
        let long = format!("error {}", "é".repeat(2_000));
        assert_eq!(errors_in(&long, 9, 999)[0].chars().count(), 200);
    }
}
