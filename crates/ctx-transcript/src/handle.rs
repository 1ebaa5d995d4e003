//! Handles: short references left where content was taken out, from which the
//! original can be had back.
//!
//! `⟦ctx:0123456789ab 5120 bytes 1300 tokens⟧`: the first 12 hex digits of the
//! sha256 of the original text, its length in bytes, and its tokens by the
//! encoding of the tool that took it out. A handle is the last line of the text
//! that stands in the original's place. A text that was shortened before keeps
//! its handle, which names the first original.

use std::fmt;

use sha2::{Digest, Sha256};

/// A reference to a text that was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    /// The beginning of the original's sha256.
    pub hash: ShortHash,
    /// Bytes of the original.
    pub bytes: u64,
    /// Its tokens.
    pub tokens: u64,
}

/// The first bytes of the sha256 of a text, written as hex digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShortHash([u8; BYTES]);

/// Bytes of a hash in a handle.
const BYTES: usize = 6;

impl ShortHash {
    /// Of a text.
    pub fn of(text: &str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let mut hash = [0; BYTES];
        hash.copy_from_slice(&digest[..BYTES]);
        Self(hash)
    }

    fn parse(digits: &str) -> Option<Self> {
        let number = u64::from_str_radix(digits, 16).ok()?;
        let [_, _, hash @ ..] = number.to_be_bytes();
        Some(Self(hash))
    }
}

impl fmt::Display for ShortHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Handle {
    /// The handle of a text of so many tokens.
    pub fn of(text: &str, tokens: u64) -> Self {
        Self {
            hash: ShortHash::of(text),
            bytes: text.len() as u64,
            tokens,
        }
    }

    /// Reads what [`Handle`] itself would write and nothing else: no signs, no leading
    /// zeros, no capitals.
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix("⟦ctx:")?.strip_suffix(" tokens⟧")?;
        let (hash, sizes) = inner.split_once(' ')?;
        let (bytes, tokens) = sizes.split_once(" bytes ")?;
        let handle = Self {
            hash: ShortHash::parse(hash)?,
            bytes: bytes.parse().ok()?,
            tokens: tokens.parse().ok()?,
        };
        (handle.to_string() == text).then_some(handle)
    }

    /// Parts a text into what stands before its handle and the handle; `None` for
    /// a text that does not end with one.
    pub fn split(text: &str) -> Option<(&str, Self)> {
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        Some((before, Self::parse(last)?))
    }

    /// `text` with the handle as its last line.
    pub fn behind(&self, text: &str) -> String {
        format!("{text}\n{self}")
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hash,
            bytes,
            tokens,
        } = self;
        write!(f, "⟦ctx:{hash} {bytes} bytes {tokens} tokens⟧")
    }
}

#[cfg(test)]
mod tests {
    use super::Handle;

    #[test]
    fn it_is_written_and_read() {
        let handle = Handle::of("abc", 1);
        let text = "⟦ctx:ba7816bf8f01 3 bytes 1 tokens⟧";
        assert_eq!(handle.to_string(), text);
        assert_eq!(Handle::parse(text), Some(handle));
    }

    #[test]
    fn it_is_the_last_line() {
        let handle = Handle::of("original", 2);
        let text = handle.behind("a\nb");
        assert_eq!(Handle::split(&text), Some(("a\nb", handle)));
        assert_eq!(Handle::split(&handle.to_string()), Some(("", handle)));
        assert_eq!(Handle::split(&format!("{text}\n")), None);
        assert_eq!(Handle::split("a\nb"), None);
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for bad in [
            "",
            "⟦ctx:⟧",
            "⟦ctx:ba7816bf8f0 3 bytes 1 tokens⟧",
            "⟦ctx:BA7816BF8F01 3 bytes 1 tokens⟧",
            "⟦ctx:ba7816bf8f01 +3 bytes 1 tokens⟧",
            "⟦ctx:ba7816bf8f01 03 bytes 1 tokens⟧",
            "⟦ctx:ba7816bf8f01 3 bytes 1 tokens⟧ ",
            "⟦ctx:ba7816bf8f01 3 bytes -1 tokens⟧",
            "⟦ctx:ba7816bf8f01 3 bytes⟧",
        ] {
            assert_eq!(Handle::parse(bad), None, "{bad}");
        }
    }
}
