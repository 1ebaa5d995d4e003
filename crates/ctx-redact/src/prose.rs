//! Secrets that are introduced by a sentence: `my password is …`, `set the password to …`.
//!
//! An ordinary word does not look like a secret, so it counts as one only if it ends a short
//! sentence that can only be about a password (`the password is swordfish`) and is not a word that
//! describes passwords.

use std::ops::{Range, RangeInclusive};

use crate::forms::is_netrc;
use crate::name::{may_end, name_before};
use crate::named::{assigned, without_separators};
use crate::rules::{Name, RULES, SecretKind, is_in, pair, words};
use crate::value::{
    Value, is_no_value, is_phrase, is_pin, is_prose, is_term, is_value, looks_random,
};
use crate::{Cursor, ends_with_ignoring_case, is_word, run, run_back};

/// The last two bytes of names that may introduce a value, also in quotes and with a comma.
static LAST: [bool; 1 << 10] = {
    let ends = b"rdwdsedeenetbyeyrthalainth',\",";
    let mut table = [false; 1 << 10];
    let mut at = 0;
    while at + 1 < ends.len() {
        table[pair(ends[at], ends[at + 1])] = true;
        at += 2;
    }
    table
};

/// Returns true if a name that introduces a value may end as the text does. The scan calls this
/// function at every space, so the function first examines the last two bytes.
#[inline]
pub(super) fn may_announce(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"\"").unwrap_or(text);
    let [.., second, last] = text else { return false };
    (*last >= 0x80 || LAST[pair(*second, *last)])
        && may_end(text.strip_suffix(b"\",").or(text.strip_suffix(b"',")).unwrap_or(text))
}

/// Finds the value after a name and a space: `passphrase hunter2`, `API_TOKEN a1b2…`, `password X`
/// in a netrc file, `IDENTIFIED BY 'x'`, or later in the sentence; the cursor is at the space.
pub(super) fn announced(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let before = cursor.before();
    // The value may be the next argument or item: `define('DB_PASSWORD', '…')`.
    let is_next = before.last() == Some(&b',');
    let is_word = is_next || before.last().is_some_and(|b| is_word(*b) || *b >= 0x80);
    let name = name_before(Cursor { at: cursor.at - usize::from(is_next), ..cursor });
    let is_end = |phrase: &&&str| {
        let small = |b: &u8| if *b == b' ' { b'_' } else { b.to_ascii_lowercase() };
        phrase.len() <= before.len()
            && phrase.bytes().rev().eq(before.iter().rev().map(small).take(phrase.len()))
    };
    let phrase =
        || words("announcers").iter().find(is_end).map(|name| (*name, SecretKind::Password));
    // `snyk auth` introduces a key, though `auth` is also a name.
    let name = name.filter(|(_, kind)| is_word && *kind != SecretKind::Login);
    let (name, kind) = name.or_else(phrase)?;
    let Value { range, bytes, is_quoted } = Value::at(cursor.text, cursor.at + 1)?;
    // Prose marks code with backticks, so a value in backticks is an identifier.
    let is_code = cursor.bytes()[range.start - 1] == b'`';
    if is_no_value(bytes) || is_term(bytes) || is_code || is_next && !is_quoted {
        return None;
    }
    let is_secret = match kind {
        // A passphrase may contain spaces. Other quoted text with spaces is a label or a message.
        SecretKind::Password if is_quoted && !is_next => {
            let may_have_blanks = || name.to_lowercase().ends_with("phrase") && !is_prose(bytes);
            bytes.len() >= 4 && (!bytes.contains(&b' ') || may_have_blanks())
        }
        SecretKind::Password => is_netrc(cursor, bytes) || is_unusual(bytes),
        // A generated value counts as a secret only after a variable name.
        SecretKind::Secret | SecretKind::Key => {
            name.contains('_') && bytes.len() >= 12 && is_plain(bytes) && looks_random(bytes)
        }
        SecretKind::Login | SecretKind::Mnemonic | SecretKind::Pin => false,
    };
    is_secret.then_some(range).or_else(|| told(cursor, name, kind))
}

/// Returns true for `hunter2x`, but not for a name in code or a technical term.
pub(super) fn is_unusual(value: &[u8]) -> bool {
    let is_one = value.len() >= SHORTEST && is_plain(value) && !is_term(value);
    is_one && (looks_random(value) || is_phrase(value))
}

