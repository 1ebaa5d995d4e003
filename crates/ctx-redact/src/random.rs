//! Whether a string is random, by its classes of characters and its entropy.
//!
//! Words, paths and names keep to one class for a while; a random string jumps
//! between capitals, small letters and digits at nearly every second character.
//! The thresholds stand here, and nowhere else:
//!
//! | | announced by a name (`…_key=`) | alone in a text |
//! |---|---|---|
//! | length | 16 or more | 32 to 128 |
//! | classes | two, digits among them | all three, each three times or more |
//! | jumps of 100 characters | 20 | 35 |
//! | entropy, bits a character | 3.0 | 4.0 |
//!
//! Hashes in hexadecimal, UUIDs, checksums (`sha512-…`) and paths are never random.

use std::ops::Range;

use super::{is_word, run};

/// Shortest and longest string that is judged without a name before it. What is
/// longer is data: an image, a certificate.
const ALONE: Range<usize> = 32..129;
const ANNOUNCED_MIN: usize = 16;

/// So many characters stand together without `_` or `-`, which a random string seldom
/// has. Words joined by them have shorter parts, also where digits stand for letters
/// (`y0uR_H0p3_15_…`).
const UNBROKEN: usize = 16;

struct Look {
    capitals: usize,
    small: usize,
    digits: usize,
    /// From one of these classes to another.
    jumps: usize,
    /// Entropy of a character.
    bits: f64,
}

/// A random string behind a name that speaks of keys.
pub(super) fn announced(value: &[u8]) -> bool {
    if value.len() < ANNOUNCED_MIN || is_plain(value) {
        return false;
    }
    let look = Look::at(value);
    look.digits > 0
        && look.capitals + look.small > 0
        && look.jumps * 100 >= value.len() * 20
        && look.bits >= 3.0
}

/// A random string that nothing announces, at the start of a word.
pub(super) fn alone(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // The rest of an address, a path or a longer string.
    if at > from && b"/.%#+~@".contains(&bytes[at - 1]) {
        return None;
    }
    let part = &bytes[at..bytes.len().min(at + ALONE.end)];
    let letters = run(part, |b| is_word(b) || b"-+/".contains(&b));
    let padding = run(&part[letters..], |b| b == b'=');
    let ends = part.get(letters + padding).is_none_or(|b| !is_word(*b));
    // In `NAME=value` the sign is no padding.
    let length = letters + if ends { padding } else { 0 };
    let value = &part[..length];
    if !ALONE.contains(&length)
        || !ALONE.contains(&without_kind(value).len())
        || is_plain(value)
        || is_public(&bytes[from..at])
    {
        return None;
    }
    let is_line = matches!(length, 64 | 76)
        && matches!(bytes[from..at].last(), None | Some(b'\n' | b'n'))
        && matches!(bytes.get(at + length), None | Some(b'\n' | b'\\' | b'\r'));
    let look = Look::at(value);
    let random = look.capitals > 2
        && unbroken(without_kind(value)) >= UNBROKEN
        && look.small > 2
        && look.digits > 2
        && look.jumps * 100 >= length * 35
        && look.bits >= 4.0
        // One line of encoded data.
        && !is_line;
    random.then(|| at..at + length)
}

/// Long strings that are no secrets whatever their letters.
fn is_plain(value: &[u8]) -> bool {
    let is_hex = value
        .iter()
        .all(|b| b.is_ascii_hexdigit() || matches!(b, b'-' | b':'));
    // A word between slashes: a path.
    let is_path = value.contains(&b'/')
        && value.split(|b| *b == b'/').any(|part| {
            part.len() >= 3 && part.iter().all(|b| b.is_ascii_lowercase() || *b == b'_')
        });
    let is_sum = ["sha1-", "sha256-", "sha384-", "sha512-", "MII", "AAAA"]
        .iter()
        .any(|prefix| value.starts_with(prefix.as_bytes()));
    is_hex || is_path || is_sum || super::keys::is_public_id(value)
}

/// Without what says which kind of id it is: `agent_msg_…`, `gen-1746007447-…`.
fn without_kind(value: &[u8]) -> &[u8] {
    let mut rest = value;
    while let Some(end) = rest.iter().position(|b| matches!(b, b'_' | b'-')) {
        let part = &rest[..end];
        let is_kind = part.len() <= 12
            && (part.iter().all(u8::is_ascii_lowercase) || part.iter().all(u8::is_ascii_digit));
        if !is_kind {
            break;
        }
        rest = &rest[end + 1..];
    }
    rest
}

fn unbroken(value: &[u8]) -> usize {
    value
        .split(|b| matches!(b, b'_' | b'-'))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}

/// `SHA256:…` of a fingerprint, `h1:…` of a module, a public key.
fn is_public(before: &[u8]) -> bool {
    let tail = before[before.len().saturating_sub(24)..].to_ascii_lowercase();
    let is_sum = [&b"sha256:"[..], b"sha512:", b"h1:"]
        .iter()
        .any(|prefix| tail.ends_with(prefix));
    is_sum || tail.windows(6).any(|part| part == b"public")
}

impl Look {
    fn at(value: &[u8]) -> Self {
        let class = |byte: &u8| match byte {
            b'A'..=b'Z' => Some(1),
            b'a'..=b'z' => Some(2),
            b'0'..=b'9' => Some(3),
            _ => None,
        };
        let classes = || value.iter().filter_map(class);
        let count = |wanted| classes().filter(|class| *class == wanted).count();
        let pairs = classes().zip(classes().skip(1));
        Self {
            capitals: count(1),
            small: count(2),
            digits: count(3),
            jumps: pairs.filter(|(one, next)| one != next).count(),
            bits: entropy(value),
        }
    }
}

/// Bits a character, after Shannon, by the frequencies in the string itself.
#[allow(clippy::cast_precision_loss)]
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let total = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{alone, announced, entropy};
    use crate::redact;

    #[test]
    fn entropy_is_counted_in_bits() {
        assert!((entropy(b"aaaa") - 0.0).abs() < 1e-9);
        assert!((entropy(b"abcd") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn random_strings_go_also_without_a_name() {
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
    fn what_is_too_long_is_data() {
        let data = "Wx2Bq7Zk9Lm4Tv8Rn3Yc6Hp1Jd5Gs0Fa".repeat(5);
        assert_eq!(alone(&data, 0, 0), None);
        assert!(alone(&data[..96], 0, 0).is_some());
    }

    #[test]
    fn a_name_lowers_the_threshold() {
        assert!(announced(b"k3J9x0Qz7Lp2Vt5w"));
        assert!(announced(b"p9x2k7w4n8v3b6m1"));
        assert!(!announced(b"user_profile_v2_cache"));
        assert!(!announced(b"da39a3ee5e6b4b0d3255bfef95601890afd80709"));
        assert!(!announced(b"short1A"));
    }
}
