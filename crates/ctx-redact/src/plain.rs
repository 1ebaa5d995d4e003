//! Text without the escapes of JSON, which can hide a secret from the scan.

use std::ops::Range;

use memchr::memchr3_iter;

use crate::run;

/// The text with each escape replaced by its character, and the positions where it goes on before
/// and after each escape: in this text and in its source.
pub(super) struct PlainText {
    pub(super) text: String,
    parts: Vec<(usize, usize)>,
}

impl PlainText {
    /// Returns `None` if the text contains no escape.
    pub(super) fn of(source: &str) -> Option<Self> {
        let mut plain: Option<Self> = None;
        let (mut copied, mut at) = (0, 0);
        for start in memchr3_iter(b'\\', 0xE2, 0xEF, source.as_bytes()) {
            let rest = &source.as_bytes()[start..];
            // The signs of full width are frequent in Chinese.
            if start < at || matches!(rest, [0xEF, 0xBC, 0x80..=0x8F | 0x9A..=0xA0, ..]) {
                continue;
            }
            let slashes = run(rest, |byte| byte == b'\\');
            at = start + slashes;
            let Some((shown, length)) = plain_char(&source[start..], slashes) else { continue };
            let plain = plain.get_or_insert(Self { text: String::new(), parts: Vec::new() });
            plain.text.push_str(&source[copied..start]);
            plain.parts.push((plain.text.len(), start));
            plain.text.extend(shown);
            at = start + length;
            copied = at;
            plain.parts.push((plain.text.len(), at));
        }
        let mut plain = plain?;
        plain.text.push_str(&source[copied..]);
        Some(plain)
    }

    /// Returns the range of the source that stands for `range`.
    pub(super) fn source_of(&self, range: &Range<usize>) -> Range<usize> {
        let source = |at| {
            let after = self.parts.partition_point(|(shown, _)| *shown <= at);
            let (shown, source) = after.checked_sub(1).map_or((0, 0), |part| self.parts[part]);
            source + at - shown
        };
        source(range.start)..source(range.end)
    }
}

/// Reads an escape (`\u0070`, `\x70`, `\160`, `\/`), an invisible character or a letter of full
/// width. Returns the plain character, if any, and the length. JSON inside JSON has several
/// backslashes.
fn plain_char(text: &str, slashes: usize) -> Option<(Option<char>, usize)> {
    let rest = &text[slashes..];
    let first = rest.chars().next()?;
    let (char, length) = if slashes == 0 {
        (first, first.len_utf8())
    } else {
        let (digits, radix, length) = match first {
            '/' => return Some((Some('/'), slashes + 1)),
            'u' => (rest.get(1..5)?, 16, 5),
            'x' => (rest.get(1..3)?, 16, 3),
            _ => (rest.get(..3)?, 8, 3),
        };
        // An emoji has two escapes, neither of which is a character. Both stay.
        (char::from_u32(u32::from_str_radix(digits, radix).ok()?)?, length)
    };
    let shown = match char {
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        '０'..='９' | 'Ａ'..='Ｚ' | 'ａ'..='ｚ' | '＿' => {
            char::from_u32(u32::from(char) - 0xFEE0)
        }
        _ if slashes == 0 || length == 3 && !char.is_ascii_graphic() => return None,
        _ => Some(char),
    };
    Some((shown, slashes + length))
}

#[cfg(test)]
mod tests {
    use super::PlainText;
    use crate::redact;

    #[test]
    fn hidden_secrets_go() {
        for (text, clean) in [
            (r#"{"a":"\u5bc6\u7801: hunter2x"}"#, r#"{"a":"\u5bc6\u7801: [REDACTED]"}"#),
            (
                r#"{\"a\":\"\\u5bc6\\u7801: hunter2x\"}"#,
                r#"{\"a\":\"\\u5bc6\\u7801: [REDACTED]\"}"#,
            ),
            (r#"{"\u0070assword": "hunter\u0032"}"#, r#"{"\u0070assword": "[REDACTED]"}"#),
            (
                r#"{"a":"\ud83d\ude00 postgres:\/\/me:pa55@h\/x"}"#,
                r#"{"a":"\ud83d\ude00 postgres:\/\/me:[REDACTED]@h\/x"}"#,
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn invisible_and_wide_characters_and_digits_hide_nothing() {
        for (text, clean) in [
            ("pass\u{200b}word: hunter2x", "pass\u{200b}word: [REDACTED]"),
            ("ｐａｓｓｗｏｒｄ：hunter2x", "ｐａｓｓｗｏｒｄ：[REDACTED]"),
            ("a ghp_aB3dE5gH\u{feff}7jK9mN1pQ3sT5 b", "a [REDACTED] b"),
            (r"a \x67hp_aB3dE5gH7jK9mN1pQ3sT5 b", "a [REDACTED] b"),
            (r"a \147\150p_aB3dE5gH7jK9mN1pQ3sT5 b", "a [REDACTED] b"),
            (r#"{"a":"\uff50assword: hunter2x"}"#, r#"{"a":"\uff50assword: [REDACTED]"}"#),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
        for text in ["（，。—“”…", r"\x1b[31m\033[0m \d77", "\u{200b}", "\\"] {
            assert!(PlainText::of(text).is_none_or(|plain| plain.text.is_empty()), "{text}");
        }
    }

    #[test]
    fn what_hides_nothing_stays() {
        for text in [
            r"\u \u12 \ud83d \ud83d\u0041 C:\users\new a\b é决—“x” token: \u0035",
            r"/^https?:\/\/([^:]+):([^@]+)@/",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
        assert!(PlainText::of(r"C:\users é决—“x” \n").is_none());
    }
}