/// Returns false for a path, an identifier or a call, as in `password utils/hash2.ts` or `password
/// field_2`.
fn is_plain(value: &[u8]) -> bool {
    value.iter().all(|b| b.is_ascii_alphanumeric() || b"-!@#$%^&*+~".contains(b))
}

/// Finds a password such as `Winter2024!`, whose characters are of all classes, on the line of a
/// word about logins; the cursor is at the first sign of the password.
pub(super) fn strong(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let (before, rest) = (cursor.before(), cursor.rest());
    let head = run_back(before, 64, is_strong_byte);
    // The letter in an escape is not part of the value.
    let is_escaped = before[..before.len() - head].last() == Some(&b'\\');
    let start = cursor.at - head + usize::from(is_escaped);
    let end = cursor.at + run(&rest[..rest.len().min(64)], is_strong_byte);
    // What follows the sign in `bob@Host1.com` is the name of a host.
    let is_host = matches!(cursor.bytes()[end..], [b'.', next, ..] if is_word(next));
    let is_secret = start < cursor.at && !is_host && is_strong(&cursor.bytes()[start..end]);
    (is_secret && is_about_logins(Cursor { at: start, ..cursor })).then_some(start..end)
}

/// Returns true if the line before the cursor is about a login. If the line is empty, the line
/// before it counts.
fn is_about_logins(cursor: Cursor<'_>) -> bool {
    let part = sentence(cursor, 120, b"").0;
    let text = String::from_utf8_lossy(part).to_lowercase().replace("\\n", "\n");
    let text = without_separators(&text);
    let line = format!("_{}_", text.rsplit('\n').next().unwrap_or_default()).replace(' ', "_");
    let is_chosen = |name: &Name| name.kind == SecretKind::Password && line.contains(name.end);
    RULES.names.iter().flatten().any(is_chosen)
        || words("login-words").iter().any(|word| line.contains(word))
}

fn is_strong_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!@#$^*+~-".contains(&byte)
}

/// Returns true for `Winter2024!`, which has capitals, small letters, digits and a sign, but not
/// for names in code such as `Hash2#update`.
pub(super) fn is_strong(value: &[u8]) -> bool {
    let classes = [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit];
    let parts: Vec<_> = value.split(|byte| b"!@#$^".contains(byte)).collect();
    let is_word = |part: &[u8]| part.len() > 4 && part.iter().all(u8::is_ascii_alphabetic);
    let has_sign = parts.len() > if value.len() < 10 && parts.ends_with(&[b""]) { 2 } else { 1 };
    (8..=64).contains(&value.len())
        && value.iter().all(|byte| is_strong_byte(*byte))
        && classes.iter().all(|class| value.iter().any(class))
        && has_sign
        && !parts.last().is_some_and(|part| is_word(part))
}

/// Finds a value that follows its name without a space: `密码hunter2x`.
pub(super) fn glued(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let (_, kind) = name_before(cursor)?;
    let Value { range, bytes, .. } = Value::at(cursor.text, cursor.at)?;
    let is_password = bytes.len() >= 6 && looks_random(bytes) && !is_term(bytes);
    let is_secret =
        kind == SecretKind::Password && is_password || kind == SecretKind::Pin && is_pin(bytes);
    is_secret.then_some(range)
}

/// Returns at most `most` bytes of the sentence before the cursor, and whether they include the
/// beginning of the sentence.
fn sentence<'t>(cursor: Cursor<'t>, most: usize, ends: &[u8]) -> (&'t [u8], bool) {
    let before = cursor.before();
    let part = &before[before.len().saturating_sub(most)..];
    let sentence = part.rsplit(|b| ends.contains(b)).next().unwrap_or(part);
    (sentence, sentence.len() < part.len() || part.len() == before.len())
}

/// Finds the value that a word joins to its name in some language, as in `the password is …`; the
/// cursor is at the space before the word.
pub(super) fn joined(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let rest = &cursor.rest()[1..];
    let is_next =
        |joint: &&&str| rest.starts_with(joint.as_bytes()) && rest.get(joint.len()) == Some(&b' ');
    let joint = words("joints").iter().find(is_next)?;
    let width = joint.len() + 2;
    assigned(cursor, width).or_else(|| of_something(cursor, width))
}

