//! Keys that show themselves by what their vendor put into them.

use std::ops::Range;

use super::lines::line_end;
use super::table::{self, Rest};
use super::{encoded, is_word, run, run_back};

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
        let length = match rest {
            Rest::PrivateKey => encoded_key(&bytes[at..])? - prefix.len(),
            rest => rest_length(*rest, tail)?,
        };
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
        Rest::Base64(least) => {
            let length = run(tail, |b| b.is_ascii_alphanumeric() || b"+/=_-".contains(&b));
            (length >= least).then_some(length)
        }
        Rest::Uuid => (uuid(tail) && tail.get(UUID).is_none_or(|b| !is_word(*b))).then_some(UUID),
        Rest::Groups(least) => {
            let length = run(tail, |b| {
                b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-'
            });
            let has_digit = tail[..length].iter().any(u8::is_ascii_digit);
            (length >= least && has_digit).then_some(length)
        }
        Rest::PrivateKey => None,
        Rest::Dotted(parts) => dotted(tail, parts),
        Rest::Path(least) => {
            let length = run(tail, |b| is_dashed(b) || b == b'/');
            (length >= least && tail[..length].iter().any(u8::is_ascii_digit)).then_some(length)
        }
    }
}

/// Length of a UUID.
const UUID: usize = 36;

fn uuid(tail: &[u8]) -> bool {
    tail.len() >= UUID
        && tail[..UUID].iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Length of a private key in base64, also over lines as `base64` writes them.
fn encoded_key(bytes: &[u8]) -> Option<usize> {
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    let head = &bytes[..bytes.len().min(64)];
    if !encoded::begins_private_key(&head[..run(head, is_letter)]) {
        return None;
    }
    let mut end = run(bytes, is_letter);
    // The last line is shorter than the others.
    let mut line = end;
    while line >= 60
        && let Some(length) = line_end(&bytes[end..])
    {
        let start = end + length + run(&bytes[end + length..], |b| b == b' ');
        line = run(&bytes[start..], is_letter);
        if line == 0 {
            break;
        }
        end = start + line;
    }
    Some(end)
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

/// A bot's token for Discord: its number in base64, a time, a signature.
pub(super) fn discord(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = &text.as_bytes()[at..];
    // The first digit of the number.
    if !matches!(bytes.first(), Some(b'M' | b'N' | b'O')) {
        return None;
    }
    let id = run(&bytes[..bytes.len().min(30)], |b| b.is_ascii_alphanumeric());
    if !(23..=28).contains(&id) || bytes.get(id) != Some(&b'.') || !encoded::is_number(&bytes[..id])
    {
        return None;
    }
    dotted(&bytes[id + 1..], &[5, 25]).map(|length| at..at + id + 1 + length)
}

/// A bot's token for Telegram: the bot's number, a colon at `at`, 35 characters.
pub(super) fn telegram(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let digits = run_back(&bytes[from..at], 12, |b| b.is_ascii_digit());
    if !(8..=10).contains(&digits) {
        return None;
    }
    let tail = &bytes[at + 1..bytes.len().min(at + 38)];
    let length = run(tail, is_dashed);
    ((34..=36).contains(&length) && mixed(&tail[..length])).then(|| at - digits..at + 1 + length)
}

/// A key of Mailchimp: 32 digits, a dash at `at`, the number of a data center.
pub(super) fn mailchimp(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let center = bytes[at + 1..].strip_prefix(b"us")?;
    let digits = run(center, |b| b.is_ascii_digit());
    let key = run_back(&bytes[from..at], 33, |b| b.is_ascii_hexdigit());
    (key == 32 && (1..=2).contains(&digits)).then(|| at - key..at + 3 + digits)
}

/// A secret of an application in Azure: `Q~` after a digit, with three characters before
/// and some thirty behind; the tilde is at `at`.
pub(super) fn azure(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at.checked_sub(5).filter(|start| *start >= from)?;
    let is_letter = |b: u8| is_dashed(b) || b"~.".contains(&b);
    if bytes[at - 1] != b'Q' || !bytes[at - 2].is_ascii_digit() {
        return None;
    }
    let length = run(&bytes[at + 1..], is_letter);
    (length >= 31 && bytes[start..at].iter().all(|b| is_letter(*b))).then(|| start..at + 1 + length)
}

/// A token of Terraform's cloud, `….atlasv1.…`; the first dot is at `at`.
pub(super) fn terraform(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    const INNER: &[u8] = b".atlasv1.";
    let bytes = text.as_bytes();
    let tail = bytes[at..].strip_prefix(INNER)?;
    let id = run_back(&bytes[from..at], 15, |b| b.is_ascii_alphanumeric());
    let length = run(tail, is_dashed);
    (id == 14 && length >= 60).then(|| at - id..at + INNER.len() + length)
}

/// Capitals, small letters and digits.
fn mixed(bytes: &[u8]) -> bool {
    bytes.iter().any(u8::is_ascii_uppercase)
        && bytes.iter().any(u8::is_ascii_lowercase)
        && bytes.iter().any(u8::is_ascii_digit)
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

#[cfg(test)]
mod tests {
    use super::super::table::{Rest, all};
    use super::{SHORTEST, UUID, may_begin};
    use crate::redact;

    #[test]
    fn no_key_is_too_short_to_be_looked_at() {
        for (prefix, rest) in all() {
            let least = match rest {
                Rest::Plain(least)
                | Rest::Dashed(least)
                | Rest::Path(least)
                | Rest::Base64(least)
                | Rest::Groups(least) => least,
                Rest::Capitals(exact) | Rest::Hex(exact) => exact,
                Rest::Uuid => UUID,
                Rest::PrivateKey => continue,
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
}
