//! Secrets out of text, before it goes into a summary, a memory file or a request.
//!
//! A scan by hand, not a set of patterns: it runs over every text that leaves a
//! session, also in tools that must start in a few milliseconds. It knows keys
//! by their prefix, and values by the name before them (`keys`, `named`).
//! It is a net, not a proof: a secret that looks like prose passes.

use std::borrow::Cow;
use std::ops::Range;

mod keys;
mod named;

/// What stands where a secret was.
pub const MARK: &str = "[REDACTED]";

/// The text without its secrets, and how many were taken out.
///
/// A second run over the result finds nothing.
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    let mut count = 0;
    let mut result = Cow::Borrowed(text);
    // A mark can make visible what was hidden before (a key that was glued to
    // another one), so this goes on until nothing is found. It ends: every
    // replacement takes away at least one character that no mark gave.
    while let Some((shorter, found)) = pass(&result) {
        result = Cow::Owned(shorter);
        count += found;
    }
    (result, count)
}

/// One scan from left to right; `None` when there is nothing to take out.
fn pass(text: &str) -> Option<(String, usize)> {
    let mut result = String::new();
    let mut count = 0;
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        match secret(text, copied, at) {
            Some(range) if range.start >= copied => {
                result.push_str(&text[copied..range.start]);
                result.push_str(MARK);
                count += 1;
                copied = range.end;
                at = range.end;
            }
            _ => at += 1,
        }
    }
    if count == 0 {
        return None;
    }
    result.push_str(&text[copied..]);
    Some((result, count))
}

/// The secret that the byte at `at` announces. `from` is where the text begins
/// that is not yet copied: nothing looks back beyond it.
fn secret(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // A dash is part of a word here: every run of `sk-sk-…` is looked at once.
    let starts_word = at == from || !(is_word(bytes[at - 1]) || bytes[at - 1] == b'-');
    match bytes[at] {
        b'-' => keys::private_key(text, at),
        b'=' | b':' => named::url_password(text, at).or_else(|| named::assigned(text, from, at, 1)),
        // The first byte of the fullwidth colon.
        0xEF if text[at..].starts_with('：') => named::assigned(text, from, at, '：'.len_utf8()),
        b'B' | b'b' if starts_word => named::bearer(text, at),
        byte if starts_word && byte.is_ascii_alphabetic() => {
            keys::prefixed(text, at).or_else(|| keys::web_token(text, at))
        }
        _ => None,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the run of bytes that `wanted` accepts.
fn run(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| wanted(**byte)).count()
}

fn has_digit_and_letter(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MARK, redact};

    #[test]
    fn text_without_secrets_is_borrowed() {
        let (text, count) = redact("nothing here: just 3 words");
        assert!(matches!(text, std::borrow::Cow::Borrowed(_)));
        assert_eq!(count, 0);
    }

    #[test]
    fn all_secrets_of_a_text_are_counted() {
        let (text, count) = redact(
            "export OPENAI_API_KEY=sk-aB3dE5gH7jK9mN1pQ3 && curl postgres://app:s3cret@db/x",
        );
        assert_eq!(count, 2);
        assert_eq!(
            text,
            "export OPENAI_API_KEY=[REDACTED] && curl postgres://app:[REDACTED]@db/x"
        );
    }

    #[test]
    fn a_key_glued_to_another_goes_too() {
        let (text, count) = redact("AKIAABCDEFGHIJKLMNOP.AKIAABCDEFGHIJKLMNOP");
        assert_eq!((text.as_ref(), count), ("[REDACTED].[REDACTED]", 2));
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in [
            "sk-",
            "token=",
            "-----BEGIN PRIVATE KEY-----",
            "eyJ.",
            "password='",
            "://a:",
            "Bearer ",
            " =",
        ] {
            let text = piece.repeat(200_000 / piece.len());
            let start = std::time::Instant::now();
            assert!(redact(&text).0.len() <= 2 * text.len());
            // By the square of the length it would be minutes.
            assert!(start.elapsed().as_secs() < 10, "{piece}");
        }
    }

    proptest! {
        #[test]
        fn a_second_run_finds_nothing(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "password", "token", "API_KEY", "密码", "=", ":", "：", " ", "\"", "\\\"", "'", "\n",
                    "sk-", "sk-ant-", "ghp_", "AKIA", "eyJ", ".", "://", "@", "user", "Bearer ",
                    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "[", "]", "[REDACTED]", "$", "(",
                    "hunter2x", "aB3dE5gH7jK9mN1pQ3sT", "ABCDEFGHIJKLMNO7", "5", "é", "决定", "/", ",",
                    "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnygWyF8PbnGy0AHB7MaXGmXQ",
                ]),
                0..14,
            )
        ) {
            let text = pieces.concat();
            let (once, count) = redact(&text);
            let (twice, again) = redact(&once);
            prop_assert_eq!(again, 0);
            prop_assert_eq!(&once, &twice);
            prop_assert!(once.matches(MARK).count() <= count + text.matches(MARK).count());
        }

        #[test]
        fn any_text_is_taken(text in "\\PC{0,200}") {
            let (clean, count) = redact(&text);
            prop_assert_eq!(count == 0, clean == text);
        }
    }
}
