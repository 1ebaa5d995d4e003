//! Values: where a value begins and ends, and whether it looks like a secret.
//!
//! A string's character classes and entropy determine whether it counts as random. In words, paths
//! and names, characters of the same class come in runs; a random string switches between capitals,
//! small letters and digits at almost every other character. The thresholds are:
//!
//! | | after a name (`…_key=`) | without a name |
//! |---|---|---|
//! | length | 16 or more | 32 to 128 |
//! | classes | two, one of them digits | all three, each at least three times |
//! | jumps per 100 characters | 20 | 35 |
//! | entropy, bits per character | 3.0 | 4.0 |
//!
//! Hashes in hexadecimal, UUIDs, checksums (`sha512-…`) and paths are never random.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::{DecodePaddingMode, GeneralPurpose};

use crate::rules::{is_in, words};
use crate::{Cursor, is_word, run};

/// At most this many bytes of an unquoted value are examined. Without a limit, `token=token=…`
/// would take quadratic time.
pub(super) const VALUE_MAX: usize = 256;

/// A value found in the text, which may be a secret.
pub(super) struct Value<'t> {
    pub(super) range: Range<usize>,
    pub(super) bytes: &'t [u8],
    pub(super) is_quoted: bool,
}

impl<'t> Value<'t> {
    /// Returns the value that begins at `at` or after the spaces there. A reference (`$TOKEN`,
    /// `<token>`, `{token}`, `%TOKEN%`) or a redaction mark is not a value.
    pub(super) fn at(text: &'t str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut start = at + run(&bytes[at..], |b| matches!(b, b' ' | b'*' | b'\t'));
        let mut escape = run(&bytes[start..], |b| b == b'\\');
        // A backslash continues a command on the next line.
        if let (1.., Some(b'\n')) = (escape, bytes.get(start + escape)) {
            start += escape + 1;
            start += run(&bytes[start..], |b| b == b' ');
            escape = 0;
        }
        let quote = bytes.get(start + escape).copied().filter(|b| b"\"'`".contains(b));
        let end = if let Some(quote) = quote {
            start += escape + 1;
            // A multi-line string literal begins with three quotes.
            if bytes[start..].starts_with(&[quote, quote]) {
                start += 2;
                start += line_end(&bytes[start..]).unwrap_or(0);
            }
            start + run(&bytes[start..], |b| b != quote && b != b'\\' && b != b'\n')
        } else {
            let length = run(&bytes[start..bytes.len().min(start + VALUE_MAX)], is_value);
            start + text[start..start + length].trim_end_matches(['.', ':', '!', '?']).len()
        };
        let first = *bytes.get(start)?;
        let range = start..end;
        (end > start && !is_reference(first)).then(|| Self {
            bytes: &bytes[range.clone()],
            range,
            is_quoted: quote.is_some(),
        })
    }

    /// Returns the range of the whole value, including what follows the first `VALUE_MAX` bytes.
    pub(super) fn whole(self, text: &str) -> Range<usize> {
        let mut range = self.range;
        if !self.is_quoted && range.len() >= VALUE_MAX {
            range.end += run(&text.as_bytes()[range.end..], is_value);
        }
        range
    }
}

/// Returns true if a value that begins with this byte only refers to a secret or is a redaction
/// mark.
pub(super) fn is_reference(first: u8) -> bool {
    b"$<{%*[(=&/".contains(&first)
}