/// Finds the password in `the password for the database is hunter2x`; the cursor is at the space
/// before `is`.
fn of_something(cursor: Cursor<'_>, width: usize) -> Option<Range<usize>> {
    let Value { range, bytes, .. } = Value::at(cursor.text, cursor.at + width)?;
    if !is_unusual(bytes) {
        return None;
    }
    let sentence = sentence(cursor, 60, b".!?;,\n").0.to_ascii_lowercase();
    let sentence = String::from_utf8_lossy(&sentence).replace(' ', "_");
    words("names-of").iter().any(|name| sentence.contains(name)).then_some(range)
}

/// Finds the value between a verb and its name, as in `use hunter2 as the password`; the cursor is
/// at the space before `as` or `for`.
pub(super) fn before_name(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let (_, rest) = cursor.text[cursor.at + 1..].split_once(' ')?;
    let before = cursor.text[cursor.from..cursor.at].trim_end_matches(['"', '\'']);
    let length = run_back(before.as_bytes(), 64, is_value);
    let (before, value) = before.split_at(before.len() - length);
    let verb = before.trim_end_matches([' ', '"', '\'']).as_bytes();
    let verb = &verb[verb.len() - run_back(verb, 8, |b| b.is_ascii_alphabetic())..];
    if !is_unusual(value.as_bytes()) || !is_in("uses", verb) {
        return None;
    }
    let end = rest.find(|c: char| !c.is_ascii_alphabetic() && c != ' ').unwrap_or(rest.len());
    let mut words = rest[..end].split(' ').skip_while(|word| is_in("pronouns", word.as_bytes()));
    let is_named = is_in("password-words", words.next()?.to_ascii_lowercase().as_bytes());
    // The name ends the phrase: `as the password hash` is about something else.
    let ends = match words.next() {
        None => !rest[end..].starts_with(['-', '_', '/', '=']),
        Some(next) => is_in("prepositions", next.as_bytes()),
    };
    let start = cursor.from + before.len();
    (is_named && ends).then(|| start..start + length)
}

/// Finds the password in `the login is bob / hunter2` or `credentials: bob:hunter2`; the cursor is
/// at the sign after the user's name.
pub(super) fn after_user(cursor: Cursor<'_>, sign: &str) -> Option<Range<usize>> {
    let before = cursor.before();
    let user = run_back(before, 40, |b| is_word(b) || b"-.@".contains(&b));
    let joint = before[..before.len() - user].strip_suffix(b" ")?.trim_ascii_end();
    let ends = |end: &&str| joint.ends_with(end.as_bytes());
    if user == 0 || ![":", "=", " is", " are", " ist", " sind"].iter().any(ends) {
        return None;
    }
    let Value { range, bytes, .. } = Value::at(cursor.text, cursor.at + sign.len())?;
    let name = Cursor { at: cursor.from + joint.len() - 1, ..cursor };
    let is_login = || sentence_words(name).0.any(|word| is_in("logins", &word));
    (is_unusual(bytes) && is_login()).then_some(range)
}

/// Returns true if the sentence before the cursor contains `my` or `our`: `my wifi password`.
pub(super) fn is_mine(cursor: Cursor<'_>) -> bool {
    sentence_words(cursor).0.any(|word| word == b"my" || word == b"our")
}

/// Returns true if the phrase `my password is` introduces a password: a single word that ends the
/// sentence and does not describe a password's state.
pub(super) fn may_be_own(text: &str, value: &Value<'_>) -> bool {
    let bytes = value.bytes;
    if bytes.len() < 4 || is_term(bytes) {
        return false;
    }
    if !bytes.iter().all(u8::is_ascii_alphabetic) {
        return !bytes.contains(&b'/');
    }
    let rest = text[value.range.end..].trim_start_matches([' ', '!']).as_bytes();
    let ends = rest.first().is_none_or(|first| b".,;\n\r\"'`)\\<".contains(first));
    ends && !is_state(&bytes.to_ascii_lowercase())
}

fn is_state(lower: &[u8]) -> bool {
    is_in("states", lower) || has_end("state-ends", lower)
}

fn has_end(list: &str, word: &[u8]) -> bool {
    words(list).iter().any(|end| word.ends_with(end.as_bytes()))
}

