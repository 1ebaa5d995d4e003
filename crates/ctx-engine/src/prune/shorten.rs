//! Shortens text: removes noise from results, and trims results and call arguments. Text is
//! replaced only if the new text has fewer bytes and fewer tokens.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::LazyLock;

use ctx_format::{Handle, Saved, map_strings};
use ctx_policy::Rule;
use ctx_policy::share::Share;
use ctx_text::{first_chars, last_chars, regex};
use regex::{Captures, Regex};

use super::facts::TextSize;
use super::{Freed, Options, Trim};
use crate::message_counter::MessageCounter;
use crate::placeholder::split_handle;

/// The maximum length, in characters, of the numbers and the note about rescued lines in a trimmed
/// text.
const NOTES_CHARS: usize = 127;

/// The shortened arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShorterArguments {
    pub(crate) text: String,
    pub(super) freed: Freed,
}

impl TextSize {
    /// If `text` followed by `handle` is smaller than the original, returns the two together and
    /// their size.
    pub(super) fn replaced_by(
        self,
        text: &str,
        handle: &Handle,
        counter: &MessageCounter,
    ) -> Option<(String, Self)> {
        let text = handle.behind(text);
        if text.len() >= self.bytes as usize {
            return None;
        }
        let size = Self::new(counter.text(&text), text.len() as u64);
        (size.tokens < self.tokens).then_some((text, size))
    }
}

/// Removes noise from a result's text, and trims the text if it is still too long. If
/// `was_shortened` is set, the text had a handle from an earlier run.
pub(super) fn shorten(
    options: &Options,
    text: &str,
    was_shortened: bool,
) -> Option<(Rule, String)> {
    let quiet = if options.drops(Rule::Noise) { without_noise(text) } else { Cow::Borrowed(text) };
    if let Some(trim) = &options.trim
        && let Some(trimmed) = trim.apply(&quiet, was_shortened)
    {
        return Some((Rule::Trim, trimmed));
    }
    match quiet {
        Cow::Owned(quiet) if quiet != text => Some((Rule::Noise, quiet)),
        _ => None,
    }
}

/// Trims long strings in call arguments. The arguments are still JSON afterwards.
pub(crate) fn shorten_arguments(
    arguments: &str,
    max_chars: usize,
    saved: Saved,
    counter: &MessageCounter,
) -> Option<ShorterArguments> {
    let trim = Trim { max_chars, rescue_lines: 0, ..Trim::default() };
    // Arguments are not changed if they are free text or a bare string.
    if !arguments.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let text = map_strings(arguments, |text| {
        let (body, earlier) = split_handle(text);
        let trimmed = trim.apply(body, earlier.is_some())?;
        let size = TextSize::new(counter.text(text), text.len() as u64);
        // The handle does not name the call, because it is inside the call.
        let handle = earlier.unwrap_or_else(|| Handle::of(text, "", saved));
        size.replaced_by(&trimmed, &handle, counter).map(|(text, _)| text)
    })?;
    let (before, after) = (counter.text(arguments), counter.text(&text));
    // Line endings and the handle are escaped in JSON, so they take more tokens there than in the
    // plain string.
    let freed = Freed { rule: Rule::Arguments, before, after };
    (after < before).then_some(ShorterArguments { text, freed })
}

impl Trim {
    /// Trims text that is longer than the limit. If `was_shortened` is set, the text is trimmed
    /// again only if it is longer than any trimmed text can be, so that trimming twice has the same
    /// result as trimming once.
    fn apply(&self, text: &str, was_shortened: bool) -> Option<String> {
        let limit = if was_shortened { self.max_chars.max(self.longest()) } else { self.max_chars };
        // No text has more characters than bytes.
        if text.len() <= limit {
            return None;
        }
        let chars = text.chars().count();
        if chars <= limit {
            return None;
        }
        let head = self.head();
        let tail = self.tail().min(chars - head);
        let missing = chars - head - tail;
        let start = first_chars(text, head).len();
        let end = text.len() - last_chars(text, tail).len();
        let cut = self.cut.replace("{chars}", &missing.to_string());
        let mut trimmed = format!("{}\n{cut}\n", &text[..start]);
        let errors = error_lines(&text[start..end], self.rescue_lines, self.rescue_chars());
        if !errors.is_empty() {
            let note = match errors.len() {
                1 => "a line of them looks like an error".to_owned(),
                count => format!("{count} lines of them look like errors"),
            };
            let _ = write!(trimmed, "... ({note}) ...\n{}\n...\n", errors.join("\n"));
        }
        trimmed.push_str(&text[end..]);
        Some(trimmed)
    }

