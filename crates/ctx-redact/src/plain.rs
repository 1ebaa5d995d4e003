//! Text without the escapes of JSON, which can hide a secret from the scan.

use std::ops::Range;

use memchr::memchr;

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
        while let Some(next) = memchr(b'\\', &source.as_bytes()[at..]) {
            at += next;
            let slashes = run(&source.as_bytes()[at..], |byte| byte == b'\\');
            let Some((shown, length)) = escape(&source[at..], slashes) else {
                at += slashes;
                continue;
            };
            let plain = plain.get_or_insert(Self { text: String::new(), parts: Vec::new() });
            plain.text.push_str(&source[copied..at]);
            plain.parts.push((plain.text.len(), at));
            plain.text.push(shown);
            at += length;
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

/// Reads `\u0070` or `\/`, and returns its character and length. JSON inside JSON has several
/// backslashes.
fn escape(text: &str, slashes: usize) -> Option<(char, usize)> {
    let rest = &text[slashes..];
    let Some(digits) = rest.strip_prefix('u') else {
        return rest.starts_with('/').then_some(('/', slashes + 1));
    };
    // An emoji has two escapes, neither of which is a character. Both stay.
    let code = u32::from_str_radix(digits.get(..4)?, 16).ok()?;
    Some((char::from_u32(code)?, slashes + 5))
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
