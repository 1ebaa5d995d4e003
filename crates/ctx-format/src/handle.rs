//! A handle is a short reference that replaces removed content and can be used to restore it.
//!
//! The handle `⟦ctx: Read src/importer.py, all 5120 bytes: ctx-offload --show 01234567⟧` states the
//! call whose result was removed, the length of the result, and the command that prints the result.
//! The digits at the end are the first 8 hex digits of the text's SHA-256 hash. If the tool that
//! removes the text saves no snapshot of the session, `, if saved` precedes the command, because
//! the text may be lost. A handle is the last line of the shortened text. If that text is shortened
//! again, the handle still refers to the original.
//!
//! Handles written by older versions (`⟦ctx:0123456789ab 5120 bytes 1300 tokens⟧`) are still
//! recognized.

use derive_more::Display;
use ring::digest::{SHA256, digest};

/// A reference to removed text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Display)]
#[display("{written}")]
pub struct Handle {
    /// The first bytes of the original text's SHA-256 hash.
    pub hash: ShortHash,
    /// The length of the original text in bytes.
    pub bytes: u64,
    /// The handle exactly as it appears in the text.
    written: Box<str>,
}

/// Whether a snapshot contains the original text of a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Saved {
    /// The tool that removes the text also saves a snapshot.
    Yes,
    /// A snapshot exists only if the user has saved one.
    #[default]
    Perhaps,
}

/// A short text hash, which consists of the first bytes of the text's SHA-256 hash. `Display`
/// writes a hash as hex digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display)]
#[display("{:08x}", u32::from_be_bytes(*_0))]
pub struct ShortHash([u8; BYTES]);

/// How many bytes of the hash a handle contains. Each hex digit of the hash costs tokens. With four
/// bytes, the chance that a text has the same hash as one of ten thousand others is about 1 in
/// 400,000.
const BYTES: usize = 4;
/// The number of hex digits in handles written by older versions.
const OLD_DIGITS: usize = 12;

/// The beginning of a handle, in the current form and in the form written by older versions.
const BEGIN: &str = "⟦ctx:";
const END: &str = "⟧";
const COMMAND: &str = ": ctx-offload --show ";
const IF_SAVED: &str = ", if saved";

/// The maximum length, in characters, of the call's name in a handle.
const MAX_CALL: usize = 120;

impl ShortHash {
    /// How many hex digits of the hash a handle contains.
    pub const DIGITS: usize = 2 * BYTES;

    /// Hashes `text` and keeps the first bytes of the hash.
    pub fn of(text: &str) -> Self {
        let digest = digest(&SHA256, text.as_bytes());
        let mut hash = [0; BYTES];
        hash.copy_from_slice(&digest.as_ref()[..BYTES]);
        Self(hash)
    }

    fn parse(digits: &str) -> Option<Self> {
        let number = u32::from_str_radix(digits, 16).ok()?;
        Some(Self(number.to_be_bytes()))
    }
}

impl Handle {
    /// Creates the handle of `text`. `call` is a short name for the call that returned the text, or
    /// empty if the call is unknown.
    pub fn of(text: &str, call: &str, saved: Saved) -> Self {
        Self::new(ShortHash::of(text), text.len() as u64, call, saved)
    }

    /// Creates the handle of a text from the text's hash and length.
    pub fn new(hash: ShortHash, bytes: u64, call: &str, saved: Saved) -> Self {
        let mut call = Self::call_name(call);
        if !call.is_empty() {
            call.push_str(", ");
        }
        let saved = if saved == Saved::Perhaps { IF_SAVED } else { "" };
        let written = format!("{BEGIN} {call}all {bytes} bytes{saved}{COMMAND}{hash}{END}");
        Self { hash, bytes, written: written.into() }
    }

