//! Passwords that are changed or were once: `set the password to hunter2`.

use std::ops::Range;

use super::run;
use super::sentence::{announces, has, sentence};
use super::spoken::{is_plain, says};
use super::value::{is_no_value, is_term, looks_random, value_after};

/// Fewer characters are hardly a password.
const SHORTEST: usize = 6;

/// Words between the name and the new password …
const SINCE: &str = "been changed has is now reset rotated set to updated was";
/// … and those that say that there is a new one.
const CHANGES: &str = "change changed changing reset rotate rotated set setting update updated";

/// What stands behind the name that ends at `at`, and behind a few words that say since when.
pub(super) fn changed_to(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut end, mut last, mut is_changed) = (at, &[][..], false);
    loop {
        let start = end + 1;
        let length = run(bytes.get(start..)?, |b| b.is_ascii_lowercase());
        let word = &bytes[start..start + length];
        if !has(SINCE, word) || bytes.get(start + length) != Some(&b' ') {
            break;
        }
        is_changed |= has(CHANGES, word);
        (end, last) = (start + length, word);
    }
    // `the password to the second server` is no change.
    let is_whole = match last {
        b"to" => is_changed || sentence(text, from, at).0.any(|word| has(CHANGES, &word)),
        _ => matches!(last, b"was" | b"now"),
    };
    if !is_whole || !announces(text, from, at) {
        return None;
    }
    let (value, is_quoted) = value_after(text, end + 1)?;
    let value_bytes = &bytes[value.clone()];
    let is_one = is_plain(value_bytes) && !is_no_value(value_bytes) && !is_term(value_bytes);
    // What prose sets off as code is a name.
    let is_set = is_quoted && last == b"to" && bytes[value.start - 1] != b'`';
    let is_secret = if is_set {
        value.len() >= 4 && !says(&value_bytes.to_ascii_lowercase())
    } else {
        value.len() >= SHORTEST && value_bytes[0].is_ascii_alphabetic() && looks_random(value_bytes)
    };
    (is_one && is_secret).then_some(value)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    /// D13: of a password that was changed nothing was found.
    #[test]
    fn what_was_changed_goes() {
        for (text, clean) in [
            (
                "set the password to hunter2x, please",
                "set the password to [REDACTED], please",
            ),
            (
                "my old password was hunter2x",
                "my old password was [REDACTED]",
            ),
            (
                "the password is now set to hunter2x.",
                "the password is now set to [REDACTED].",
            ),
            (
                "change my password to 'swordfish'",
                "change my password to '[REDACTED]'",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn what_is_said_of_a_change_stays() {
        for text in [
            "change the password to base64, set the password to the value of field2",
            "add a password to user2, convert the password to utf-16",
            "the password was 12-characters long",
            "the password to my 2nd account, set the password to 'a b c d'",
            "set the password to `user_2`, set password to 'password'",
            "the password was \"wrong\", the password was 2fa-protected",
            "I forgot the password to webserver01",
            "if the password was hunter2x",
        ] {
            assert_eq!(redact(text), (text.into(), 0), "{text}");
        }
    }
}
