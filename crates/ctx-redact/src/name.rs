//! Names whose value is a secret: `password`, `api_key`, 密码.

use std::sync::LazyLock;

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Chosen by people: may be a word.
    Password,
    /// Made by machines: has digits and letters.
    Secret,
    /// Some key: a secret when it is random.
    Key,
    /// A user and a password in base64.
    Login,
    /// Words that are a key to a wallet.
    Words,
}

/// Ends of names whose value is a secret, in lower case without `_` and `-`.
/// The end decides: `max_tokens`, `token_count` and `password_file` are none.
pub(super) const NAMES: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("passcode", Kind::Password),
    ("pwd", Kind::Password),
    ("dbpass", Kind::Password),
    ("userpass", Kind::Password),
    ("keypass", Kind::Password),
    ("storepass", Kind::Password),
    ("bindpw", Kind::Password),
    ("rootpw", Kind::Password),
    ("密码", Kind::Password),
    ("密碼", Kind::Password),
    ("密钥", Kind::Password),
    ("口令", Kind::Password),
    ("令牌", Kind::Password),
    ("パスワード", Kind::Password),
    ("비밀번호", Kind::Password),
    ("пароль", Kind::Password),
    ("passwort", Kind::Password),
    ("contraseña", Kind::Password),
    ("secret", Kind::Secret),
    ("secretkeybase", Kind::Secret),
    ("devopsextpat", Kind::Secret),
    ("devopspat", Kind::Secret),
    ("githubpat", Kind::Secret),
    ("ghpat", Kind::Secret),
    ("gitlabpat", Kind::Secret),
    ("token", Kind::Secret),
    ("apikey", Kind::Secret),
    ("accesskey", Kind::Secret),
    ("secretkey", Kind::Secret),
    ("privatekey", Kind::Secret),
    ("accountkey", Kind::Secret),
    ("authkey", Kind::Secret),
    ("encryptionkey", Kind::Secret),
    ("signingkey", Kind::Secret),
    ("masterkey", Kind::Secret),
    ("clientkeydata", Kind::Secret),
    ("authorization", Kind::Secret),
    ("xamzsignature", Kind::Secret),
    ("key", Kind::Key),
    ("credential", Kind::Key),
    ("credentials", Kind::Key),
    ("phrase", Kind::Words),
    ("mnemonic", Kind::Words),
    ("助记词", Kind::Words),
];

/// Short ones, which must be a word of the name: `DB_PASS` and `dbPass`, not `compass`.
const SHORT: &[(&str, Kind)] = &[
    ("pass", Kind::Password),
    ("pw", Kind::Password),
    ("psk", Kind::Password),
    ("auth", Kind::Login),
];

/// Longest name looked at, in characters.
pub(super) const NAME_MAX: usize = 64;

/// What may join a name and the sign after it: `密码是：`, `密码设为`, `password is:`.
const JOINTS: &[&str] = &["是", "为", "為", "设置", "设", "改", "就", "は", " is"];

/// The name that ends before `at`, if it is one of those above: `"db_password" =`.
pub(super) fn name_before(text: &str, from: usize, at: usize) -> Option<(&str, Kind)> {
    let before = bare(&text[from..at]);
    // Most words end otherwise; this is asked at every colon and sign.
    let may_be = match before.as_bytes() {
        // `pass_wor_d` is a name, too.
        [.., b'_' | b'-', last] if last.is_ascii() => last.is_ascii_alphabetic(),
        [.., third, first, last] if first.is_ascii() && last.is_ascii() => {
            may_end(*third, *first, *last)
        }
        _ => before.chars().next_back().is_some_and(is_last),
    };
    if !may_be {
        return None;
    }
    let length = before
        .char_indices()
        .rev()
        .take(NAME_MAX)
        .take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .last()
        .map(|(start, _)| before.len() - start)?;
    let (rest, name) = before.split_at(before.len() - length);
    // The letter of an escape is no part of it: `\npass=`.
    let name = match name.strip_prefix(['n', 'r', 't']) {
        Some(name) if rest.ends_with('\\') => name,
        _ => name,
    };
    // Most names of ours end in another letter.
    let last = letters_back(name).next();
    let mut ends = NAMES.iter().filter(|(end, _)| last_letter(end) == last);
    let long = ends.find(|(end, _)| ends_in(name, end));
    let (_, kind) = long.or_else(|| {
        // `PASS: test` is what tests say.
        let says =
            name.bytes().all(|b| b.is_ascii_uppercase()) && text.as_bytes().get(at) != Some(&b'=');
        SHORT
            .iter()
            .find(|(end, _)| !says && is_last_word(name, end))
    })?;
    let plain = name.to_lowercase().replace(['-', '_'], "");
    (!plain.contains("public")).then_some((name, *kind))
}

/// Whether a name ends in these letters, whatever their case and its dashes.
fn ends_in(name: &str, end: &str) -> bool {
    let mut letters = letters_back(name);
    end.chars().rev().all(|c| letters.next() == Some(c))
}

fn last_letter(end: &str) -> Option<char> {
    end.chars().next_back()
}

fn letters_back(name: &str) -> impl Iterator<Item = char> {
    let letters = name.chars().rev().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase)
}