pub(super) fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`,;)(}{[]&<>|\\".contains(&byte)
}

/// Returns the length of the line end at the beginning of the text. In quoted text, the line end
/// may be an escape.
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    let ends: [&[u8]; 4] = [b"\n", b"\r\n", b"\\n", b"\\r\\n"];
    ends.iter().find(|end| bytes.starts_with(end)).map(|end| end.len())
}

/// Returns true for words such as `string`, `None` and `required`, which often follow a name but
/// are not its value.
pub(super) fn is_no_value(value: &[u8]) -> bool {
    is_in("no-values", &value.to_ascii_lowercase())
}

/// Returns true if the value has both digits and letters and is not a public id.
pub(super) fn looks_random(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && !is_public_id(value)
}

/// Returns true for a number that can be a PIN or a one-time code.
pub(super) fn is_pin(value: &[u8]) -> bool {
    (4..=8).contains(&value.len()) && value.iter().all(u8::is_ascii_digit)
}

fn is_public_id(value: &[u8]) -> bool {
    words("public-ids").iter().any(|prefix| value.starts_with(prefix.as_bytes()))
}

/// Returns true for words that describe a secret, such as `base64-encoded`, `sha256` and
/// `12-character`.
pub(super) fn is_term(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let digits = run(&lower, |b| b.is_ascii_digit());
    let is_measure = digits > 0 && lower.get(digits) == Some(&b'-');
    is_measure || words("terms").iter().any(|term| lower.starts_with(term.as_bytes()))
}

/// Returns true for a name or a number in code, such as `CLIENT_SECRET_0` or `0x1f`.
pub(super) fn is_constant(value: &[u8]) -> bool {
    let is_name = value.contains(&b'_')
        && value.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_');
    is_name || value.starts_with(b"0x") && value.len() <= 10
}

/// Returns true for `correct-horse-battery`: three or more words joined by dashes, unless one of
/// the words is in the list `joining` (as in `up-to-date`).
pub(super) fn is_phrase(value: &[u8]) -> bool {
    let joins = |part: &[u8]| is_in("joining", &part.to_ascii_lowercase());
    value.split(|b| *b == b'-').count() >= 3
        && value.split(|b| *b == b'-').all(|part| {
            !part.is_empty() && part.iter().all(u8::is_ascii_alphanumeric) && !joins(part)
        })
}

/// Returns true for values such as `p@ssword`, which contain one of `@!#^~` and, unlike paths and
/// addresses, no dot, slash or colon.
pub(super) fn has_sign(value: &[u8]) -> bool {
    value.iter().any(|b| b"@!#^~".contains(b)) && !value.iter().any(|b| b"./:".contains(b))
}

/// Returns true for a sentence, as in `"Password": "Must have at least eight characters"`.
pub(super) fn is_prose(value: &[u8]) -> bool {
    let words = value.split(|b| *b == b' ').count();
    words > 4 && !value.iter().any(u8::is_ascii_digit) || words > 8
}

/// Returns true for words joined by dots or colons, such as `user.password`, `os.environ` and
/// `std::env`.
pub(super) fn is_path(value: &[u8]) -> bool {
    let joins = |b: &u8| matches!(b, b'.' | b':');
    value.iter().any(joins)
        && value.iter().all(|b| is_word(*b) || joins(b))
        && value.split(joins).all(|part| part.first().is_none_or(|b| !b.is_ascii_digit()))
}

/// The minimum length, in bytes, of a string that can count as random after a key's name.
const ANNOUNCED_MIN: usize = 16;
/// The lengths of strings that can count as random without a name. A longer string is data, such as
/// an image or a certificate.
const ALONE: Range<usize> = 32..129;
/// A string without a name counts as random only if it has at least this many bytes in a row without
/// `_` or `-`. Words joined by these characters are shorter, even if digits replace letters
/// (`y0uR_H0p3_15_…`).
const UNBROKEN: usize = 16;

/// Returns true if the value after a key's name is random.
pub(super) fn is_random(value: &[u8]) -> bool {
    if value.len() < ANNOUNCED_MIN || is_plain(value) {
        return false;
    }
    let classes = Classes::of(value);
    classes.digits > 0
        && classes.capitals + classes.small > 0
        && classes.jumps * 100 >= value.len() * 20
        && entropy(value) >= 3.0
}

/// Finds a random string that has no name before it; the cursor is at the start of a word.
pub(super) fn random_alone(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let (bytes, at) = (cursor.bytes(), cursor.at);
    let before = cursor.before();
    // A string after one of these bytes is the rest of an address, a path or a longer string.
    if before.last().is_some_and(|b| b"/.%#+~@".contains(b)) {
        return None;
    }
    let part = &bytes[at..bytes.len().min(at + ALONE.end)];
    let letters = run(part, |b| is_word(b) || b"-+/".contains(&b));
    let padding = run(&part[letters..], |b| b == b'=');
    // The equals sign in `NAME=value` is not padding.
    let is_padded = part.get(letters + padding).is_none_or(|b| !is_word(*b));
    let length = letters + if is_padded { padding } else { 0 };
    if !ALONE.contains(&length) {
        return None;
    }
    let value = &part[..length];
    let core = without_type(value);
    if !ALONE.contains(&core.len()) || is_plain(value) || is_public(before) {
        return None;
    }
    // Whether the string is a whole line of encoded data.
    let is_line = matches!(length, 64 | 76)
        && matches!(before.last(), None | Some(b'\n' | b'n'))
        && matches!(bytes.get(at + length), None | Some(b'\n' | b'\\' | b'\r'));
    let unbroken = core.split(|b| matches!(b, b'_' | b'-')).map(<[u8]>::len).max();
    let classes = Classes::of(value);
    let is_random = classes.capitals > 2
        && classes.small > 2
        && classes.digits > 2
        && unbroken >= Some(UNBROKEN)
        && classes.jumps * 100 >= length * 35
        && entropy(value) >= 4.0
        && !is_line;
    is_random.then(|| at..at + length)
}