    /// Shortens the name of a call. Replaces characters that would end the line or the handle, or
    /// look like another handle. Whitespace is collapsed, because a search for handles expects
    /// single spaces.
    pub fn call_name(call: &str) -> String {
        // Most names are a single line of ASCII with single spaces, and need no change.
        let is_plain = call.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_plain && call.len() <= MAX_CALL && call.split(' ').all(|word| !word.is_empty()) {
            return call.to_owned();
        }
        let words = call.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let plain = words.join(" ").replace('⟦', "[").replace('⟧', "]");
        match plain.char_indices().nth(MAX_CALL) {
            Some((end, _)) => plain[..end].trim_end().to_owned(),
            None => plain,
        }
    }

    /// Parses a handle. The text must be exactly what this or an older version writes, without
    /// signs, leading zeros or capital hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix(BEGIN)?.strip_suffix(END)?;
        let handle = inner.strip_prefix(' ').map_or_else(|| parse_old(inner), parse_new);
        handle.filter(|handle| *handle.written == *text)
    }

    /// All hex digits of the hash in the handle: 8 of them, or 12 in a handle in the old form.
    pub fn digits(&self) -> String {
        let inner = &self.written[BEGIN.len()..];
        let old = inner.get(..OLD_DIGITS).filter(|_| !inner.starts_with(' '));
        old.map_or_else(|| self.hash.to_string(), str::to_owned)
    }

    /// Splits a text into the handle on its last line and the text before that line; `None` if the
    /// last line is not a handle.
    pub fn split(text: &str) -> Option<(&str, Self)> {
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        Some((before, Self::parse(last)?))
    }

    /// Appends the handle to `text` as its last line.
    pub fn behind(&self, text: &str) -> String {
        format!("{text}\n{self}")
    }
}

/// Parses `Read a.py, all 12 bytes: ctx-offload --show 01234567`.
fn parse_new(inner: &str) -> Option<Handle> {
    let (rest, digits) = inner.rsplit_once(COMMAND)?;
    let perhaps = rest.strip_suffix(IF_SAVED).map(|rest| (rest, Saved::Perhaps));
    let (rest, saved) = perhaps.unwrap_or((rest, Saved::Yes));
    let (call, bytes) = rest.strip_suffix(" bytes")?.rsplit_once("all ")?;
    let call = if call.is_empty() { call } else { call.strip_suffix(", ")? };
    // The name of a call is limited in length, so a longer text is rejected before any handle is
    // formatted.
    if call.len() > 4 * MAX_CALL {
        return None;
    }
    let hash = ShortHash::parse(digits)?;
    Some(Handle::new(hash, bytes.parse().ok()?, call, saved))
}

