//! Text as its reader sees it: without the escapes of JSON, the colors of a terminal, and invisible
//! characters, all of which can hide a secret from the scan.

use std::ops::Range;

use ctx_text::is_invisible;

use crate::run;

/// The visible text, and the source of each of its parts.
#[derive(Default)]
pub(super) struct PlainText {
    pub(super) text: String,
    parts: Vec<Part>,
}

struct Part {
    /// The position in the visible text.
    at: usize,
    source: Range<usize>,
    is_escape: bool,
}

impl PlainText {
    /// Returns `None` if all of the text is visible as it stands.
    pub(super) fn of(source: &str) -> Option<Self> {
        let mut plain = Self::default();
        let (mut copied, mut at) = (0, 0);
        while let Some(next) = next_hidden(source.as_bytes(), at) {
            at = next;
            let rest = &source[at..];
            let Some((shown, length)) = hidden(rest) else {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                at += run(rest.as_bytes(), |byte| byte == b'\\').max(first);
                continue;
            };
            plain.add(source, copied..at);
            if let Some(shown) = shown {
                plain.add_part(at..at + length, true);
                plain.text.push(shown);
            }
            at += length;
            copied = at;
        }
        if copied == 0 {
            return None;
        }
        plain.add(source, copied..source.len());
        Some(plain)
    }

    fn add(&mut self, source: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.add_part(range.clone(), false);
            self.text.push_str(&source[range]);
        }
    }

    fn add_part(&mut self, source: Range<usize>, is_escape: bool) {
        self.parts.push(Part { at: self.text.len(), source, is_escape });
    }

    /// Returns the range of the source that shows as `range`, which is not empty.
    pub(super) fn source_of(&self, range: &Range<usize>) -> Range<usize> {
        let part = |at| &self.parts[self.parts.partition_point(|part| part.at <= at) - 1];
        let (first, last) = (part(range.start), part(range.end - 1));
        let start = first.source.start + if first.is_escape { 0 } else { range.start - first.at };
        let end =
            if last.is_escape { last.source.end } else { last.source.start + range.end - last.at };
        start..end
    }
}

/// Returns the position from `at` on of the first byte that may begin an escape or an invisible
/// character.
fn next_hidden(bytes: &[u8], mut at: usize) -> Option<usize> {
    /// The compiler compares this many bytes at once, because nothing branches on a single one.
    const STEP: usize = 64;
    let is_special = |byte: &u8| matches!(byte, b'\\' | 0x1B | 0x80..);
    let may_hide =
        |byte: &u8| matches!(byte, b'\\' | 0x1B | 0xC2 | 0xCD | 0xD8 | 0xE1 | 0xE2 | 0xEF | 0xF3);
    loop {
        let step = bytes.get(at..bytes.len().min(at + STEP)).filter(|step| !step.is_empty())?;
        if step.iter().fold(false, |any, byte| any | is_special(byte))
            && let Some(found) = step.iter().position(may_hide)
        {
            return Some(at + found);
        }
        at += STEP;
    }
}

/// Returns what is visible of the escape, the color or the character at the beginning of the text,
/// and the length of the escape. Returns `None` if there is nothing hidden.
fn hidden(text: &str) -> Option<(Option<char>, usize)> {
    let (shown, mut length) = if text.starts_with('\\') {
        escape(text)?
    } else {
        let first = text.chars().next()?;
        (first, first.len_utf8())
    };
    if shown == '\u{1b}' {
        length += color(&text[length..]);
        return Some((None, length));
    }
    let is_hidden = is_invisible(shown) || matches!(shown, '\u{200c}' | '\u{200d}');
    (is_hidden || text.starts_with('\\')).then(|| ((!is_hidden).then_some(shown), length))
}

/// Reads `\u0070` or `\/`. JSON inside JSON has several backslashes.
fn escape(text: &str) -> Option<(char, usize)> {
    let rest = text.trim_start_matches('\\');
    let slashes = text.len() - rest.len();
    if rest.starts_with('/') {
        return Some(('/', slashes + 1));
    }
    let unit = |text: &str| {
        let digits = text.strip_prefix('u')?.get(..4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let first = unit(rest)?;
    if let Some(Ok(shown)) = char::decode_utf16([first]).next() {
        return Some((shown, slashes + 5));
    }
    let low = rest[5..].strip_prefix(&text[..slashes]).and_then(unit)?;
    let shown = char::decode_utf16([first, low]).next()?.ok()?;
    Some((shown, 2 * (slashes + 5)))
}

/// Returns the length of a terminal's color code after the escape character, such as `[32m`.
fn color(text: &str) -> usize {
    let Some(code) = text.strip_prefix('[') else { return 0 };
    let length = code.len() - code.trim_start_matches(|c: char| matches!(c, '0'..='?')).len();
    match code.as_bytes().get(length) {
        Some(b'@'..=b'~') => length + 2,
        _ => 0,
    }
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
            (
                "the pass\u{200b}word: hun\u{1b}[1mter2\u{1b}[0m.",
                "the pass\u{200b}word: [REDACTED]\u{1b}[0m.",
            ),
            (r"pa\u001b[1mssword: hunter2", r"pa\u001b[1mssword: [REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn what_hides_nothing_stays() {
        for text in [
            r"\u \u12 \ud83d \ud83d\u0041 C:\users\new a\b é决—“x” token: \u0035",
            "\u{1b}[",
            r"/^https?:\/\/([^:]+):([^@]+)@/",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
        assert!(PlainText::of(r"C:\users é决—“x” \n").is_none());
    }
}
