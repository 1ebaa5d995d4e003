//! Noise in the output of tools: terminal escapes and base64.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// CSI (colours, cursor), OSC (titles, links) up to its end, other sequences of
/// two characters, and an escape that begins nothing: behind it no escape is left.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let sequences =
        r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[@-Z\\^_=>78cM])?";
    Regex::new(sequences).expect("a constant pattern")
});

/// Lines of base64's alphabet alone, as `base64` and PEM wrap them, with the
/// shorter last one; or a long word of it.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"(?:[A-Za-z0-9+/]{60,}\r?\n)+(?:[A-Za-z0-9+/]{20,}={0,2}|[A-Za-z0-9+/]{2,}={1,2})?|[A-Za-z0-9+/]{256,}={0,2}";
    Regex::new(words).expect("a constant pattern")
});

/// Shorter ones stay: they may be keys, hashes, names.
const MIN_BASE64: usize = 256;

/// The text without noise; each run of base64 leaves a note of its length.
pub(super) fn without_noise(text: &str) -> Cow<'_, str> {
    match without_escapes(text) {
        Cow::Borrowed(text) => without_base64(text),
        Cow::Owned(text) => Cow::Owned(without_base64(&text).into_owned()),
    }
}

pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    ESCAPE.replace_all(text, "")
}

fn without_base64(text: &str) -> Cow<'_, str> {
    WORDS.replace_all(text, |found: &Captures<'_>| {
        let run = found[0].trim_end_matches(['\r', '\n']);
        if is_base64(run) {
            let line_end = &found[0][run.len()..];
            format!("[base64, {} chars removed]{line_end}", run.len())
        } else {
            found[0].to_owned()
        }
    })
}

/// Long, and mixed as encoded bytes are: long hex, rulers and paths are not.
fn is_base64(run: &str) -> bool {
    let any = |kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    run.len() >= MIN_BASE64
        && any(u8::is_ascii_uppercase)
        && any(u8::is_ascii_lowercase)
        && any(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::without_noise;

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
        assert_eq!(
            without_noise(&gone),
            "data:image/png;base64,[base64, 256 chars removed] end"
        );
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
}
