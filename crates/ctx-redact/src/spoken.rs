//! Secrets that people tell in prose: `my password is …`, `passphrase …`.

use std::ops::Range;

use super::files::netrc;
use super::name::{Kind, name_before};
use super::value::{is_no_value, is_phrase, is_prose, is_term, looks_random, value_after};
use super::{is_word, run};

/// What may stand behind `my password is` and is no password.
const STATES: &[&str] = &[
    "also", "always", "blank", "correct", "gone", "hidden", "just", "known", "lost", "never",
    "okay", "only", "plain", "public", "right", "safe", "same", "secure", "shared", "short",
    "still", "stolen", "strong", "supposed", "there", "visible", "weak", "working", "wrong",
];

/// Whether a name that announces something may end at the blank at `at`: asked at every
/// blank, so four letters have to be enough.
pub(super) fn may_announce(bytes: &[u8], at: usize) -> bool {
    let Some(end) = at
        .checked_sub(4)
        .and_then(|start| bytes[start..at].first_chunk())
    else {
        return false;
    };
    let letters = u32::from_le_bytes(*end);
    // Capitals and `_` lack the bit of small letters: the name of a variable.
    let is_variable = letters & SMALL == 0 && end[3].is_ascii_uppercase();
    // Without a branch for each of them: which one it is, nothing foretells.
    let is_end = |end: &&[u8; 4]| letters | SMALL == u32::from_le_bytes(**end);
    let ends = ANNOUNCES.iter().copied().filter(is_end).count();
    ends > 0 || is_variable || end[3] >= 0x80
}

/// The bit of small letters, in each of four.
const SMALL: u32 = 0x2020_2020;

/// Ends of the names that announce a value behind a blank; `_` with the bit of small letters.
const ANNOUNCES: [&[u8; 4]; 8] = [
    b"word", b"sswd", b"rase", b"code", b"oken", b"cret", b"\x7fkey", b"d by",
];

/// The value behind a name and a blank: `passphrase hunter2`, `API_TOKEN a1b2…`,
/// `password X` of a netrc file, `IDENTIFIED BY 'x'`; `at` is the blank.
pub(super) fn announced(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[from..at];
    let is_identified =
        before.len() >= 13 && before[before.len() - 13..].eq_ignore_ascii_case(b"identified by");
    let (name, kind) = if is_identified {
        ("identified by", Kind::Password)
    } else if before.last().is_some_and(|b| is_word(*b) || *b >= 0x80) {
        name_before(text, from, at)?
    } else {
        return None;
    };
    let (value, is_quoted) = value_after(text, at + 1)?;
    let bytes = &text.as_bytes()[value.clone()];
    // What prose sets off as code is a name.
    let is_code = text.as_bytes()[value.start - 1] == b'`';
    if is_no_value(bytes) || is_term(bytes) || is_code {
        return None;
    }
    let is_secret = match kind {
        Kind::Password if is_quoted => bytes.len() >= 4 && may_be_quoted(name, bytes),
        Kind::Password => {
            netrc(text, from, at, &value)
                || bytes.len() >= 6 && is_plain(bytes) && (looks_random(bytes) || is_phrase(bytes))
        }
        // Of machines: only where the name is that of a variable.
        Kind::Secret | Kind::Key => {
            name.contains('_') && bytes.len() >= 12 && is_plain(bytes) && looks_random(bytes)
        }
        Kind::Login | Kind::Words => false,
    };
    is_secret.then_some(value)
}

/// A passphrase may have blanks; other words in quotes are what a page shows.
fn may_be_quoted(name: &str, value: &[u8]) -> bool {
    let is_phrase = name.to_lowercase().ends_with("phrase");
    !value.contains(&b' ') || is_phrase && !is_prose(value)
}

/// No path, no identifier, no call: `password utils/hash2.ts`, `password field_2`.
pub(super) fn is_plain(value: &[u8]) -> bool {
    value
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || b"-!@#$%^&*+~".contains(b))
}

/// The value that stands behind a name without anything between: `密码hunter2x`.
pub(super) fn glued(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    name_before(text, from, at).filter(|(_, kind)| *kind == Kind::Password)?;
    let (value, _) = value_after(text, at)?;
    let bytes = &text.as_bytes()[value.clone()];
    (bytes.len() >= 6 && looks_random(bytes) && !is_term(bytes)).then_some(value)
}

/// How far back the word `password` may stand, in bytes.
const SENTENCE_MAX: usize = 60;

/// `the password for the database is hunter2x`; `at` is the blank before `is`.
pub(super) fn of_something(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let after = text[at..].strip_prefix(" is ")?;
    let (value, _) = value_after(text, text.len() - after.len())?;
    let bytes = &text.as_bytes()[value.clone()];
    let may_be = bytes.len() >= 6
        && (looks_random(bytes) || is_phrase(bytes))
        && is_plain(bytes)
        && !is_term(bytes);
    if !may_be {
        return None;
    }
    let before = &text.as_bytes()[from..at];
    let part = &before[before.len().saturating_sub(SENTENCE_MAX)..];
    let start = part.iter().rposition(|b| b".!?;,\n".contains(b));
    let sentence = part[start.map_or(0, |at| at + 1)..].to_ascii_lowercase();
    let speaks = [
        "password for ",
        "password of ",
        "password to ",
        "passphrase for ",
        "passphrase of ",
    ];
    let mut speaks = speaks.iter();
    speaks
        .any(|words| {
            sentence
                .windows(words.len())
                .any(|part| part == words.as_bytes())
        })
        .then_some(value)
}

