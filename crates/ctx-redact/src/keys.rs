//! Keys that are recognized by their own text: by a vendor's prefix or format, or by their frame
//! (PEM, OpenSSH, PGP, `PuTTY`).

use std::ops::{Range, RangeInclusive};

use crate::named::margin;
use crate::prose::is_strong;
use crate::rules::{Class, Part, RULES, keys_with};
use crate::value::{Classes, from_base64, is_random, is_value, line_end, looks_random};
use crate::{Cursor, is_word, run};

/// The minimum length of the longest run without a dash in a key. A random string of 20 characters
/// from an alphabet of 64 nearly always contains a run of this length.
const UNBROKEN: usize = 12;

/// The minimum length of a key or a random string, in bytes.
const SHORTEST: usize = 19;

/// Returns true if the word, together with the words joined to it, is long enough for a key or a
/// random string.
#[inline]
pub(super) fn may_begin(bytes: &[u8], word: Range<usize>) -> bool {
    let joins =
        |byte: u8| is_word(byte) || matches!(byte, b'-' | b'.' | b'/' | b':' | b'+' | b'=' | b'~');
    let most = bytes.len().min(word.start + SHORTEST);
    let end = word.end + run(bytes.get(word.end..most).unwrap_or_default(), joins);
    let length = end - word.start;
    // A terminal may have broken the key at the end of the line.
    let is_broken = || end < bytes.len() && matches!(bytes[end], b'\n' | b'\r' | b'\\');
    length >= SHORTEST || length >= FIRST_MIN && is_broken()
}

/// Finds a key with a known prefix or shape; the cursor is at the start of a word.
pub(super) fn prefixed(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let bytes = cursor.rest();
    let keys = keys_with(bytes[0], *bytes.get(1)?).iter();
    let mut keys = keys.filter(|key| bytes.starts_with(key.prefix.as_bytes()));
    keys.find_map(|key| key_of(cursor, key.prefix.len(), &key.rest))
}

/// Finds a key without a prefix; the cursor is at the start of a word.
pub(super) fn shaped(cursor: Cursor<'_>) -> Option<Range<usize>> {
    RULES.shapes.iter().find_map(|parts| key_of(cursor, 0, parts))
}

/// Returns the range of the key at the cursor, whose parts begin after `end` bytes.
fn key_of(cursor: Cursor<'_>, mut end: usize, parts: &[Part]) -> Option<Range<usize>> {
    let (bytes, mut start) = (cursor.rest(), 0);
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Start => start = end,
            Part::Text(text) if bytes[end..].starts_with(text.as_bytes()) => end += text.len(),
            Part::Text(_) => return None,
            Part::PrivateKey => end = encoded_key(bytes)?,
            Part::Run(class, lengths) => {
                let is_last = index + 1 == parts.len();
                let length_of = |tail: &[u8]| run_of(tail, *class, lengths, is_last);
                let whole =
                    if parts.len() == 1 { broken(bytes, end, *class, length_of) } else { None };
                end += whole.or_else(|| length_of(&bytes[end..]))?;
            }
        }
    }
    Some(cursor.at + start..cursor.at + end)
}

/// Returns the length of the run of `class` characters at the start of `tail`, if the run has the
/// vendor's format.
fn run_of(
    tail: &[u8],
    class: Class,
    lengths: &RangeInclusive<usize>,
    is_last: bool,
) -> Option<usize> {
    let most = lengths.end() + usize::from(is_last);
    let length = run(&tail[..tail.len().min(most)], |byte| is_in_class(byte, class));
    let value = &tail[..length];
    let has_digit = |part: &[u8]| part.iter().any(u8::is_ascii_digit);
    let is_long = |part: &[u8]| part.len() >= UNBROKEN && has_digit(part);
    let is_key = match class {
        Class::Dashed => value.split(|b| *b == b'-').any(is_long),
        Class::Lines => holds_key(value),
        Class::Path => has_digit(value),
        _ => true,
    };
    // What follows a key of a limited length is not a letter.
    let ends =
        !is_last || *lengths.end() > tail.len() || tail.get(length).is_none_or(|b| !is_word(*b));
    (lengths.contains(&length) && is_key && ends).then_some(length)
}