    fn head(&self) -> usize {
        share_of(self.max_chars, self.head_share)
    }

    fn tail(&self) -> usize {
        share_of(self.max_chars, self.tail_share).min(self.max_chars - self.head())
    }

    /// Returns how many characters rescued lines may have in total: half of those that `max_chars`
    /// leaves between head and tail.
    fn rescue_chars(&self) -> usize {
        (self.max_chars - self.head() - self.tail()) / 2
    }

    /// Returns the length of the longest possible trimmed text.
    fn longest(&self) -> usize {
        self.head() + self.tail() + self.rescue_chars() + self.cut.len() + NOTES_CHARS
    }
}

fn share_of(limit: usize, share: Share) -> usize {
    usize::try_from(share.of(limit as u64)).unwrap_or(limit)
}

/// Matches terminal escapes: CSI (colours, cursor), OSC (titles, links), other two-character
/// sequences, and a lone escape character.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\^_=>78cM])?")
});

/// Matches base64 lines, wrapped as in PEM files and in the output of `base64`. The last line may
/// be shorter. A single long base64 word is matched as well.
static BASE64: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:[A-Za-z0-9+/]{60,}\r?\n)+(?:[A-Za-z0-9+/]{20,}={0,2}|[A-Za-z0-9+/]{2,}={1,2})?|[A-Za-z0-9+/]{256,}={0,2}",
    )
});

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    // Unicode word boundaries would make the search many times slower.
    regex(
        r"(?i)(?-u:\b)(errors?|err|exception|traceback|panic(ked)?|fatal|fail(ed|ure)s?|denied|abort(ed)?|segmentation fault|no such file|not found|undefined reference)(?-u:\b)|(?-i:[0-9A-Za-z_](Error|Exception)(?-u:\b))|错误|失败|异常",
    )
});

/// The minimum length of a line of wrapped base64, except for the last line.
const BASE64_LINE: usize = 60;

/// The minimum length of a base64 run to remove. Shorter runs may be keys, hashes or names.
const MIN_BASE64: usize = 256;

/// The maximum number of characters per line to search for an error. A limit is needed because a
/// line may be megabytes long.
const SEARCHED_CHARS: usize = 1_000;

/// The maximum number of characters to keep from a line with an error.
const ERROR_CHARS: usize = 200;

/// Removes terminal escapes, and replaces each run of base64 with a note.
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
    // Every match of `BASE64` contains a long run of base64 characters, but most texts contain no
    // such run.
    if !has_base64_run(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    BASE64.replace_all(text, |found: &Captures<'_>| {
        let run = found[0].trim_end_matches(['\r', '\n']);
        if !is_base64(run) {
            return found[0].to_owned();
        }
        let line_end = &found[0][run.len()..];
        format!("[base64, {} chars removed]{line_end}", run.len())
    })
}

/// Returns true if the text contains a run of [`BASE64_LINE`] base64 characters. Each window of
/// [`BASE64_LINE`] bytes is searched from its end. The next run can begin only after the last byte
/// that is not a base64 character, so most bytes are never examined.
fn has_base64_run(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut rest = text;
    while let Some(window) = rest.get(..BASE64_LINE) {
        let Some(last) = window.iter().rposition(|byte| !is_letter(byte)) else { return true };
        rest = &rest[last + 1..];
    }
    false
}