/// Parses `0123456789ab 5120 bytes 1300 tokens`.
fn parse_old(inner: &str) -> Option<Handle> {
    let (digits, sizes) = inner.strip_suffix(" tokens")?.split_once(' ')?;
    let (bytes, tokens) = sizes.split_once(" bytes ")?;
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != OLD_DIGITS || !digits.bytes().all(is_hex) {
        return None;
    }
    let (bytes, tokens): (u64, u64) = (bytes.parse().ok()?, tokens.parse().ok()?);
    let written = format!("{BEGIN}{digits} {bytes} bytes {tokens} tokens{END}");
    Some(Handle {
        hash: ShortHash::parse(&digits[..ShortHash::DIGITS])?,
        bytes,
        written: written.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Handle, Saved, ShortHash};

    const OLD: &str = "⟦ctx:ba7816bf8f01 3 bytes 1 tokens⟧";

    #[test]
    fn it_is_written_and_read() {
        for (call, saved, text) in [
            ("Read a.py", Saved::Yes, "⟦ctx: Read a.py, all 3 bytes: ctx-offload --show ba7816bf⟧"),
            (
                "Bash ls",
                Saved::Perhaps,
                "⟦ctx: Bash ls, all 3 bytes, if saved: ctx-offload --show ba7816bf⟧",
            ),
            ("", Saved::Yes, "⟦ctx: all 3 bytes: ctx-offload --show ba7816bf⟧"),
        ] {
            let handle = Handle::of("abc", call, saved);
            assert_eq!(handle.to_string(), text);
            assert_eq!(Handle::parse(text), Some(handle.clone()));
            assert_eq!((handle.bytes, handle.digits().as_str()), (3, "ba7816bf"));
        }
    }

    #[test]
    fn what_older_versions_wrote_is_read_and_stays() {
        let handle = Handle::parse(OLD).expect("a handle");
        assert_eq!(handle.to_string(), OLD);
        assert_eq!((handle.hash, handle.bytes), (ShortHash::of("abc"), 3));
        assert_eq!(handle.digits(), "ba7816bf8f01");
        assert_eq!(Handle::split(&handle.behind("a")), Some(("a", handle)));
    }

    #[test]
    fn it_is_the_last_line() {
        let handle = Handle::of("original", "Read a", Saved::Yes);
        let text = handle.behind("a\nb");
        assert_eq!(Handle::split(&text), Some(("a\nb", handle.clone())));
        assert_eq!(Handle::split(&handle.to_string()), Some(("", handle.clone())));
        assert_eq!(Handle::split(&format!("{text}\n")), None);
        assert_eq!(Handle::split("a\nb"), None);
    }

    /// The model chooses the name and the arguments of a call, so any text may end up in a handle.
    #[test]
    fn no_call_ends_a_handle_or_begins_another() {
        let long = "é".repeat(5_000);
        for call in [
            "a\nb\r\tc\u{1b}[0m\u{2028}",
            "⟧ ⟦ctx: all 3 bytes: ctx-offload --show ba7816bf⟧",
            "Bash ctx-offload --show ba7816bf",
            "Bash x: ctx-offload --show ba7816bf",
            "Bash y, all 3 bytes, if saved",
            ", ",
            " , all ",
            "all ",
            long.as_str(),
        ] {
            for saved in [Saved::Yes, Saved::Perhaps] {
                let handle = Handle::of("abcd", call, saved);
                let text = handle.to_string();
                assert!(!text.contains(char::is_control), "{text}");
                assert_eq!(text.matches(['⟦', '⟧']).count(), 2, "{text}");
                assert!(text.len() < 400, "{text}");
                assert_eq!(Handle::parse(&text), Some(handle), "{text}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for bad in [
            "",
            "⟦ctx:⟧",
            "⟦ctx: ⟧",
            "⟦ctx:ba7816bf8f0 3 bytes 1 tokens⟧",
            "⟦ctx:BA7816BF8F01 3 bytes 1 tokens⟧",
            "⟦ctx:ba7816bf8f01 +3 bytes 1 tokens⟧",
            "⟦ctx:ba7816bf8f01 03 bytes 1 tokens⟧",
            "⟦ctx:ba7816bf8f01 3 bytes 1 tokens⟧ ",
            "⟦ctx:ba7816bf8f01 3 bytes -1 tokens⟧",
            "⟦ctx:ba7816bf8f01 3 bytes⟧",
            "⟦ctx: all 3 bytes: ctx-offload --show BA7816BF⟧",
            "⟦ctx: all 3 bytes: ctx-offload --show +a7816bf⟧",
            "⟦ctx: all 3 bytes: ctx-offload --show ba7816b⟧",
            "⟦ctx: all 03 bytes: ctx-offload --show ba7816bf⟧",
            "⟦ctx: a  b, all 3 bytes: ctx-offload --show ba7816bf⟧",
            "⟦ctx: a, all 3 bytes: ctx-offload --show ba7816bf⟧ ",
            "⟦ctx: all 3 bytes ctx-offload --show ba7816bf⟧",
            &format!("⟦ctx: {}, all 3 bytes: ctx-offload --show ba7816bf⟧", "a".repeat(200)),
        ] {
            assert_eq!(Handle::parse(bad), None, "{bad}");
        }
    }
}
