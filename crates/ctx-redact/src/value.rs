//! Values: where one begins and ends, and what it looks like.

use std::ops::Range;

use super::keys::is_public_id;
use super::lines::line_end;
use super::{is_word, run};

/// How much of a value without quotes is judged: without a bound,
/// `token=token=…` takes time by the square of its length.
pub(super) const VALUE_MAX: usize = 256;

/// Words that stand where a value would: types, states, and the names themselves.
const NO_VALUES: &str = "\
    string str none null true false undefined required optional invalid missing expired password \
    passwd secret token object number bytes bearer basic redacted default unset empty unknown";

/// How words of the trade begin that have digits in them, as a secret has.
const TERMS: &str = "\
    aes argon2 base32 base58 base64 bcrypt blake2 ec2 ed25519 es256 hmac hs256 http2 ipv4 ipv6 \
    k8s kerberos5 md5 oauth pbkdf2 pkcs rs256 rsa s3 scrypt sha tls1 utf uuid x509";

/// Words that join others in prose, which the words of a passphrase seldom are.
const JOINING: &[&str] = &[
    "and", "at", "by", "for", "in", "is", "no", "not", "of", "on", "only", "or", "the", "to",
    "use", "with",
];

/// The value from `at` on, and whether it is quoted. A value that is a
/// reference (`$TOKEN`, `<token>`, `{token}`, `%TOKEN%`) or a mark is none.
pub(super) fn value_after(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let bytes = text.as_bytes();
    let mut start = at + run(&bytes[at..], |b| matches!(b, b' ' | b'*' | b'\t'));
    let escape = run(&bytes[start..], |b| b == b'\\');
    let quote = bytes
        .get(start + escape)
        .copied()
        .filter(|b| b"\"'`".contains(b));
    let end = if let Some(quote) = quote {
        start += escape + 1;
        // A text of several lines begins with three quotes.
        if bytes[start..].starts_with(&[quote, quote]) {
            start += 2;
            start += line_end(&bytes[start..]).unwrap_or(0);
        }
        start + run(&bytes[start..], |b| b != quote && b != b'\\' && b != b'\n')
    } else {
        let part = &bytes[start..bytes.len().min(start + VALUE_MAX)];
        let length = run(part, is_value);
        let value = &text[start..start + length];
        start + value.trim_end_matches(['.', ':', '!', '?']).len()
    };
    let first = *bytes.get(start)?;
    (end > start && !is_reference(first)).then_some((start..end, quote.is_some()))
}

/// Whether a value that begins so only names a secret, or is a mark.
pub(super) fn is_reference(first: u8) -> bool {
    b"$<{%*[(=&/".contains(&first)
}

pub(super) fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`,;)(}{[]&<>|\\".contains(&byte)
}

/// A word that stands where a value would.
pub(super) fn is_no_value(value: &[u8]) -> bool {
    let mut words = NO_VALUES.split(' ');
    words.any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a value can be a secret by its look: digits and letters mixed.
pub(super) fn looks_random(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && !is_public_id(value)
}

/// `base64-encoded`, `sha256`, `12-character`: what is said about a secret.
pub(super) fn is_term(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let digits = run(&lower, |b| b.is_ascii_digit());
    let of_number = digits > 0 && lower.get(digits) == Some(&b'-');
    of_number
        || TERMS
            .split(' ')
            .any(|term| lower.starts_with(term.as_bytes()))
}

/// `CLIENT_SECRET_0`, `0x1f`: a name or a number of code.
pub(super) fn is_constant(value: &[u8]) -> bool {
    let is_name = value.contains(&b'_')
        && value
            .iter()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_');
    is_name || value.starts_with(b"0x") && value.len() <= 10
}

/// `correct-horse-battery`: three words or more with dashes, none of which is one that
/// joins others in prose (`up-to-date`).
pub(super) fn is_phrase(value: &[u8]) -> bool {
    let is_part = |part: &[u8]| {
        let joins = |word: &&str| part.eq_ignore_ascii_case(word.as_bytes());
        !part.is_empty() && part.iter().all(u8::is_ascii_alphanumeric) && !JOINING.iter().any(joins)
    };
    value.split(|b| *b == b'-').count() >= 3 && value.split(|b| *b == b'-').all(is_part)
}

/// `p@ssword`: signs that no name and no path has.
pub(super) fn has_sign(value: &[u8]) -> bool {
    value.iter().any(|b| b"@!#^~".contains(b)) && !value.iter().any(|b| b"./:".contains(b))
}

/// `"Password": "Must have at least eight characters"`: what is shown to people.
pub(super) fn is_prose(value: &[u8]) -> bool {
    let words = value.split(|b| *b == b' ').count();
    words > 4 && !value.iter().any(u8::is_ascii_digit) || words > 8
}

/// `user.password`, `os.environ`, `std::env`: words joined by dots or colons.
pub(super) fn is_path(value: &[u8]) -> bool {
    value.iter().any(|b| matches!(b, b'.' | b':'))
        && value
            .iter()
            .all(|b| is_word(*b) || matches!(b, b'.' | b':'))
        && value
            .split(|b| matches!(b, b'.' | b':'))
            .all(|part| part.first().is_none_or(|b| !b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{has_sign, is_constant, is_phrase, is_term};

    #[test]
    fn words_of_the_trade_are_no_secrets() {
        for term in ["base64-encoded", "SHA256", "12-character", "oauth2"] {
            assert!(is_term(term.as_bytes()), "{term}");
        }
        for value in ["hunter2", "12345678", "x9base64"] {
            assert!(!is_term(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn passphrases_are_told_from_prose() {
        for value in ["a-b-c", "correct-horse-battery-staple"] {
            assert!(is_phrase(value.as_bytes()), "{value}");
        }
        for value in ["CLIENT_SECRET_0", "0x0017"] {
            assert!(is_constant(value.as_bytes()), "{value}");
        }
        assert!(!is_constant(b"K3_aB"));
        for value in ["up-to-date", "read-only", "a--b", "not-for-you", "-a-b"] {
            assert!(!is_phrase(value.as_bytes()), "{value}");
        }
        assert!(has_sign(b"p@ssword"));
        assert!(!has_sign(b"bob@example.com"));
    }
}