fn is_in_class(byte: u8, class: Class) -> bool {
    match class {
        Class::Letters => byte.is_ascii_alphanumeric(),
        Class::Dashed | Class::Chars => is_dashed(byte),
        Class::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        Class::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        Class::Base64 => is_base64(byte),
        Class::Path => is_dashed(byte) || b"/@%+=".contains(&byte),
        Class::Tilde => is_dashed(byte) || b"~.".contains(&byte),
        Class::Name => is_dashed(byte) || b"*.".contains(&byte),
        Class::Value => is_value(byte),
        Class::Lines => is_base64(byte) || b"\\ \r\n".contains(&byte),
        Class::Digits => byte.is_ascii_digit(),
        Class::Hash => is_dashed(byte) || b"$./,=+".contains(&byte),
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte)
}

/// The minimum length of the first part of a broken key, with its prefix.
const FIRST_MIN: usize = 8;

/// Returns the length after the prefix of a key that a terminal has broken into two lines.
/// `length_of` returns the length of the key at the beginning of the text.
fn broken(
    bytes: &[u8],
    prefix: usize,
    class: Class,
    length_of: impl Fn(&[u8]) -> Option<usize>,
) -> Option<usize> {
    let line = |at: usize| run(&bytes[at..], |byte| is_in_class(byte, class));
    let first = prefix..prefix + line(prefix);
    let start = first.end + line_end(&bytes[first.end..])?;
    let start = start + margin(&bytes[start..]);
    let part = &bytes[start..start + line(start)];
    // What follows the key may also be a word or another line.
    let is_rest = looks_random(part) || class != Class::Hex && Classes::of(part).jumps >= 4;
    if first.end < FIRST_MIN || part.len() < 4 || !is_rest {
        return None;
    }
    let rest = [&bytes[first], part].concat();
    let is_key = length_of(&rest) == Some(rest.len()) && (class == Class::Hex || is_random(&rest));
    is_key.then(|| start + part.len() - prefix)
}

/// The maximum length of encoded text that is searched for secrets; longer text is a file.
const KEY_MAX: usize = 1 << 12;

/// Finds text in hexadecimal digits or base64 that contains a secret; the cursor is at the start of
/// a word.
pub(super) fn encoded(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let (at, bytes) = (cursor.at, cursor.rest());
    // Encoded text that is printable begins with one of these.
    let may_begin = matches!(bytes[0], b'2'..=b'7' | b'I'..=b'Z' | b'a'..=b'f');
    let goes_on = |byte: &u8| is_base64(*byte) && *byte != b'=';
    if !may_begin || cursor.before().last().is_some_and(goes_on) {
        return None;
    }
    let length = run(&bytes[..bytes.len().min(KEY_MAX)], is_base64);
    if !(SHORTEST..KEY_MAX).contains(&length) {
        return None;
    }
    let word = &cursor.text[at..at + length];
    let decoded = |word: &str| {
        let bytes = if word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let digits = (0..word.len() / 2).map(|at| &word[2 * at..2 * at + 2]);
            digits.map(|digits| u8::from_str_radix(digits, 16).ok()).collect()
        } else {
            from_base64(word.as_bytes())
        };
        let is_shown = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        String::from_utf8(bytes?).ok().filter(|text| text.bytes().all(|byte| is_shown(&byte)))
    };
    // Most words are not encoded text, as their beginning shows.
    decoded(&word[..8])?;
    let text = decoded(word)?;
    let is_password = text.len() >= 10 && is_strong(text.trim().as_bytes());
    (is_password || !crate::scan(&text).is_empty()).then(|| at..at + length)
}

