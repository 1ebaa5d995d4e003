//! The output of tools: noise in it, and lines that look like errors.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Terminal escapes: CSI (colours, cursor), OSC (titles, links), other sequences of two characters,
/// and a lone escape character.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let sequences =
        r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\^_=>78cM])?";
    Regex::new(sequences).expect("a constant pattern")
});

/// Lines of base64, as `base64` and PEM wrap them, with a shorter last line; or one long word.
static BASE64: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?:[A-Za-z0-9+/]{60,}\r?\n)+(?:[A-Za-z0-9+/]{20,}={0,2}|[A-Za-z0-9+/]{2,}={1,2})?|[A-Za-z0-9+/]{256,}={0,2}";
    Regex::new(words).expect("a constant pattern")
});

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    // Unicode word boundaries make the search many times slower.
    let words = r"(?i)(?-u:\b)(errors?|err|exception|traceback|panic(ked)?|fatal|fail(ed|ure)s?|denied|abort(ed)?|segmentation fault|no such file|not found|undefined reference)(?-u:\b)|(?-i:[0-9A-Za-z_](Error|Exception)(?-u:\b))|错误|失败|异常";
    Regex::new(words).expect("a constant pattern")
});

/// Shorter runs of base64 stay: they may be keys, hashes or names.
const MIN_BASE64: usize = 256;

/// How much of a line is searched for an error: a line may be megabytes long.
const SEARCHED_CHARS: usize = 1_000;

/// How much of an error line is kept.
const ERROR_CHARS: usize = 200;

/// The text without terminal escapes; a note replaces each run of base64.
pub(super) fn without_noise(text: &str) -> Cow<'_, str> {
    match without_escapes(text) {
        Cow::Borrowed(text) => without_base64(text),
        Cow::Owned(text) => Cow::Owned(without_base64(&text).into_owned()),
    }
}

fn without_escapes(text: &str) -> Cow<'_, str> {
    ESCAPE.replace_all(text, "")
}

fn without_base64(text: &str) -> Cow<'_, str> {
    BASE64.replace_all(text, |found: &Captures<'_>| {
        let run = found[0].trim_end_matches(['\r', '\n']);
        if !is_base64(run) {
            return found[0].to_owned();
        }
        let line_end = &found[0][run.len()..];
        format!("[base64, {} chars removed]{line_end}", run.len())
    })
}

/// Whether a run is long and mixed as encoded bytes are. Hexadecimal numbers, rulers and paths are
/// not.
fn is_base64(run: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    run.len() >= MIN_BASE64
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

/// Whether the first line that is not blank looks like an error.
pub(super) fn begins_with_error(text: &str) -> bool {
    let text = without_escapes(text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.is_some_and(|line| ERROR.is_match(first_chars(line, ERROR_CHARS)))
}

/// The lines that look like errors, each once, in order: at most `max_lines`, and at most
/// `max_chars` characters with their line ends.
pub(super) fn error_lines(text: &str, max_lines: usize, max_chars: usize) -> Vec<&str> {
    let mut errors: Vec<&str> = Vec::new();
    let mut chars_left = max_chars;
    for line in text.lines() {
        if errors.len() == max_lines || chars_left < 2 {
            break;
        }
        let line = first_chars(line.trim_end(), SEARCHED_CHARS);
        if !ERROR.is_match(line) || errors.contains(&line) {
            continue;
        }
        let line = first_chars(line, ERROR_CHARS.min(chars_left - 1));
        chars_left -= line.chars().count() + 1;
        errors.push(line);
    }
    errors
}

/// The first `count` characters.
pub(super) fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{ERROR, error_lines, without_noise};

    #[test]
    fn escapes_go() {
        let cases = [
            ("\x1b[31;1mred\x1b[0m", "red"),
            ("\x1b]0;title\x07a\x1b]8;;u\x1b\\b", "ab"),
            ("\x1b(Bx\x1b7y\x1bz", "xyz"),
            ("\x1b\x1b[0m[0m", "[0m"),
            ("\x1b]0;never ends", "]0;never ends"),
            ("end\x1b", "end"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_noise(text), expected, "{}", text.escape_debug());
        }
        assert!(matches!(without_noise("plain [0m"), Cow::Borrowed(_)));
    }

    #[test]
    fn base64_goes_from_the_limit_on() {
        let run = |length: usize| "aB3+".repeat(length.div_ceil(4))[..length].to_owned();
        let kept = format!("data:image/png;base64,{}", run(255));
        assert_eq!(without_noise(&kept), kept);
        let gone = format!("data:image/png;base64,{} end", run(256));
        assert_eq!(without_noise(&gone), "data:image/png;base64,[base64, 256 chars removed] end");
        let wrapped = format!("{}\r\n{}\n{}==\nend", run(76), run(76), run(110));
        assert_eq!(without_noise(&wrapped), "[base64, 267 chars removed]\nend");
        let full = format!("{}\nDone\n", run(300));
        assert_eq!(without_noise(&full), "[base64, 300 chars removed]\nDone\n");
    }

    #[test]
    fn what_is_not_mixed_stays() {
        for text in ["0f".repeat(400), "/usr/lib".repeat(99), "-".repeat(400)] {
            assert_eq!(without_noise(&text), text);
        }
    }

    #[test]
    fn errors_are_distinguished_from_other_lines() {
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
            assert!(ERROR.is_match(error), "{error}");
        }
        for line in ["", "ok", "terror", "fn errands()", "mirrors: 3", "failsafe"] {
            assert!(!ERROR.is_match(line), "{line}");
        }
    }

    #[test]
    fn lines_and_characters_are_limited() {
        let text = "error 1\nfine\nerror 2\r\nerror 1\nerror 3\n";
        assert_eq!(error_lines(text, 9, 99), ["error 1", "error 2", "error 3"]);
        assert_eq!(error_lines(text, 2, 99), ["error 1", "error 2"]);
        assert_eq!(error_lines(text, 9, 16), ["error 1", "error 2"]);
        assert_eq!(error_lines(text, 9, 11), ["error 1", "er"]);
        assert_eq!(error_lines(text, 9, 9), ["error 1"]);
        assert_eq!(error_lines(text, 0, 99), [""; 0]);
        let long = format!("error {}", "é".repeat(2_000));
        assert_eq!(error_lines(&long, 9, 999)[0].chars().count(), 200);
    }
}