/// Returns true if a run is long and mixes all kinds of characters, as encoded bytes do but
/// hexadecimal numbers, separator lines and paths do not.
fn is_base64(run: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    run.len() >= MIN_BASE64
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

/// Returns true if the first line that is not blank looks like an error.
pub(super) fn begins_with_error(text: &str) -> bool {
    let text = without_escapes(text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.is_some_and(|line| ERROR.is_match(first_chars(line, ERROR_CHARS)))
}

/// Returns the lines that look like errors, in order and without duplicates. Returns at most
/// `max_lines` lines with at most `max_chars` characters in total, including line endings.
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use ctx_policy::Rule;
    use ctx_policy::share::Share;

    use super::shorten;
    use crate::prune::{Options, Trim};

    const TEN: Trim = Trim {
        max_chars: 10,
        head_share: Share::of_percent(30),
        tail_share: Share::of_percent(30),
        rescue_lines: 10,
        cut: Cow::Borrowed("... ({chars} chars truncated) ..."),
    };

    #[test]
    fn at_the_limit_nothing_happens() {
        assert_eq!(TEN.apply("", false), None);
        assert_eq!(TEN.apply("012345678", false), None);
        assert_eq!(TEN.apply("0123456789", false), None);
        assert_eq!(TEN.apply("日本語日本語日本語日", false), None);
    }

    #[test]
    fn above_it_head_and_tail_stay() {
        assert_eq!(
            TEN.apply("0123456789a", false).as_deref(),
            Some("012\n... (5 chars truncated) ...\n89a")
        );
        assert_eq!(
            TEN.apply("日本語日本語日本語日本", false).as_deref(),
            Some("日本語\n... (5 chars truncated) ...\n語日本")
        );
    }

    #[test]
    fn the_cut_is_configurable() {
        let trimmed = |cut: &'static str| {
            let cut = Cow::Borrowed(cut);
            Trim { cut, ..TEN }.apply("0123456789a", false)
        };
        assert_eq!(trimmed("[…]").as_deref(), Some("012\n[…]\n89a"));
        assert_eq!(trimmed("<{chars}/{chars}>").as_deref(), Some("012\n<5/5>\n89a"));
    }

    #[test]
    fn shares_of_little_and_of_all() {
        let shares = |head, tail| {
            let trim = Trim {
                head_share: Share::of_percent(head),
                tail_share: Share::of_percent(tail),
                ..TEN
            };
            trim.apply("0123456789ab", false).expect("too long")
        };
        assert_eq!(shares(1, 9), "\n... (12 chars truncated) ...\n");
        assert_eq!(shares(100, 1), "0123456789\n... (2 chars truncated) ...\n");
        assert_eq!(shares(70, 70), "0123456\n... (2 chars truncated) ...\n9ab");
    }

    #[test]
    fn errors_are_rescued_from_the_middle_only() {
        let trim = Trim { max_chars: 100, ..TEN };
        let text = format!(
            "error: one{}\nerror: two\n{}\nfatal: x\n{}error: three",
            "a".repeat(40),
            "b".repeat(40),
            "c".repeat(40)
        );
        let expected = "error: oneaaaaaaaaaaaaaaaaaaaa\n... (104 chars truncated) ...\n... (2 lines of them look like errors) ...\nerror: two\nfatal: x\n...\nccccccccccccccccccerror: three";
        assert_eq!(trim.apply(&text, false).as_deref(), Some(expected));
        let none = Trim { rescue_lines: 0, ..trim.clone() };
        assert!(!none.apply(&text, false).expect("too long").contains("two"));
    }

    #[test]
    fn a_trimmed_text_is_not_trimmed_again() {
        for size in [11, 100, 5_000, 100_000] {
            let text = "an error\n".repeat(size);
            let once = TEN.apply(&text, false).expect("too long");
            assert_eq!(TEN.apply(&once, true), None);
        }
    }

    #[test]
    fn noise_goes_before_the_length_is_measured() {
        let text = format!("\x1b[31m{}\x1b[0m", "word ".repeat(20));
        let rule = |max_chars: Option<usize>, drop: &[Rule]| {
            let trim = max_chars.map(|max_chars| Trim { max_chars, ..Trim::default() });
            let options = Options { trim, drop: drop.to_vec(), ..Options::default() };
            shorten(&options, &text, false).map(|(rule, _)| rule)
        };
        assert_eq!(rule(None, &[]), None);
        assert_eq!(rule(None, &[Rule::Noise]), Some(Rule::Noise));
        assert_eq!(rule(Some(100), &[]), Some(Rule::Trim));
        assert_eq!(rule(Some(100), &[Rule::Noise]), Some(Rule::Noise));
        assert_eq!(rule(Some(50), &[Rule::Noise]), Some(Rule::Trim));
    }
}

#[cfg(test)]
mod tool_output_tests {
    use std::borrow::Cow;

    use super::{BASE64_LINE, ERROR, error_lines, without_noise};

    #[test]
    fn base64_is_found_wherever_it_begins() {
        for before in 0..=BASE64_LINE {
            let text = format!("{}{}\n", " ".repeat(before), "aB3/".repeat(64));
            let left = format!("{}[base64, 256 chars removed]\n", " ".repeat(before));
            assert_eq!(without_noise(&text), left);
        }
    }

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