/// Whether a name may end at the bracket at `at`: most words and all other signs end the
/// question here.
pub(super) fn may_be_before(bytes: &[u8], at: usize) -> bool {
    match bytes[..at] {
        [.., third, first, last] if last.is_ascii_alphabetic() && first.is_ascii_alphabetic() => {
            may_end(third, first, last)
        }
        [.., last] => matches!(last, b'"' | b'\'') || last >= 0x80,
        [] => false,
    }
}

/// Without blanks, quotes and brackets at the end, and without what joins.
fn bare(before: &str) -> &str {
    // Nearly always there is nothing to take away.
    if matches!(before.as_bytes().last(), Some(b) if b.is_ascii_alphanumeric() && *b != b's') {
        return before;
    }
    let before = unquoted(before);
    let Some(last) = before.as_bytes().last() else {
        return before;
    };
    if *last == b's' || !last.is_ascii() {
        let joint = JOINTS.iter().find_map(|joint| before.strip_suffix(joint));
        return joint.map_or(before, unquoted);
    }
    // `config["password"] = …`
    let inner = before.strip_suffix(']').map(unquoted);
    inner.unwrap_or(before)
}

fn unquoted(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t']);
    let text = text.trim_end_matches(['"', '\'', '`', '*']);
    text.trim_end_matches('\\')
}

fn is_last_word(name: &str, word: &str) -> bool {
    let Some(start) = name.len().checked_sub(word.len()) else {
        return false;
    };
    let (before, end) = name.as_bytes().split_at(start);
    let is_start = match before.last() {
        None | Some(b'_' | b'-') => true,
        // Two letters are in base64 by chance.
        Some(last) => end.len() > 2 && last.is_ascii_lowercase() && end[0].is_ascii_uppercase(),
    };
    is_start && end.eq_ignore_ascii_case(word.as_bytes())
}

/// Whether a name is one of the short ones in capitals, as constants of code have it:
/// `DEVICE_TYPE_PASS`.
pub(super) fn may_be_constant(name: &str) -> bool {
    let mut words = SHORT.iter().map(|(word, _)| word.as_bytes());
    let last = name
        .as_bytes()
        .rsplit(|b| *b == b'_')
        .next()
        .unwrap_or_default();
    words.any(|word| last.eq_ignore_ascii_case(word))
}

/// Whether a name ends in this letter, which is none of ASCII or stands behind one.
fn is_last(letter: char) -> bool {
    static LAST: LazyLock<Vec<char>> = LazyLock::new(|| {
        let names = NAMES.iter();
        let mut last: Vec<char> = names
            .filter_map(|(name, _)| name.chars().next_back())
            .collect();
        last.sort_unstable();
        last.dedup();
        last
    });
    letter
        .to_lowercase()
        .any(|letter| LAST.binary_search(&letter).is_ok())
}

/// Whether a name may end in these letters; what is no letter may stand before the last two.
fn may_end(third: u8, first: u8, last: u8) -> bool {
    static ENDS: LazyLock<[[u32; 26]; 26]> = LazyLock::new(|| {
        let mut ends = [[0; 26]; 26];
        for (name, _) in NAMES.iter().chain(SHORT) {
            let place = |letter: u8| usize::from(letter - b'a');
            match name.as_bytes() {
                [
                    ..,
                    third @ b'a'..=b'z',
                    first @ b'a'..=b'z',
                    last @ b'a'..=b'z',
                ] => {
                    ends[place(*first)][place(*last)] |= 1 << (third - b'a');
                }
                [first @ b'a'..=b'z', last @ b'a'..=b'z'] => {
                    ends[place(*first)][place(*last)] = u32::MAX;
                }
                _ => {}
            }
        }
        ends
    });
    let letter = |byte: u8| (byte | 0x20).wrapping_sub(b'a');
    let ends = ENDS.get(usize::from(letter(first)));
    let thirds = ends.and_then(|ends| ends.get(usize::from(letter(last))));
    thirds.is_some_and(|thirds| {
        let third = letter(third);
        *thirds != 0 && (third >= 26 || thirds >> third & 1 == 1)
    })
}

#[cfg(test)]
mod tests {
    use super::{NAMES, SHORT, name_before};
    use crate::redact;

    #[test]
    fn every_name_is_found_by_its_end() {
        for (name, kind) in NAMES.iter().chain(SHORT) {
            for text in [
                name.to_string(),
                format!("MY_{}", name.to_uppercase()),
                format!("of \"{name}\" "),
                format!("a[\"{name}\"]"),
                format!("\\n{name}"),
                format!("{name} is"),
                format!("{name}是"),
            ] {
                let found = name_before(&text, 0, text.len());
                assert_eq!(found.map(|(_, kind)| kind), Some(*kind), "{text}");
            }
        }
        for text in [
            "",
            "d",
            "value",
            "name",
            "密码器",
            "PRIVATE KEY-----",
            "compass",
            "bypass",
            "oauth",
            "map[n]",
        ] {
            assert!(name_before(text, 0, text.len()).is_none(), "{text}");
        }
        assert_eq!(redact("pass_wor_d=hunter2").1, 1);
    }
}