/// Finds a wallet's seed phrase at `at`: at least twelve lower-case words.
pub(super) fn wallet_words(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at + run(&bytes[at..], |b| b" \"'`\\".contains(&b));
    let rest = &bytes[start..bytes.len().min(start + 24 * 9)];
    let rest = &rest[..run(rest, |b| b.is_ascii_lowercase() || b == b' ')];
    let words = rest.split(|b| *b == b' ').take(24);
    let words: Vec<_> = words.take_while(|word| (3..=8).contains(&word.len())).collect();
    let is_prose = words.iter().filter(|word| is_in("prose", word)).count() > 1;
    (words.len() >= 12 && !is_prose).then(|| start..start + words.join(&b' ').len())
}

/// The minimum length of a word that can be a password. Most words that describe passwords, such as
/// `wrong`, are shorter.
const SHORTEST: usize = 6;
/// How many words a passphrase may have.
const PHRASE: RangeInclusive<usize> = 4..=12;
/// The maximum length of a passphrase in bytes.
const PHRASE_MAX: usize = 120;
/// The maximum number of words that may precede a password in a sentence: `so the password of the
/// test account is`.
const MOST_BEFORE: usize = 8;

/// Returns true if values with this name are usually chosen by people. `pwd` is not included,
/// because it may also mean the working directory.
pub(super) fn is_chosen(name: &str, kind: SecretKind) -> bool {
    kind == SecretKind::Password && name.to_ascii_lowercase().contains("pass")
}

/// Returns true if the phrase `the password is` introduces a password that is a word or a number;
/// the name ends at the cursor.
pub(super) fn is_told_word(cursor: Cursor<'_>, value: &Value<'_>) -> bool {
    let bytes = value.bytes;
    let is_number = bytes.iter().all(u8::is_ascii_digit);
    let may_be = if is_number { bytes.len() >= 4 } else { may_be_word(bytes) };
    may_be
        && cursor.starts_with(" is ")
        && ends_sentence(cursor.text, value.range.end)
        && announces(cursor)
}

/// Finds the words of a passphrase at `at`: `my passphrase is correct horse battery staple`. After
/// names other than `passphrase`, several words are prose, unless the sentence contains `my`.
pub(super) fn passphrase(cursor: Cursor<'_>, at: usize, name: &str) -> Option<Range<usize>> {
    let bytes = cursor.bytes();
    let is_said = bytes[cursor.at] == b' ';
    let is_phrase = ends_with_ignoring_case(name.as_bytes(), b"phrase");
    if !(is_phrase || is_said && is_mine(cursor)) {
        return None;
    }
    let start = at + run(&bytes[at..], |b| b == b' ');
    let most = &bytes[start..bytes.len().min(start + PHRASE_MAX)];
    let end = start + run(most, |b| b.is_ascii_lowercase() || b == b' ');
    let words = || bytes[start..end].split(|b| *b == b' ');
    let is_phrase = PHRASE.contains(&words().count()) && words().all(may_be_part);
    (is_phrase && ends_sentence(cursor.text, end) && announces(cursor)).then_some(start..end)
}

/// Finds the word after `passphrase` or `passcode` at the end of a line, or the new value after a
/// name and a few words: `set the password to hunter2`; the cursor is at the space after the name.
fn told(cursor: Cursor<'_>, name: &str, kind: SecretKind) -> Option<Range<usize>> {
    if !is_chosen(name, kind) {
        return None;
    }
    let ends = |end: &&str| ends_with_ignoring_case(name.as_bytes(), end.as_bytes());
    let word = if ["phrase", "code"].iter().any(ends) { at_line_end(cursor) } else { None };
    word.or_else(|| changed_to(cursor))
}

fn at_line_end(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let start = cursor.at + 1;
    let rest = &cursor.rest()[1..];
    let (word, rest) = rest.split_at(run(rest, |b| b.is_ascii_lowercase()));
    let ends_line = matches!(rest.first(), None | Some(b'\n' | b'\r'));
    (ends_line && may_be_word(word) && announces(cursor)).then(|| start..start + word.len())
}

