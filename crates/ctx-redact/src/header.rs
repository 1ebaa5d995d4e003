//! Secrets in requests: headers, cookies, passwords and signatures in URLs.

use std::ops::Range;

use super::run;
use super::value::{VALUE_MAX, looks_random};

/// `Bearer TOKEN` as in the header of a request.
pub(super) fn bearer(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let scheme = ["bearer ", "basic "].into_iter().find(|scheme| {
        let start = bytes[at..].get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })?;
    let start = at + scheme.len() + run(&bytes[at + scheme.len()..], |b| b == b' ');
    let length = run(&bytes[start..], is_token);
    let value = text[start..start + length].trim_end_matches('.');
    // "Bearer tokens expire", "basic authentication": prose has no digits. Behind the
    // name of the header there is no prose.
    let before = text[..at].trim_end_matches([' ', ':', '=', '"', '\'', '\\']);
    let tail = before.len().saturating_sub(AUTHORIZATION.len());
    let in_header = before.as_bytes()[tail..].eq_ignore_ascii_case(AUTHORIZATION);
    let secret = value.len() >= 8 && (in_header || looks_random(value.as_bytes()));
    secret.then(|| start..start + value.len())
}

const AUTHORIZATION: &[u8] = b"authorization";

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

pub(super) fn is_authorization(name: &str) -> bool {
    let start = name.len().checked_sub(AUTHORIZATION.len());
    start.is_some_and(|start| name.as_bytes()[start..].eq_ignore_ascii_case(AUTHORIZATION))
}

/// The value of `Authorization: SCHEME VALUE`, whatever the scheme; `at` is behind the
/// colon.
pub(super) fn behind_scheme(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at + run(&bytes[at..], |b| b" \"'`\\".contains(&b));
    let scheme = run(&bytes[start..], |b| b.is_ascii_alphanumeric() || b == b'-');
    let blanks = run(&bytes[start + scheme..], |b| b == b' ');
    let value = start + scheme + blanks;
    let length = run(&bytes[value..], is_token);
    let is_secret = (2..=20).contains(&scheme)
        && blanks > 0
        && length >= 8
        && looks_random(&bytes[value..value + length]);
    is_secret.then(|| value..value + length)
}

/// What is behind `Cookie:` and `Set-Cookie:`, when it holds a long random value; `at` is
/// the colon.
pub(super) fn cookie(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let name = at.saturating_sub(6).max(from);
    if !bytes[name..at].eq_ignore_ascii_case(b"cookie") {
        return None;
    }
    let start = at + 1 + run(&bytes[at + 1..], |b| b == b' ');
    let is_inside = |b: u8| !b"\r\n\"'`\\<>".contains(&b);
    let judged = &bytes[start..bytes.len().min(start + VALUE_MAX)];
    let judged = &judged[..run(judged, is_inside)];
    let mut pairs = judged.split(|b| *b == b';');
    let is_secret = pairs.any(|pair| {
        let value = pair
            .iter()
            .position(|b| *b == b'=')
            .map(|sign| &pair[sign + 1..]);
        value
            .is_some_and(|value| value.len() >= 16 && !value.contains(&b' ') && looks_random(value))
    });
    is_secret.then(|| start..start + run(&bytes[start..], is_inside))
}

/// The password of `scheme://user:password@host`, or a key without a user; `at` is the
/// first colon.
pub(super) fn url_password(text: &str, at: usize) -> Option<Range<usize>> {
    let login = text[at..].strip_prefix("://")?;
    let login_at = at + 3;
    let part = &login.as_bytes()[..login.len().min(256)];
    let authority = run(part, |b| {
        !b.is_ascii_whitespace() && !b"/\"'`<>".contains(&b)
    });
    // A password may have an @ in it.
    let length = part[..authority].iter().rposition(|b| *b == b'@')?;
    let Some(colon) = part[..length].iter().position(|b| *b == b':') else {
        let user = &part[..length];
        let is_key =
            user.len() >= 20 && looks_random(user) && user.iter().all(u8::is_ascii_alphanumeric);
        return is_key.then(|| login_at..login_at + length);
    };
    let first = part[colon + 1];
    (colon + 1 < length && !b"$<{%*[".contains(&first))
        .then(|| login_at + colon + 1..login_at + length)
}

/// The signature of an Azure address, `&sig=…`; `at` is the sign.
pub(super) fn signature(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = &bytes[from..at];
    // `;` ends `&amp;` of HTML.
    if !["?sig", "&sig", ";sig"]
        .iter()
        .any(|name| before.ends_with(name.as_bytes()))
    {
        return None;
    }
    let length = run(&bytes[at + 1..], |b| {
        b.is_ascii_alphanumeric() || b"%+/=-_".contains(&b)
    });
    (length >= 30).then(|| at + 1..at + 1 + length)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn what_a_request_carries_goes() {
        for (text, clean) in [
            (
                "Authorization: token a1b2c3d4e5",
                "Authorization: token [REDACTED]",
            ),
            (
                "\"Authorization\": \"SSWS 00a1b2c3d4\"",
                "\"Authorization\": \"SSWS [REDACTED]\"",
            ),
            (
                "Cookie: theme=dark; session=9f86d081884c7d659a2f\nHost: a",
                "Cookie: [REDACTED]\nHost: a",
            ),
            (
                "https://9f86d081884c7d659a2feaa0c55ad015@host/1",
                "https://[REDACTED]@host/1",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
        for text in [
            "Cookie: theme=dark; lang=en",
            "Set-Cookie: id=5; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
            "Authorization: none given",
            "https://somebody.with.a.long.name@example.com/",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
