//! Values on the lines below their name: `password: >-` of YAML.

use std::ops::Range;

use super::lines::{line_end, margin};
use super::name::Kind;
use super::run;
use super::value::{VALUE_MAX, is_reference, looks_random};

/// More words than this are a text for people.
const WORDS_MOST: usize = 8;

/// The block behind a name, from its first line to its last; `at` is behind the colon.
pub(super) fn block_after(text: &str, at: usize, kind: Kind) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = at + run(&bytes[at..], |b| b == b' ');
    let is_joined = at < 2 || bytes[at - 2] != b' ';
    if !is_joined || !matches!(bytes.get(start), Some(b'>' | b'|')) {
        return None;
    }
    // How the block ends, and how far it is indented.
    start += 1 + run(&bytes[start + 1..], |b| b"+-123456789 ".contains(&b));
    start += line_end(&bytes[start..])?;
    start += margin(&bytes[start..]);
    let indent = run(&bytes[start..], |b| b == b' ');
    if indent == 0 {
        return None;
    }
    start += indent;
    let judged = lines(&bytes[..bytes.len().min(start + VALUE_MAX)], start, indent);
    let value = &text[start..floor(text, judged)];
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_secret = match kind {
        Kind::Password => value.len() >= 4 && words.len() <= WORDS_MOST,
        Kind::Secret => {
            value.len() >= 8 && words.len() <= WORDS_MOST && looks_random(value.as_bytes())
        }
        Kind::Key | Kind::Login | Kind::Words => false,
    };
    // A reference is no secret; a key in a frame is found by it.
    let first = bytes.get(start);
    let names_it = value.starts_with('-') || first.is_some_and(|first| is_reference(*first));
    (is_secret && !names_it).then(|| start..lines(bytes, start, indent))
}

/// Where the lines end that are indented like the first, which begins at `start`.
fn lines(bytes: &[u8], start: usize, indent: usize) -> usize {
    let mut end = start;
    loop {
        // A quote ends the text in which the lines are written as `\n`.
        end += run(&bytes[end..], |b| !b"\r\n\\\"".contains(&b));
        let Some(length) = line_end(&bytes[end..]) else {
            return end;
        };
        let next = end + length + margin(&bytes[end + length..]);
        if run(&bytes[next..], |b| b == b' ') < indent {
            return end;
        }
        end = next;
    }
}

/// The place, or the next one to the left that does not cut a character.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use crate::redact;

    /// D13: the value stood on the next line.
    #[test]
    fn a_block_below_its_name_goes() {
        for (text, clean) in [
            (
                "password: >-\n  swordfish\nuser: a",
                "password: >-\n  [REDACTED]\nuser: a",
            ),
            (
                "  password: |\n    correct horse\n    battery\n  x: 1",
                "  password: |\n    [REDACTED]\n  x: 1",
            ),
            (
                r#"{"a":"password: >-\n  swordfish\nuser: a"}"#,
                r#"{"a":"password: >-\n  [REDACTED]\nuser: a"}"#,
            ),
            (
                "api_token: |2-\n  a1b2c3\n  d4e5f6",
                "api_token: |2-\n  [REDACTED]",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn a_block_in_a_diff_or_with_numbers_goes() {
        for (text, clean) in [
            (
                "+password: >-\n+  swordfish\n+user: a",
                "+password: >-\n+  [REDACTED]\n+user: a",
            ),
            (
                "    1→password: |\n    2→  swordfish\n    3→user: a",
                "    1→password: |\n    2→  [REDACTED]\n    3→user: a",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_blocks_stay() {
        for text in [
            "password: |\nuser: a",
            // The text ends where the value would begin.
            "password: |\n  ",
            "password: |\n  The password must have at least eight characters, a digit and a sign",
            "token: >-\n  {{ .Values.token }}",
            "password: >-\n  $PASSWORD",
            "this will pass :>\n  assert(a);",
            "key: |\n  first1\n  second2",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