fn changed_to(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let bytes = cursor.bytes();
    let words = cursor.text[cursor.at + 1..].split(' ');
    let words: Vec<_> = words.take_while(|word| is_in("since", word.as_bytes())).collect();
    let end = cursor.at + words.iter().map(|word| word.len() + 1).sum::<usize>();
    let last = *words.last()?;
    let is_changed = words.iter().any(|word| is_in("changes", word.as_bytes()));
    // A phrase such as `the password to the second server` does not introduce a new password.
    let is_announced = match last {
        "to" => is_changed || sentence_words(cursor).0.any(|word| is_in("changes", &word)),
        _ => matches!(last, "was" | "now" | "still"),
    };
    if !is_announced || !announces(cursor) {
        return None;
    }
    let Value { range, bytes: value, is_quoted } = Value::at(cursor.text, end + 1)?;
    // Prose marks code with backticks, so a value in backticks is an identifier.
    let is_new = is_quoted && last == "to" && bytes[range.start - 1] != b'`';
    let is_secret = if is_new {
        value.len() >= 4 && !is_state(&value.to_ascii_lowercase())
    } else {
        value.len() >= SHORTEST && value[0].is_ascii_alphabetic() && looks_random(value)
    };
    let is_one = is_plain(value) && !is_no_value(value) && !is_term(value);
    (is_one && is_secret).then_some(range)
}

/// Returns the words before the cursor in the current sentence, in lower case, and whether they
/// include the beginning of the sentence.
fn sentence_words(cursor: Cursor<'_>) -> (impl Iterator<Item = Vec<u8>>, bool) {
    let (sentence, is_whole) = sentence(cursor, 80, b".!?;,:\n");
    let words = sentence.split(|b| !is_word(*b) && *b < 0x80).filter(|word| !word.is_empty());
    (words.map(<[u8]>::to_ascii_lowercase), is_whole)
}

/// Returns true if the sentence before the cursor is short and contains no word that expresses a
/// question or doubt.
fn announces(cursor: Cursor<'_>) -> bool {
    let (mut words, is_whole) = sentence_words(cursor);
    let has_doubt = words.by_ref().take(MOST_BEFORE).any(|word| is_in("doubts", &word));
    is_whole && !has_doubt && words.next().is_none()
}

fn may_be_word(word: &[u8]) -> bool {
    let Some((first, rest)) = word.split_first() else { return false };
    let is_word = first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase);
    let lower = word.to_ascii_lowercase();
    let is_about_passwords =
        || is_state(&lower) || is_in("about-passwords", &lower) || has_end("about-ends", &lower);
    (SHORTEST..=24).contains(&word.len()) && is_word && !is_about_passwords()
}

/// Returns true if the word may be part of a passphrase. A word such as `correct` is not a password
/// by itself, but it may be part of a passphrase.
fn may_be_part(word: &[u8]) -> bool {
    let is_inflected = word.ends_with(b"ed") || word.ends_with(b"ing") || word.ends_with(b"ly");
    word.len() >= 3 && !is_in("prose", word) && !is_in("doubts", word) && !is_inflected
}

