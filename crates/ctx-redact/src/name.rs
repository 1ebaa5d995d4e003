//! Names of secrets, such as `password`, `api_key` and 密码.

use std::sync::LazyLock;

use crate::Cursor;
use crate::rules::{Name, RULES, SecretKind, pair, words};

/// The maximum length of a name, in characters.
pub(super) const NAME_MAX: usize = 64;

/// Finds the name of a secret that ends before the cursor: `"db_password" =`.
pub(super) fn name_before(cursor: Cursor<'_>) -> Option<(&str, SecretKind)> {
    let before = bare(&cursor.text[cursor.from..cursor.at]);
    // Return early if possible: this function is called at every colon and sign, and most words are
    // not names of secrets.
    if !may_end(before.as_bytes()) {
        return None;
    }
    let chars = before.char_indices().rev().take(NAME_MAX);
    let (start, _) =
        chars.take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '-')).last()?;
    let (rest, name) = before.split_at(start);
    // The letter in an escape is not part of the name: `\npass=`.
    let after_escape = name.strip_prefix(['n', 'r', 't']).filter(|_| rest.ends_with('\\'));
    let name = after_escape.unwrap_or(name);
    let plain = name.to_lowercase().replace(['-', '_'], "");
    let last = usize::from(plain.bytes().last()? & 31);
    let long = RULES.names[last].iter().find(|known| plain.ends_with(known.end));
    let found = long.or_else(|| {
        // `PASS: test` is a test result.
        let is_verdict = name == "PASS" && cursor.bytes().get(cursor.at) != Some(&b'=');
        let mut names = RULES.short_names[last].iter();
        names.find(|known| !is_verdict && is_last_word(name, known.end))
    })?;
    (!plain.contains("public")).then_some((name, found.kind))
}

/// Strips trailing spaces, quotes, brackets, and words that join a name to a value.
fn bare(before: &str) -> &str {
    // Return early, because there is almost never anything to remove.
    if matches!(before.as_bytes().last(), Some(b) if b.is_ascii_alphanumeric() && *b != b's') {
        return before;
    }
    let before = unquoted(before);
    let Some(last) = before.as_bytes().last() else { return before };
    if *last == b's' {
        return before.strip_suffix(" is").map_or(before, unquoted);
    }
    if !last.is_ascii() {
        let joint = words("name-joints").iter().find_map(|joint| before.strip_suffix(joint));
        return joint.map_or(before, unquoted);
    }
    // The name may be in brackets: `config["password"] = …`
    before.strip_suffix(']').map_or(before, unquoted)
}

fn unquoted(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '\t']);
    let text = text.trim_end_matches(['"', '\'', '`', '*', '「', '『', '“', '«', '（']);
    text.trim_end_matches('\\')
}

fn is_last_word(name: &str, word: &str) -> bool {
    let Some(start) = name.len().checked_sub(word.len()) else { return false };
    let (before, end) = name.as_bytes().split_at(start);
    let is_start = match before.last() {
        None | Some(b'_' | b'-') => true,
        // A short name of two letters does not count in camel case, because it may occur in base64
        // by chance.
        Some(last) => end.len() > 2 && last.is_ascii_lowercase() && end[0].is_ascii_uppercase(),
    };
    is_start && end.eq_ignore_ascii_case(word.as_bytes())
}

/// Returns true if the name of a secret, in quotes or not, may end before the bracket at `at`.
pub(super) fn may_end_at(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[..at].last(), Some(b'"' | b'\'' | b'=')) || may_end(&bytes[..at])
}

fn names() -> impl Iterator<Item = &'static Name> {
    RULES.names.iter().chain(&RULES.short_names).flatten()
}

/// Returns true if a name may end as the text does. The check is quick and rejects most other
/// words.
pub(super) fn may_end(text: &[u8]) -> bool {
    /// For each pair of last bytes, one bit for each byte that may precede it; then the same for
    /// the names without their last byte.
    static ENDS: LazyLock<[[u32; 1 << 10]; 2]> = LazyLock::new(|| {
        let mut ends = [[0; 1 << 10]; 2];
        let phrases = words("announcers").iter().chain(words("name-joints")).copied();
        let names = names().map(|name| name.end).chain(phrases);
        for name in names.flat_map(|name| [name.replace('_', " "), name.to_uppercase()]) {
            for (cut, ends) in ends.iter_mut().enumerate() {
                match name.as_bytes()[..name.len() - cut] {
                    [.., third, second, last] => ends[pair(second, last)] |= 1 << (third & 31),
                    [second, last] => ends[pair(second, last)] = u32::MAX,
                    [last] => (0..32).for_each(|second| ends[pair(second, last)] = u32::MAX),
                    [] => {}
                }
            }
        }
        ends
    });
    let is_letter = |last: &u8| last.is_ascii_alphabetic() || *last >= 0x80;
    text.last().is_some_and(is_letter)
        && (0..2).all(|cut| match text[..text.len() - cut] {
            // `pass_wor_d` also counts as the name of a secret.
            [.., b'_' | b'-', _, _] | [.., b'_' | b'-', _] | [.., b'_' | b'-'] => true,
            [.., third, second, last] => ENDS[cut][pair(second, last)] >> (third & 31) & 1 == 1,
            [second, last] => ENDS[cut][pair(second, last)] == u32::MAX,
            _ => cut == 1,
        })
}

#[cfg(test)]
mod tests {
    use super::{Name, name_before, names};
    use crate::{Cursor, redact};

    #[test]
    fn every_name_is_found_by_its_end() {
        let found = |text: &str| {
            let end = Cursor { text, from: 0, at: text.len() };
            name_before(end).map(|(_, kind)| kind)
        };
        for Name { end: name, kind } in names() {
            for text in [
                name.to_string(),
                format!("MY_{}", name.to_uppercase()),
                format!("of \"{name}\" "),
                format!("a[\"{name}\"]"),
                format!("\\n{name}"),
                format!("{name} is"),
                format!("{name}是"),
            ] {
                assert_eq!(found(&text), Some(*kind), "{text}");
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
            assert_eq!(found(text), None, "{text}");
        }
        assert_eq!(redact("pass_wor_d=hunter2").1, 1);
    }
}
