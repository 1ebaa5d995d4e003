//! Passwords that are words of a language, told so plainly that nothing else can be meant:
//! `the password is swordfish`, `use the passphrase opensesame`.
//!
//! A word is no secret by its look. It counts where a short sentence announces it, where it
//! ends that sentence, and where it is none that says something about passwords.

use std::ops::{Range, RangeInclusive};

use super::changed::changed_to;
use super::name::Kind;
use super::run;
use super::sentence::{DOUBTS, announces, ends_in, has};
use super::spoken::{is_mine, says};

/// A word that is a password has so many letters at least; most that say how a password is,
/// like `wrong`, have fewer.
const SHORTEST: usize = 6;
/// Words that are a passphrase together.
const PHRASE: RangeInclusive<usize> = 4..=12;
/// Bytes of them.
const PHRASE_MAX: usize = 120;

/// What is said of a password, or is one only in name.
const NO_WORDS: &str = "\
    account admins afresh again always another anyway anything argument asterisks before \
    behind better between bytes callback change ciphertext cleartext complex dialog dialogue \
    either elsewhere empty enough entropy entries equals exactly failure field fields format \
    garbage generator hashes header helper however incorrect input inputs insecure inside \
    instead intact invalid itself keyring legacy length letters longer manager matches \
    mismatch mistake needed neither nothing number obscure obsolete option options outside \
    parameter perfect placeholder plaintext policies policy popular problem prompt prompts \
    random rather redundant remote request safely secret server should shorter simple \
    someone something somewhere source stronger string strings support suspect therefore \
    though through together unclear unique unsafe unset unused unwise useful username \
    usernames values variable weaker whatever wrapper yours";

/// Ends of words that say what something is like, or what is done with it.
const ENDS: &str = "\
    al ance ant ary ate en ence ent ful ic ify ion ity ment ness ory ous self th tic ure";

/// Words without which there is no prose.
const JOINING: &str = "\
    a an and any are as at be but by can each every for from has have here how in is it its \
    like may more must needs nor of on one our out per so some than the their them then \
    there they this to too use used user very was we well will with you";

/// Whether the word or number behind `the password is` is the password; the name ends at `at`.
pub(super) fn is_told(text: &str, from: usize, at: usize, value: &Range<usize>) -> bool {
    let bytes = &text.as_bytes()[value.clone()];
    let may_be = if bytes.iter().all(u8::is_ascii_digit) {
        bytes.len() >= 4
    } else {
        may_be_word(bytes)
    };
    may_be && ends_sentence(text, value.end) && announces(text, from, at)
}

/// The words that are a passphrase together, behind the `joint` between them and their name:
/// `my passphrase is correct horse battery staple`. Behind other names more than one word is
/// prose, but where somebody says `my`.
pub(super) fn phrase(
    text: &str,
    from: usize,
    joint: Range<usize>,
    name: &str,
) -> Option<Range<usize>> {
    let (bytes, at) = (text.as_bytes(), joint.start);
    let is_said = bytes[at] == b' ';
    let may_be = ends_in(name.as_bytes(), b"phrase") || is_said && is_mine(text, from, at);
    if !may_be {
        return None;
    }
    let start = joint.end + run(&bytes[joint.end..], |b| b == b' ');
    let most = &bytes[start..bytes.len().min(start + PHRASE_MAX)];
    let end = start + run(most, |b| b.is_ascii_lowercase() || b == b' ');
    let words = bytes[start..end].split(|b| *b == b' ');
    let is_phrase = PHRASE.contains(&words.clone().count()) && words.clone().all(may_be_part);
    (is_phrase && ends_sentence(text, end) && announces(text, from, at)).then_some(start..end)
}

/// What stands behind the name of a password and a blank, at `at`.
pub(super) fn behind_name(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[from..at];
    let ends = |names: &str| {
        names
            .split(' ')
            .any(|name| ends_in(before, name.as_bytes()))
    };
    let may_end_line = ends("passphrase passcode");
    let at_line_end = may_end_line.then(|| at_line_end(text, from, at)).flatten();
    at_line_end.or_else(|| {
        let may_change = may_end_line || ends("password passwd passwort");
        may_change.then(|| changed_to(text, from, at)).flatten()
    })
}