/// Whether somebody speaks of a password that is theirs: `my wifi password`; the name
/// ends at `at`.
pub(super) fn is_mine(text: &str, from: usize, at: usize) -> bool {
    let before = &text.as_bytes()[from..at];
    let part = &before[before.len().saturating_sub(40)..];
    let sentence = part
        .rsplit(|b| b".!?;,\n".contains(b))
        .next()
        .unwrap_or(part);
    let mut words = sentence.split(|b| !is_word(*b));
    words.any(|word| word.eq_ignore_ascii_case(b"my") || word.eq_ignore_ascii_case(b"our"))
}

/// Whether what stands behind `my password is` is the password: one word that ends the
/// sentence, and says nothing about it.
pub(super) fn may_be_own(text: &str, value: &Range<usize>) -> bool {
    let bytes = &text.as_bytes()[value.clone()];
    if bytes.len() < 4 || is_term(bytes) {
        return false;
    }
    if !bytes.iter().all(u8::is_ascii_alphabetic) {
        return !bytes.contains(&b'/');
    }
    let rest = text[value.end..].trim_start_matches([' ', '!']);
    let ends = rest.is_empty()
        || rest.starts_with(['.', ',', ';', '\n', '\r', '"', '\'', '`', ')', '\\', '<']);
    ends && !says(&bytes.to_ascii_lowercase())
}

/// Whether a word says something about a password.
pub(super) fn says(lower: &[u8]) -> bool {
    let says = ["ed", "ing", "able", "ible", "ive", "ly", "less"];
    STATES.iter().any(|word| word.as_bytes() == lower)
        || says.iter().any(|end| lower.ends_with(end.as_bytes()))
}

/// At least twelve words in small letters, as wallets give them; `at` is where they may
/// begin.
pub(super) fn words(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at + run(&bytes[at..], |b| b" \"'`\\".contains(&b));
    let (mut count, mut end) = (0, start);
    while count < 24 {
        let begin = if count == 0 { end } else { end + 1 };
        let length = run(&bytes[begin.min(bytes.len())..], |b| b.is_ascii_lowercase());
        if !(3..=8).contains(&length) || count > 0 && bytes[end] != b' ' {
            break;
        }
        (count, end) = (count + 1, begin + length);
    }
    (count >= 12).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    /// D13: what people say has no sign between the name and the value.
    #[test]
    fn told_secrets_go() {
        for (text, clean) in [
            ("the passphrase hunter2x", "the passphrase [REDACTED]"),
            ("use password a-b-c-d now", "use password [REDACTED] now"),
            ("my password is a-b-c", "my password is [REDACTED]"),
            ("my password is swordfish.", "my password is [REDACTED]."),
            (
                "Our wifi password is blue-sky",
                "Our wifi password is [REDACTED]",
            ),
            ("password is: hunter2x", "password is: [REDACTED]"),
            ("密码是：abcd", "密码是：[REDACTED]"),
            ("密码 hunter2x", "密码 [REDACTED]"),
            ("密码hunter2x。", "密码[REDACTED]。"),
            ("密码就是swordfish", "密码就是[REDACTED]"),
            ("数据库密码设为 abcd", "数据库密码设为 [REDACTED]"),
            (
                "CREATE USER a IDENTIFIED BY 'swordfish'",
                "CREATE USER a IDENTIFIED BY '[REDACTED]'",
            ),
            (
                "ALTER ROLE a WITH PASSWORD 'swordfish'",
                "ALTER ROLE a WITH PASSWORD '[REDACTED]'",
            ),
            (
                "passphrase \"correct horse battery\"",
                "passphrase \"[REDACTED]\"",
            ),
            ("ENV DB_PASSWORD hunter2", "ENV DB_PASSWORD [REDACTED]"),
            (
                "the password for the db is hunter2x.",
                "the password for the db is [REDACTED].",
            ),
            (
                "seed phrase: able baker chart delta eager fable giant hotel india joker kayak lemon",
                "seed phrase: [REDACTED]",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn talk_about_secrets_stays() {
        for text in [
            "my password is wrong. our token is expired",
            "my password is not accepted",
            "my password is being reset, my password is stored hashed",
            "the password is up-to-date, password is write-only",
            "password reset, password field2.ts, password utils/hash2.ts",
            "the password hash uses sha256-based rounds; password base64-encoded",
            "passphrase 12-characters long",
            "type=\"password\" id=\"pw1\" required",
            "enter your login and password below",
            "the label password \"must be set\"",
            "API_TOKEN environment variable, SECRET_KEY from .env.local",
            "the password for bob is sha256-hashed, the file for bob is hunter2x",
            "used by 'somebody', identified by `name`",
            "#define set_encrypt_key core_0_17_14__set_encrypt_key",
            "the phrase is not among the words that come from the list of them",
            "密码 由用户设置",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