/// Returns true for hashes, paths, checksums and public ids, which are never secrets.
fn is_plain(value: &[u8]) -> bool {
    let is_hex = value.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b'-' | b':'));
    // A path contains a word between slashes.
    let is_word =
        |part: &[u8]| part.len() >= 3 && part.iter().all(|b| b.is_ascii_lowercase() || *b == b'_');
    let is_path = value.contains(&b'/') && value.split(|b| *b == b'/').any(is_word);
    let is_sum = || words("checksums").iter().any(|prefix| value.starts_with(prefix.as_bytes()));
    is_hex || is_path || is_sum() || is_public_id(value)
}

/// Strips the type from the beginning of an id: `agent_msg_…`, `gen-1746007447-…`.
fn without_type(value: &[u8]) -> &[u8] {
    let mut rest = value;
    while let Some(end) = rest.iter().position(|b| matches!(b, b'_' | b'-')) {
        let part = &rest[..end];
        let is_type = part.len() <= 12
            && (part.iter().all(u8::is_ascii_lowercase) || part.iter().all(u8::is_ascii_digit));
        if !is_type {
            break;
        }
        rest = &rest[end + 1..];
    }
    rest
}

/// Returns true if the text before a string marks the string as public: `SHA256:` before a
/// fingerprint, `h1:` before a Go module's hash, or the word `public`.
fn is_public(before: &[u8]) -> bool {
    let tail = before[before.len().saturating_sub(24)..].to_ascii_lowercase();
    [&b"sha256:"[..], b"sha512:", b"h1:"].iter().any(|prefix| tail.ends_with(prefix))
        || tail.windows(6).any(|part| part == b"public")
}

/// The number of characters in each class.
pub(super) struct Classes {
    capitals: usize,
    small: usize,
    digits: usize,
    /// The number of changes from one class to another. Characters outside these classes are
    /// ignored.
    pub(super) jumps: usize,
}

impl Classes {
    pub(super) fn of(value: &[u8]) -> Self {
        let has_class = |byte: &&u8| byte.is_ascii_alphanumeric();
        // The upper bits are 1 in digits, 2 in capitals and 3 in small letters.
        let classes = value.iter().filter(has_class).map(|byte| usize::from(byte >> 5));
        let classes: Vec<usize> = classes.collect();
        let count = |class| classes.iter().filter(|other| **other == class).count();
        let jumps = classes.windows(2).filter(|pair| pair[0] != pair[1]).count();
        Self { capitals: count(2), small: count(3), digits: count(1), jumps }
    }
}

/// Returns the Shannon entropy of a string in bits per character, computed from the character
/// frequencies in the string itself.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let total = value.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    shares.map(|share| -share * share.log2()).sum()
}

/// A base64 decoder that accepts input with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The maximum length, in bytes, of a base64 value that is decoded as a login.
const LOGIN_MAX: usize = 256;

/// Returns true if the value is `user:password` in base64, as in Docker's `"auth"` and npm's
/// `_auth`.
pub(super) fn is_login(value: &[u8]) -> bool {
    if !(8..=LOGIN_MAX).contains(&value.len()) {
        return false;
    }
    let text = from_base64(value).unwrap_or_default();
    let colon = text.iter().position(|b| *b == b':');
    colon.is_some_and(|colon| colon > 0 && colon + 1 < text.len())
        && text.iter().all(|b| b.is_ascii_graphic() || *b == b' ')
}

pub(super) fn from_base64(value: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(value).ok()
}

#[cfg(test)]
mod tests {
    use super::{entropy, has_sign, is_constant, is_phrase, is_random, is_term};
    use crate::redact;

