//! Secrets that show themselves: by a vendor's prefix or by their frame.

use std::ops::Range;

use super::{has_digit_and_letter, is_word, run};

/// What may follow a prefix.
#[derive(Clone, Copy)]
enum Rest {
    /// At least so many letters and digits; fewer are a name (`npm_config`).
    Plain(usize),
    /// At least so many letters, digits, `-` and `_`, with an unbroken run of
    /// [`RUN`] that has a digit: names with dashes (`sk-learn-contrib`) have none.
    Dashed(usize),
    /// Exactly so many capitals and digits.
    Capitals(usize),
}

/// Random text of 20 characters out of 64 nearly always has such a run.
const RUN: usize = 12;

/// The prefixes vendors give to their keys so that scanners find them.
const PREFIXES: &[(&str, Rest)] = &[
    // OpenAI, Anthropic (sk-ant-…) and those who copy their form.
    ("sk-", Rest::Dashed(16)),
    // Stripe.
    ("sk_live_", Rest::Plain(16)),
    ("sk_test_", Rest::Plain(16)),
    ("rk_live_", Rest::Plain(16)),
    // GitHub: personal, OAuth, user, server and refresh tokens.
    ("ghp_", Rest::Plain(20)),
    ("gho_", Rest::Plain(20)),
    ("ghu_", Rest::Plain(20)),
    ("ghs_", Rest::Plain(20)),
    ("ghr_", Rest::Plain(20)),
    ("github_pat_", Rest::Dashed(20)),
    // GitLab.
    ("glpat-", Rest::Dashed(16)),
    // AWS access keys, lasting and temporary.
    ("AKIA", Rest::Capitals(16)),
    ("ASIA", Rest::Capitals(16)),
    // Slack.
    ("xoxa-", Rest::Dashed(16)),
    ("xoxb-", Rest::Dashed(16)),
    ("xoxp-", Rest::Dashed(16)),
    ("xoxs-", Rest::Dashed(16)),
    // Google.
    ("AIza", Rest::Dashed(30)),
    // npm, Hugging Face, PyPI.
    ("npm_", Rest::Plain(30)),
    ("hf_", Rest::Plain(30)),
    ("pypi-AgEI", Rest::Dashed(30)),
];

/// A key with a known prefix at `at`, where a word starts.
pub(super) fn prefixed(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    PREFIXES.iter().find_map(|(prefix, rest)| {
        if !bytes[at..].starts_with(prefix.as_bytes()) {
            return None;
        }
        let tail = &bytes[at + prefix.len()..];
        let length = match rest {
            Rest::Plain(least) => {
                let length = run(tail, |b| b.is_ascii_alphanumeric());
                (length >= *least).then_some(length)
            }
            Rest::Dashed(least) => {
                let length = run(tail, |b| is_word(b) || b == b'-');
                let random = tail[..length]
                    .split(|b| *b == b'-')
                    .any(|part| part.len() >= RUN && part.iter().any(u8::is_ascii_digit));
                (length >= *least && random).then_some(length)
            }
            Rest::Capitals(exact) => {
                let length = run(tail, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
                let ends = tail.get(length).is_none_or(|b| !is_word(*b));
                (length == *exact && ends).then_some(length)
            }
        }?;
        Some(at..at + prefix.len() + length)
    })
}

/// A JSON web token: three parts of base64url joined by dots, the first of which
/// begins with `{"` and so with `eyJ`.
pub(super) fn web_token(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if !bytes[at..].starts_with(b"eyJ") {
        return None;
    }
    let mut end = at;
    for part in 0..3 {
        if part > 0 {
            if bytes.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let length = run(&bytes[end..], |b| is_word(b) || b == b'-');
        if length < 10 {
            return None;
        }
        end += length;
    }
    Some(at..end)
}

const BEGIN: &[u8] = b"-----BEGIN ";
const KEY: &[u8] = b"PRIVATE KEY-----";
const END: &[u8] = b"-----END ";

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
}

/// Ids that tools give to calls and messages: long and random, but no secrets.
pub(super) fn is_public_id(value: &[u8]) -> bool {
    [&b"toolu_"[..], b"call_", b"chatcmpl-", b"msg_", b"resp_"]
        .iter()
        .any(|prefix| value.starts_with(prefix))
}

/// Whether a value can be a secret by its look: digits and letters mixed.
pub(super) fn looks_random(value: &[u8]) -> bool {
    has_digit_and_letter(value) && !is_public_id(value)
}

#[cfg(test)]
mod tests {
    use crate::redact::redact;

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