/// Returns true if a sentence ends at `end`: at a full stop, at the end of the line, or at the end
/// of a JSON string.
fn ends_sentence(text: &str, end: usize) -> bool {
    let rest = &text.as_bytes()[end..];
    let stops = run(rest, |b| matches!(b, b'.' | b'!'));
    let next = rest.get(stops).unwrap_or(&b'\n');
    b"\n\r\"\\".contains(next) || stops > 0 && *next == b' '
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn announced_secrets_go() {
        for (text, clean) in [
            ("the passphrase hunter2x", "the passphrase [REDACTED]"),
            ("use password a-b-c-d now", "use password [REDACTED] now"),
            ("my password is a-b-c", "my password is [REDACTED]"),
            ("my password is swordfish.", "my password is [REDACTED]."),
            ("Our wifi password is blue-sky", "Our wifi password is [REDACTED]"),
            ("password is: hunter2x", "password is: [REDACTED]"),
            ("密码是：abcd", "密码是：[REDACTED]"),
            ("密码 hunter2x", "密码 [REDACTED]"),
            ("密码hunter2x。", "密码[REDACTED]。"),
            ("密码就是swordfish", "密码就是[REDACTED]"),
            ("数据库密码设为 abcd", "数据库密码设为 [REDACTED]"),
            ("CREATE USER a IDENTIFIED BY 'swordfish'", "CREATE USER a IDENTIFIED BY '[REDACTED]'"),
            ("ALTER ROLE a WITH PASSWORD 'swordfish'", "ALTER ROLE a WITH PASSWORD '[REDACTED]'"),
            ("passphrase \"correct horse battery\"", "passphrase \"[REDACTED]\""),
            ("ENV DB_PASSWORD hunter2", "ENV DB_PASSWORD [REDACTED]"),
            ("define('DB_PASSWORD', 'hunter2x');", "define('DB_PASSWORD', '[REDACTED]');"),
            (r#"["--password", "hunter2x"]"#, r#"["--password", "[REDACTED]"]"#),
            ("pswd=hunter2x", "pswd=[REDACTED]"),
            ("the password for the db is hunter2x.", "the password for the db is [REDACTED]."),
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
            "[\"password\", \"scram-sha-256\"], parola SOCKSv5",
            "[\"password\", \"remember\"], [\"token\", \"user12345\"], f(\"password\", value1)",
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

    #[test]
    fn announced_words_go() {
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
            ("my passphrase is correct horse battery staple", "my passphrase is [REDACTED]"),
            (
                "The passphrase is correct horse battery staple. Thanks",
                "The passphrase is [REDACTED]. Thanks",
            ),
            ("passphrase: correct horse battery staple", "passphrase: [REDACTED]"),
            ("my password is correct horse battery staple", "my password is [REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn sentences_of_other_languages_go() {
        for (text, clean) in [
            ("Das Passwort lautet hunter2x.", "Das Passwort lautet [REDACTED]."),
            ("Mein Kennwort ist hunter2x", "Mein Kennwort ist [REDACTED]"),
            ("Passwort hunter2x", "Passwort [REDACTED]"),
            ("le mot de passe est hunter2x", "le mot de passe est [REDACTED]"),
            ("Mot de passe : hunter2x", "Mot de passe : [REDACTED]"),
            (
                "Le mot de passe de la base est hunter2x",
                "Le mot de passe de la base est [REDACTED]",
            ),
            ("la contraseña es hunter2x", "la contraseña es [REDACTED]"),
            ("La contraseña de la base es hunter2x", "La contraseña de la base es [REDACTED]"),
            ("la password è hunter2x", "la password è [REDACTED]"),
            ("a senha é hunter2x", "a senha é [REDACTED]"),
            ("Hasło brzmi hunter2x", "Hasło brzmi [REDACTED]"),
            ("het wachtwoord is hunter2x", "het wachtwoord is [REDACTED]"),
            ("lösenordet är hunter2x", "lösenordet är [REDACTED]"),
            ("La password del server è hunter2x.", "La password del server è [REDACTED]."),
            (
                "Das Kennwort für den Server heißt hunter2x",
                "Das Kennwort für den Server heißt [REDACTED]",
            ),
            ("mdp : hunter2x", "mdp : [REDACTED]"),
            ("la clave es hunter2x", "la clave es [REDACTED]"),
            ("Passordet er hunter2x", "Passordet er [REDACTED]"),
            ("Heslo je hunter2x", "Heslo je [REDACTED]"),
            ("A jelszó hunter2x", "A jelszó [REDACTED]"),
            ("Parola este hunter2x", "Parola este [REDACTED]"),
            ("Parola hunter2x olarak", "Parola [REDACTED] olarak"),
            ("Ο κωδικός είναι hunter2x", "Ο κωδικός είναι [REDACTED]"),
            ("كلمة المرور هي hunter2x", "كلمة المرور هي [REDACTED]"),
            ("הסיסמה היא hunter2x", "הסיסמה היא [REDACTED]"),
            ("mật khẩu là hunter2x", "mật khẩu là [REDACTED]"),
            ("合言葉はhunter2x", "合言葉は[REDACTED]"),
            ("密码改成了 hunter2x", "密码改成了 [REDACTED]"),
            ("пароль — Hunter2!", "пароль — [REDACTED]!"),
            ("密码就是hunter2x", "密码就是[REDACTED]"),
            ("パスワードは「hunter2x」です", "パスワードは「[REDACTED]」です"),
            ("비밀번호는 hunter2x 입니다", "비밀번호는 [REDACTED] 입니다"),
            ("验证码是482913", "验证码是[REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn prose_of_other_languages_stays() {
        for text in [
            "das Passwort ist falsch, das Passwort ist Pflicht!",
            "le mot de passe est obligatoire, le train passe : 14h30, the impasse: abc1234",
            "la contraseña es incorrecta! a senha é inválida, hasło jest nieprawidłowe",
            "heslo je povinné, la clave es única, clave: \"nombre\", ο κωδικός είναι λάθος",
            "пароль: неверный, パスワードは必須です, 비밀번호는 필수입니다, 验证码是必填的",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn passwords_beside_their_user_or_before_their_name_go() {
        for (text, clean) in [
            ("the login is bob / Hunter2!", "the login is bob / [REDACTED]!"),
            ("Credentials: bob:h#nter2x", "Credentials: bob:[REDACTED]"),
            ("try hunter2x for the password", "try [REDACTED] for the password"),
            ("auth: bob:h#nter2x", "auth: bob:[REDACTED]"),
            ("1→use hunter2x as the pw", "1→use [REDACTED] as the pw"),
            (
                "Please set 'hunter2x' as my new password.",
                "Please set '[REDACTED]' as my new password.",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
        for text in [
            "use sha512 as the password hash, use python3 as the interpreter",
            "run it as root / h#nter2x, log: a / b2c3d4, the page is disabled / removed2",
            "use sha512 for the password hash, use bcrypt2 for passwords, try twice for the pin",
            "log in with Chrome / Firefox120, login: octocat / Hello-World",
            "credentials: file:config2.json, user abc12345, auth abc12345",
            "password - min8chars, password -> bcrypt2, reset password - issue1234",
            "abc12 is my password manager, this is the password prompt",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn passwords_of_all_classes_go() {
        for (text, clean) in [
            ("sign in as root with Winter2024!", "sign in as root with [REDACTED]"),
            ("passwd for bob -> W1nter#4x", "passwd for bob -> [REDACTED]"),
            ("Password\nWinter$2024x\n", "Password\n[REDACTED]\n"),
            ("net user bob Winter2024! /add", "net user bob [REDACTED] /add"),
            ("requirepass Winter$2024x", "requirepass [REDACTED]"),
            ("sqlplus scott/Winter$2024x@orcl", "sqlplus scott/[REDACTED]"),
            ("args:\n  - --password\n  - Winter!2024x", "args:\n  - --password\n  - [REDACTED]"),
            (r#"{"a":"the pw:\nW1nter#4x"}"#, r#"{"a":"the pw:\n[REDACTED]"}"#),
            ("echo V2ludGVyIzIwMjR4eHg= | base64 -d", "echo [REDACTED] | base64 -d"),
            ("wandb login 7a9ace0b11c913dd3ae6ffd7", "wandb login [REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
        for text in [
            "PASS UserTest1#resetPassword, the login uses RFC6749#Token and React18!",
            "the color of the page is Winter2024!, credential: foo@Bar1xy.com",
            "wallet: please connect your wallet before using this feature with other people around",
            "password: see Hash2#update\nand Foo1#Bar2xx",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn pins_and_codes_go() {
        for (text, clean) in [
            ("The PIN is 4831", "The PIN is [REDACTED]"),
            ("PIN: 4831", "PIN: [REDACTED]"),
            ("verificationCode = \"482913\"", "verificationCode = \"[REDACTED]\""),
            ("--pin 4831", "--pin [REDACTED]"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
        for text in [
            "pin: 17, pins: 1234, the pin 1234 is high, PIN = 1.2.3, OTP: 27",
            "error code: 4831, exit code is 1234, code: 1234, source code: 1234",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn words_about_passwords_stay() {
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

    #[test]
    fn changed_passwords_go() {
        for (text, clean) in [
            ("set the password to hunter2x, please", "set the password to [REDACTED], please"),
            ("my old password was hunter2x", "my old password was [REDACTED]"),
            ("the password is now set to hunter2x.", "the password is now set to [REDACTED]."),
            ("the password is still hunter2x", "the password is still [REDACTED]"),
            ("change my password to 'swordfish'", "change my password to '[REDACTED]'"),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn talk_about_changes_stays() {
        for text in [
            "change the password to base64, set the password to the value of field2",
            "add a password to user2, convert the password to utf-16",
            "the password was 12-characters long",
            "the password to my 2nd account, set the password to 'a b c d'",
            "set the password to `user_2`, set password to 'password'",
            "the password was \"wrong\", the password was 2fa-protected",
            "the password is still required, the password is still 2fa-protected",
            "I forgot the password to webserver01",
            "if the password was hunter2x",
        ] {
            assert_eq!(redact(text), (text.into(), 0), "{text}");
        }
    }
}