    #[test]
    fn terms_are_not_secrets() {
        for term in ["base64-encoded", "SHA256", "12-character", "oauth2"] {
            assert!(is_term(term.as_bytes()), "{term}");
        }
        for value in ["hunter2", "12345678", "x9base64"] {
            assert!(!is_term(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn passphrases_differ_from_prose() {
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

    #[test]
    fn entropy_is_counted_in_bits() {
        assert!((entropy(b"aaaa") - 0.0).abs() < 1e-9);
        assert!((entropy(b"abcd") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn random_strings_go_without_a_name() {
        for text in [
            "it printed wJalrXUtnFEMIK7MDENGbPxRfiCYzQ3k8T2vL9sN and ended",
            "use 'q9X/4fKp+Tz81mWvB7nRc2LdYs6HgJ3eQa0UiOx5' here",
            "\\nZ8x2Kq7Lw4Vn9Tb3Rm6Yc1Hp5Jd0Gs8FaQeWu",
        ] {
            let (clean, count) = redact(text);
            assert_eq!(count, 1, "{text}");
            assert!(clean.contains("[REDACTED]"), "{clean}");
        }
    }

    #[test]
    fn long_names_hashes_and_paths_are_not_random() {
        for text in [
            "3f786850e387550fdab836ed7e6dc881de23001b",
            "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08",
            "550e8400-e29b-41d4-a716-446655440000",
            "sha512-Wx2Bq7Zk9Lm4Tv8Rn3Yc6Hp1Jd5Gs0FaQeWuIoPzXvCb+Nm/7Kl2Jh4==",
            "golang.org/x/mod v0.1.0 h1:Wx2Bq7Zk9Lm4Tv8Rn3Yc6Hp1Jd5Gs0FaQeWuIoPzXvC=",
            "SHA256:Wx2Bq7Zk9Lm4Tv8Rn3Yc6Hp1Jd5Gs0FaQeWuIoPzXvC",
            "agent_msg_01MgvVfpjBhBN4EKzXTr19jH, gen-1746007447-iPBe0PpeXdkTiizpc7nq",
            "t3h_FuTUr3_15_bR1ghT_1_H0p3_y0uR3_W34r1nG_5h4d35",
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOx7Wq2Zk9Lm4Tv8Rn3Yc6Hp1Jd5Gs0F",
            "toolu_01A09q90qw90lq917835lq9Wx2Bq7Zk9",
            "AbstractSingletonProxyFactoryBeanV2Test3Impl",
            "test_that_http2_and_utf8_names_of_40_chars_stay_as_they_are",
            "src/components/Button2/ButtonGroupV3/index.test.tsx",
            "https://docs.example.com/d/1Wx2Bq7Zk9Lm4Tv8Rn3Yc6Hp1Jd5Gs0FaQeWu/edit",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn a_longer_string_is_data() {
        let data = "Wx2Bq7Zk9Lm4Tv8Rn3Yc6Hp1Jd5Gs0Fa".repeat(5);
        assert_eq!(redact(&data).1, 0);
        assert_eq!(redact(&data[..96]).1, 1);
    }

    #[test]
    fn a_name_lowers_the_threshold() {
        assert!(is_random(b"k3J9x0Qz7Lp2Vt5w"));
        assert!(is_random(b"p9x2k7w4n8v3b6m1"));
        assert!(!is_random(b"user_profile_v2_cache"));
        assert!(!is_random(b"da39a3ee5e6b4b0d3255bfef95601890afd80709"));
        assert!(!is_random(b"short1A"));
    }

    #[test]
    fn encoded_secrets_go() {
        let key =
            ["LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpN", &"SUlFcEFJQkFBS0NBUUVB".repeat(40)]
                .concat();
        for (text, clean) in [
            (format!("client-key-data: {key}\nx: 1"), "client-key-data: [REDACTED]\nx: 1"),
            (format!("tls.key: {key}==\n"), "tls.key: [REDACTED]\n"),
            (format!("it printed {key} there"), "it printed [REDACTED] there"),
            // Base64 with line breaks, as in files.
            (format!("{}\n{}\n{}\n$", &key[..76], &key[76..152], &key[152..170]), "[REDACTED]\n$"),
            (r#"{"auth": "bWU6c3dvcmRmaXNo"}"#.to_owned(), r#"{"auth": "[REDACTED]"}"#),
            (
                "//registry.example/:_auth=bWU6c3dvcmRmaXNo".to_owned(),
                "//registry.example/:_auth=[REDACTED]",
            ),
        ] {
            assert_eq!(redact(&text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_encoded_text_stays() {
        let certificate =
            ["LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1J", &"SUN0ekNDQVo4".repeat(40)].concat();
        for text in [
            format!("client-certificate-data: {certificate}"),
            "auth: required, \"auth\": \"dGVzdA==\", auth=oauth2login".to_owned(),
        ] {
            assert_eq!(redact(&text), (text.as_str().into(), 0));
        }
    }
}
