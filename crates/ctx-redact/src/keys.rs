//! Secrets that show themselves: by a vendor's prefix or by their frame.

use std::ops::Range;

use super::table::{self, Rest};
use super::{is_word, run, run_back};

/// Random text of 20 characters out of 64 nearly always has so many without a dash.
const RUN: usize = 12;

/// No key that shows itself, and no random string, is shorter, in bytes.
const SHORTEST: usize = 19;

/// Whether a key or a random string may begin with this word: enough of their bytes
/// follow it.
pub(super) fn may_begin(bytes: &[u8], word: Range<usize>) -> bool {
    let rest = bytes.get(word.end..word.start + SHORTEST);
    let is_key = |byte: &u8| is_dashed(*byte) || b"./:+=".contains(byte);
    word.len() >= SHORTEST || rest.is_some_and(|rest| rest.iter().all(is_key))
}

/// A key with a known prefix at `at`, where a word starts.
pub(super) fn prefixed(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let may_be = table::with_first(bytes[at]);
    may_be.iter().find_map(|(prefix, rest)| {
        let tail = bytes[at..].strip_prefix(prefix.as_bytes())?;
        let length = rest_length(*rest, tail)?;
        // Of an address the host is no secret.
        let start = match rest {
            Rest::Path(_) => at + prefix.len(),
            _ => at,
        };
        Some(start..at + prefix.len() + length)
    })
}

/// How long the rest of a key is; `None` when it is not what the vendor writes.
fn rest_length(rest: Rest, tail: &[u8]) -> Option<usize> {
    let exactly = |exact: usize, wanted: fn(u8) -> bool| {
        let length = run(&tail[..tail.len().min(exact + 1)], wanted);
        let ends = tail.get(length).is_none_or(|b| !is_word(*b));
        (length == exact && ends).then_some(length)
    };
    match rest {
        Rest::Plain(least) => {
            let length = run(tail, |b| b.is_ascii_alphanumeric());
            (length >= least).then_some(length)
        }
        Rest::Dashed(least) => {
            let length = run(tail, is_dashed);
            let random = tail[..length]
                .split(|b| *b == b'-')
                .any(|part| part.len() >= RUN && part.iter().any(u8::is_ascii_digit));
            (length >= least && random).then_some(length)
        }
        Rest::Capitals(exact) => exactly(exact, |b| b.is_ascii_uppercase() || b.is_ascii_digit()),
        Rest::Hex(exact) => exactly(exact, |b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
        Rest::Dotted(parts) => dotted(tail, parts),
        Rest::Path(least) => {
            let length = run(tail, |b| is_dashed(b) || b == b'/');
            (length >= least && tail[..length].iter().any(u8::is_ascii_digit)).then_some(length)
        }
    }
}

/// Length of parts of at least these lengths with dots between them.
fn dotted(tail: &[u8], parts: &[usize]) -> Option<usize> {
    let mut end = 0;
    for (index, least) in parts.iter().enumerate() {
        if index > 0 {
            if tail.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let length = run(&tail[end..], is_dashed);
        if length < *least {
            return None;
        }
        end += length;
    }
    Some(end)
}

fn is_dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// A bot's token for Discord: its id in base64, a time, a signature.
pub(super) fn discord(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = &text.as_bytes()[at..];
    if !matches!(bytes.first(), Some(b'M' | b'N' | b'O')) {
        return None;
    }
    let id = run(&bytes[..bytes.len().min(30)], |b| b.is_ascii_alphanumeric());
    if !(23..=28).contains(&id) || !mixed(&bytes[..id]) || bytes.get(id) != Some(&b'.') {
        return None;
    }
    let time = run(&bytes[id + 1..], is_dashed);
    if !(6..=7).contains(&time) {
        return None;
    }
    dotted(&bytes[id + 1 + time..], &[0, 27]).map(|length| at..at + id + 1 + time + length)
}

/// A bot's token for Telegram: the bot's number, a colon at `at`, 35 characters.
pub(super) fn telegram(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let digits = run_back(&bytes[from..at], 12, |b| b.is_ascii_digit());
    let tail = &bytes[at + 1..bytes.len().min(at + 38)];
    let length = run(tail, is_dashed);
    ((8..=10).contains(&digits) && (34..=36).contains(&length) && mixed(&tail[..length]))
        .then(|| at - digits..at + 1 + length)
}

/// Capitals, small letters and digits.
fn mixed(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_uppercase)
        && bytes.iter().any(u8::is_ascii_lowercase)
        && bytes.iter().any(u8::is_ascii_digit)
}

const BEGIN: &[u8] = b"-----BEGIN ";
const KEY: &[u8] = b"PRIVATE KEY-----";
const END: &[u8] = b"-----END ";
const PGP: &[u8] = b"PGP PRIVATE KEY BLOCK-----";

/// A private key in its frame; also one whose end was cut off.
pub(super) fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let label = bytes[at..].strip_prefix(BEGIN)?;
    let body_at = at + BEGIN.len() + label_end(label)?;
    let body = &bytes[body_at..];
    // Base64 and line ends, real ones or `\n` in quoted text, and the two
    // header lines of an encrypted key; five dashes are the next frame.
    let mut length = 0;
    loop {
        length += run(&body[length..], |b| {
            b.is_ascii_alphanumeric() || b"+/=\\:, \r\n\t".contains(&b)
        });
        if body.get(length) != Some(&b'-') || body[length..].starts_with(b"-----") {
            break;
        }
        length += 1;
    }
    // Prose and code that only speak of the frame hold no key.
    let holds_key = body[..length]
        .split(|b| !(b.is_ascii_alphanumeric() || b"+/=".contains(b)))
        .any(|line| line.len() >= 32);
    if !holds_key {
        return None;
    }
    let mut end = body_at + length;
    if let Some(length) = bytes[end..].strip_prefix(END).and_then(label_end) {
        end += END.len() + length;
    }
    Some(at..end)
}