fn is_dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// Returns the length of a private key in base64. The key may span several lines, as in the output
/// of `base64`.
fn encoded_key(bytes: &[u8]) -> Option<usize> {
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    let head = &bytes[..bytes.len().min(64)];
    let text = from_base64(&head[..run(head, is_letter)]).unwrap_or_default();
    if !text.windows(11).any(|part| part == b"PRIVATE KEY") {
        return None;
    }
    let mut end = run(bytes, is_letter);
    // The last line of an encoded key is shorter than the other lines.
    let mut line = end;
    while line >= 60
        && let Some(length) = line_end(&bytes[end..])
    {
        let start = end + length + run(&bytes[end + length..], |b| b == b' ');
        line = run(&bytes[start..], is_letter);
        if line > 0 {
            end = start + line;
        }
    }
    Some(end)
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";

/// Finds a framed private key, even if the end of the frame is missing.
pub(super) fn private_key(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let label = cursor.rest().strip_prefix(BEGIN)?;
    let start = cursor.at + BEGIN.len() + label_end(label)?;
    let body = &cursor.bytes()[start..];
    // The body consists of base64, line ends (`\n` in quoted text) and, if the key is encrypted,
    // two header lines. Five dashes mark the end of the frame or the beginning of another.
    let is_body = |b: u8| b.is_ascii_alphanumeric() || b"+/=\\:, \r\n\t".contains(&b);
    let is_end = |at: &usize| match body[*at] {
        b'-' => body[*at..].starts_with(b"-----"),
        byte => !is_body(byte),
    };
    let length = (0..body.len()).find(is_end).unwrap_or(body.len());
    let frame_end = body[length..].strip_prefix(END).and_then(label_end);
    let end = start + length + frame_end.map_or(0, |length| END.len() + length);
    holds_key(&body[..length]).then_some(cursor.at..end)
}

/// Returns the length of `RSA PRIVATE KEY-----` or a similar label at the beginning of the text.
fn label_end(label: &[u8]) -> Option<usize> {
    const KEY: &[u8] = b"PRIVATE KEY-----";
    const PGP: &[u8] = b"PGP PRIVATE KEY BLOCK-----";
    let key = label.windows(KEY.len()).take(20).position(|window| window == KEY);
    key.map(|start| start + KEY.len()).or_else(|| label.starts_with(PGP).then_some(PGP.len()))
}

/// Returns true if the frame contains a line of base64. Prose and code that only mention the frame
/// contain no base64.
fn holds_key(body: &[u8]) -> bool {
    let is_letter = |b: &u8| b.is_ascii_alphanumeric() || b"+/=".contains(b);
    body.split(|b| !is_letter(b)).any(|line| line.len() >= 32)
}

#[cfg(test)]
mod tests {
    use super::{SHORTEST, may_begin};
    use crate::rules::{Part, keys_with};
    use crate::{is_word, redact, run};

    #[test]
    fn no_key_is_too_short_for_the_first_look() {
        for key in (0..32).flat_map(|first| (0..32).flat_map(move |next| keys_with(first, next))) {
            let length = |part: &Part| match part {
                Part::Run(_, lengths) => *lengths.start(),
                Part::Text(text) => text.len(),
                Part::PrivateKey | Part::Start => 0,
            };
            let least = key.rest.iter().map(length).sum();
            let prefix = key.prefix;
            // The scan finds hashes by their first sign.
            if least == 0 || !is_word(prefix.as_bytes()[0]) {
                continue;
            }
            assert!(prefix.len() + least >= SHORTEST, "{prefix}");
            let key = format!("{prefix}{}", "A".repeat(least));
            let word = run(key.as_bytes(), is_word);
            assert!(may_begin(key.as_bytes(), 0..word), "{prefix}");
        }
    }

    #[test]
    fn keys_of_vendors_go() {
        for key in [
            "sk-aB3dE5gH7jK9mN1pQ3sT5uV7",
            "sk-ant-api03-aB3dE5gH7jK9mN1pQ3sT5uV7-xY_z",
            "sk-proj-aB3dE5gH7jK9mN1pQ3sT5uV7",
            "sk_live_aB3dE5gH7jK9mN1pQ3",
            "ghp_aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5",
            "gho_aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5",
            "github_pat_11ABCDEFG0aB3dE5gH7jK9_mN1pQ3sT5uV7wX9yZ1bC3",
            "glpat-aB3dE5gH7jK9mN1pQ3sT",
            "AKIAIOSFODNN7EXAMPLE",
            "ASIAIOSFODNN7EXAMPLE",
            "xoxb-123456789012-123456789012-aB3dE5gH7jK9mN1pQ3sT5uV7",
            "AIzaSyA1bC3dE5fG7hI9jK1lM3nO5pQ7rS9tU1v",
            "npm_aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5",
            "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV",
            "eyJhbGciOiJkaXIifQ..2e9SnQlrTod9JSS9.pr8qTdGihyBBbLn7Ynhrnfv89JkApI.lsH1uE9lpNnRlzSrCT",
            "eyJhbGciOiJSU0EifQ.OKOawDo13gRp.48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYI.XFBoMYUZodetZ",
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTYifQ.",
            "v2.local.3BcoKdOVhtP5qbvUb7oifQB4EAcuiUGSkIzsuo7dlOfPC76jpcETtRXrA7iTSAv_2I4xy",
            "ghs_123456_eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.SflKxwRJSMeKKF2QT4fwpMe",
            "ATATT3xFfGF0aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5=fG7hI9aB3dE5gH7=1A2B3C4D",
            "apify_api_aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5",
            "BSAaB3dE5gH7jK9mN1pQ3sT5uV7wX9y",
            "wandb_v1_aB3dE5gH7jK9mN1pQ3sT5uV7wX9_yZ1bC3dE5fG7hI9aB3dE5gH7jK9mN1p",
            "fw_aB3dE5gH7jK9mN1pQ3sT5uV7",
            "pk_12345678_AB3DE5GH7JK9MN1PQ3ST5UV7WX9YZ1BC",
            "A3-ABC123-DEF456-GHI78-JKL90-MNO12-PQR34",
            "123456789:AAB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3d",
            "9f86d081884c7d659a2feaa0c55ad015-us12",
            "abc8Q~aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3d",
            "aB3dE5gH7jK9mN.atlasv1.aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5fG7hI9aB3dE5gH7jK9mN1pQ3sT5",
            "st.9f86d081884c7d659a2feaa0.9f86d081884c7d659a2feaa0c55ad015.9f86d081884c7d659a2feaa0c55ad015",
        ] {
            let text = format!("it is {key}, keep it");
            assert_eq!(redact(&text), ("it is [REDACTED], keep it".into(), 1), "{key}");
        }
    }

    #[test]
    fn look_alikes_of_keys_stay() {
        for text in [
            "pip install sk-learn",
            "sk-some-long-package-name-with-dashes",
            "the task-1234567890abcdef1234 is done",
            "npm_config_registry and npm_lifecycle_event",
            "AKIA is a prefix, AKIASHORT too, AKIAIOSFODNN7EXAMPLELONGER is none",
            "commit 3f786850e387550fdab836ed7e6dc881de23001b",
            "id 550e8400-e29b-41d4-a716-446655440000",
            "toolu_01A09q90qw90lq917835lq9 and call_abc123DEF456ghi789JKL012",
            "eyJhbGciOiJIUzI1NiJ9 alone",
            "eyJhbGciOiJI.short.x",
            "BSAaB3dE5gH7jK9mN1pQ3sT5uV7wX, fw_update_2, pk_1, st.title(2), v1.local.host1",
            "ghs_ and APIFY_API_TOKEN, apify_api_token",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn keys_on_several_lines_go() {
        let random = "aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5fG7hI9";
        for key in [
            ["ghp_", &random[..36]].concat(),
            ["glpat-", &random[..20]].concat(),
            ["sk-ant-api03-", random, random].concat(),
            ["AKIA", "QWERTY7UIOP3ASDF"].concat(),
            ["dop_v1_", &"9f86d081884c7d659a2feaa0c55ad015".repeat(2)].concat(),
        ] {
            for (at, end) in
                (8..key.len() - 4).flat_map(|at| [(at, "\n"), (at, "\r\n"), (at, "\\n")])
            {
                let (first, rest) = key.split_at(at);
                for next in ["", " then", "\nthen", "\", 5]"] {
                    let text = format!("it is {first}{end}{rest}{next}");
                    assert_eq!(
                        redact(&text),
                        (format!("it is [REDACTED]{next}").into(), 1),
                        "{text}"
                    );
                }
            }
        }
        let (first, rest) = (["ghp_", &random[..16]].concat(), &random[16..36]);
        for [margin, next] in [["+", "\n+"], ["  1→", "\n  2→"], ["1\t", "\n2\t"]] {
            let text = format!("{margin}{first}{next}{rest}{next}then");
            assert_eq!(redact(&text), (format!("{margin}[REDACTED]{next}then").into(), 1));
        }
        for text in
            ["npm_config\nregistry2x", "sk-learn\nscikit2Learn", "AKIA0\nQWERTY", "key_\nfoo2bar"]
        {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn encoded_keys_go() {
        let key = ["ghp_", "aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5"].concat();
        let hex = key.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        for encoded in [
            hex.to_uppercase(),
            hex,
            // The same key and a password in base64, the key also in the alphabet for URLs.
            "Z2hwX2FCM2RFNWdIN2pLOW1OMXBRM3NUNXVWN3dYOXlaMWJDM2RFNQ==".to_owned(),
            "Z2hwX2FCM2RFNWdIN2pLOW1OMXBRM3NUNXVWN3dYOXlaMWJDM2RFNQ".to_owned(),
            "cGFzc3dvcmQ6IGh1bnRlcjJ4Cg==".to_owned(),
        ] {
            let text = format!("echo {encoded} | x");
            assert_eq!(redact(&text), ("echo [REDACTED] | x".into(), 1), "{text}");
        }
        for text in ["68656c6c6f20776f726c642068656c6c6f20776f726c64", "d2Vla3Mgb2YgYSBtb250aA=="] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn private_keys_go_whole() {
        let body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnygWyF8PbnGy0AHB7MaXGmXQ+/abcdefgh";
        for text in [
            format!("-----BEGIN PRIVATE KEY-----\n{body}\n{body}\n-----END PRIVATE KEY-----"),
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{body}\n-----END RSA PRIVATE KEY-----"
            ),
            format!(
                "-----BEGIN OPENSSH PRIVATE KEY-----\\n{body}\\n-----END OPENSSH PRIVATE KEY-----"
            ),
            format!("-----BEGIN EC PRIVATE KEY-----\n{body}\n{body}"),
        ] {
            let framed = format!("a\"{text}\"z");
            assert_eq!(redact(&framed), ("a\"[REDACTED]\"z".into(), 1), "{text}");
        }
    }

    #[test]
    fn talk_about_private_keys_stays() {
        for text in [
            "if line.startswith('-----BEGIN PRIVATE KEY-----'):",
            "-----BEGIN PRIVATE KEY----- is the first line of such a file",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
            "----- a rule -----",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn a_key_of_putty_goes() {
        let line = "AAAAIQCqGKukO1De7zhZj6EXAMPLEAMPLEkkWmPq";
        let text = format!("Private-Lines: 2\n{line}\n{line}");
        assert_eq!(redact(&text), ("Private-Lines:[REDACTED]".into(), 1));
    }
}