/// `passphrase opensesame` at the end of a line. Of a passphrase and a passcode alone: behind
/// `password` too many other words stand.
fn at_line_end(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let start = at + 1;
    let end = start + run(&text.as_bytes()[start..], |b| b.is_ascii_lowercase());
    let ends_line = matches!(text.as_bytes().get(end), None | Some(b'\n' | b'\r'));
    let is_secret = ends_line && may_be_word(&text.as_bytes()[start..end]);
    (is_secret && announces(text, from, at)).then_some(start..end)
}

/// Whether a name is that of something which people choose: no `pwd`, which is a folder, too.
pub(super) fn is_chosen(name: &str, kind: Kind) -> bool {
    kind == Kind::Password && name.to_ascii_lowercase().contains("pass")
}

fn may_be_word(word: &[u8]) -> bool {
    let Some((first, rest)) = word.split_first() else {
        return false;
    };
    let is_word = first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase);
    (SHORTEST..=24).contains(&word.len()) && is_word && !says_something(&word.to_ascii_lowercase())
}

fn may_be_part(word: &[u8]) -> bool {
    let in_prose = has(JOINING, word) || has(DOUBTS, word);
    // Among others a word like `correct` may be a part of it.
    word.len() >= 3
        && !in_prose
        && !word.ends_with(b"ed")
        && !word.ends_with(b"ing")
        && !word.ends_with(b"ly")
}

fn says_something(lower: &[u8]) -> bool {
    says(lower)
        || has(NO_WORDS, lower)
        || ENDS.split(' ').any(|end| lower.ends_with(end.as_bytes()))
}

/// Whether nothing but a stop is behind it on its line, or a new sentence; the line may end
/// with the string of JSON that it is, or with an escape.
fn ends_sentence(text: &str, end: usize) -> bool {
    let rest = &text.as_bytes()[end..];
    let stops = run(rest, |b| matches!(b, b'.' | b'!'));
    match rest.get(stops) {
        None | Some(b'\n' | b'\r' | b'"' | b'\\') => true,
        Some(b' ') => stops > 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::redact;

    /// D13: a password that is a word was told in a summary as it was.
    #[test]
    fn words_that_are_told_go() {
        for (text, clean) in [
            ("the password is swordfish", "the password is [REDACTED]"),
            ("Password is opensesame!", "Password is [REDACTED]!"),
            (
                r#"{"text":"The password is swordfish.\nUse it","n":1}"#,
                r#"{"text":"The password is [REDACTED].\nUse it","n":1}"#,
            ),
            (
                r#"{"text":"my passphrase is correct horse battery staple"}"#,
                r#"{"text":"my passphrase is [REDACTED]"}"#,
            ),
            (
                "Hi. The root password is swordfish. Use it.",
                "Hi. The root password is [REDACTED]. Use it.",
            ),
            ("the passcode is 4711\n", "the passcode is [REDACTED]\n"),
            ("passphrase opensesame", "passphrase [REDACTED]"),
            (
                "use the passphrase opensesame\nthen go on",
                "use the passphrase [REDACTED]\nthen go on",
            ),
            (
                "my passphrase is correct horse battery staple",
                "my passphrase is [REDACTED]",
            ),
            (
                "The passphrase is correct horse battery staple. Thanks",
                "The passphrase is [REDACTED]. Thanks",
            ),
            (
                "passphrase: correct horse battery staple",
                "passphrase: [REDACTED]",
            ),
            (
                "my password is correct horse battery staple",
                "my password is [REDACTED]",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn what_is_said_about_passwords_stays() {
        for text in [
            "the password is wrong",
            "password is required",
            "the passphrase prompt",
            "password must be set",
            "the password is incorrect.",
            "The password is popular. Choose another.",
            "if the password is swordfish",
            "check that the password is swordfish",
            "the password is plaintext, the password is somewhere else",
            "the password is unique to the user",
            "the password is 1024 bits long",
            "passphrase generator",
            "enter the passphrase again",
            "a random passphrase generator\nthe passphrase callback.",
            "pwd is workspace",
            "the passphrase is never stored anywhere",
            "the passphrase is asked for every time",
            "my passphrase is far too short",
            "passphrase: enter the words from the list",
            "the password is case sensitive",
            "the token is swordfish",
            "No passphrase provided\nwithout passphrase opensesame",
            "change the password swordfish",
        ] {
            assert_eq!(redact(text), (text.into(), 0), "{text}");
        }
    }
}