/// Length of `RSA PRIVATE KEY-----` and its like.
fn label_end(label: &[u8]) -> Option<usize> {
    label
        .windows(KEY.len())
        .take(20)
        .position(|window| window == KEY)
        .map(|start| start + KEY.len())
        .or_else(|| label.starts_with(PGP).then_some(PGP.len()))
}

/// Ids that tools give to calls and messages: long and random, but no secrets.
pub(super) fn is_public_id(value: &[u8]) -> bool {
    const PREFIXES: [&str; 12] = [
        "toolu_",
        "srvtoolu_",
        "call_",
        "chatcmpl-",
        "msg_",
        "req_",
        "resp_",
        "rs_",
        "fc_",
        "run_",
        "thread_",
        "file-",
    ];
    PREFIXES
        .iter()
        .any(|prefix| value.starts_with(prefix.as_bytes()))
}

/// Whether a value can be a secret by its look: digits and letters mixed.
pub(super) fn looks_random(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && !is_public_id(value)
}

#[cfg(test)]
mod tests {
    use super::super::table::{Rest, all};
    use super::{SHORTEST, may_begin};
    use crate::redact;

    #[test]
    fn no_key_is_too_short_to_be_looked_at() {
        for (prefix, rest) in all() {
            let least = match rest {
                Rest::Plain(least) | Rest::Dashed(least) | Rest::Path(least) => least,
                Rest::Capitals(exact) | Rest::Hex(exact) => exact,
                Rest::Dotted(parts) => parts.iter().map(|part| part + 1).sum::<usize>() - 1,
            };
            assert!(prefix.len() + least >= SHORTEST, "{prefix}");
            let key = format!("{prefix}{}", "A".repeat(least));
            assert!(may_begin(key.as_bytes(), 0..1), "{prefix}");
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
        ] {
            let text = format!("it is {key}, keep it");
            assert_eq!(
                redact(&text),
                ("it is [REDACTED], keep it".into(), 1),
                "{key}"
            );
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
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ] {
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
}
