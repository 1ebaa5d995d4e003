//! Tables with a column of secrets: CSV, TSV, Markdown, the output of `psql`, `mysql` and
//! `column -t`, and the rows of an `INSERT`.

use std::ops::Range;

use crate::name::name_before;
use crate::named::{looks_secret, margin};
use crate::prose::is_unusual;
use crate::rules::{SecretKind, is_in};
use crate::value::{Value, is_random, line_end};
use crate::{Cursor, MARK, run};

/// How many bytes before the cursor to search for the beginning of the row that names the columns.
const HEAD_MAX: usize = 400;
/// The characters around the text of a cell.
const EDGES: &[char] = &[' ', '\t', '\r', '\\', '"', '\'', '`', '*'];

/// Returns the secrets below the name of a secret in the first row of a table, and where the table
/// ends; the cursor is after the name.
pub(super) fn secrets(cursor: Cursor<'_>) -> Option<(Vec<Range<usize>>, usize)> {
    name_before(cursor)?;
    let Cursor { text, at, .. } = cursor;
    let (bytes, before) = (cursor.bytes(), cursor.before());
    let part = &before[before.len().saturating_sub(HEAD_MAX)..];
    // In quoted text, a row begins after `\n` or after the opening quote.
    let is_start = |part: &[u8]| {
        matches!(part, [.., b'\n' | b'('] | [_, b'\\', b'n'] | b": \"" | [_, b':', b'"'])
    };
    let skipped = part.windows(3).rposition(is_start).map(|start| start + 3);
    let start = at - part.len() + skipped.or((part.len() < HEAD_MAX).then_some(0))?;
    let is_tuple = start > 0 && bytes[start - 1] == b'(';
    let start = start + if is_tuple { 0 } else { margin(&bytes[start..]) };
    let title = String::from_utf8_lossy(bytes.get(start..bytes.len().min(at + 3))?);
    let signs = ["|", "\t", "\\t", ",", ";", "  "];
    let sign = signs.into_iter().find(|sign| title.trim_start().contains(sign))?;
    let (head, mut end) = row(bytes, start, sign, is_tuple);
    let names = || head.iter().map(|cell| text[cell.clone()].trim_matches(EDGES));
    let is_name = |name: &str| {
        name.len() <= 40 && name.chars().all(|c| c.is_alphanumeric() || " _-./#".contains(c))
    };
    // In prose, a space follows the comma.
    if !names().all(|name| is_name(name) && (sign == "|" || !name.is_empty()))
        || head.len() < 2
        || !is_tuple && title.contains(", ")
    {
        return None;
    }
    let has_users = names().any(|name| is_in("users", name.to_lowercase().as_bytes()));
    let mut secrets = Vec::new();
    while let Some(start) = next_row(bytes, end, is_tuple) {
        let (cells, row_end) = row(bytes, start, sign, is_tuple);
        let is_rule =
            start < row_end && bytes[start..row_end].iter().all(|b| b" -+|:=".contains(b));
        if cells.len() != head.len() && !is_rule {
            break;
        }
        end = row_end;
        secrets.extend(head.iter().zip(cells).filter_map(|(name, cell)| {
            let (_, kind) = name_before(Cursor { text, from: name.start, at: name.end })?;
            let value = Value::at(text, cell.start)?;
            let word = text.get(value.range.start..cell.end)?.trim_end_matches(EDGES);
            // A column of generated values may also be one of names.
            let is_value = match kind {
                SecretKind::Password if is_tuple => value.is_quoted,
                SecretKind::Password => has_users || is_unusual(word.as_bytes()),
                _ => is_random(word.as_bytes()),
            };
            let is_secret = is_value
                && looks_secret(word.as_bytes(), kind)
                && !(is_rule || word.contains(' ') || word == MARK);
            is_secret.then(|| value.range.start..value.range.start + word.len())
        }));
    }
    Some((secrets, end))
}

/// Returns the start of the row after the one that ends at `end`.
fn next_row(bytes: &[u8], end: usize, is_tuple: bool) -> Option<usize> {
    if !is_tuple {
        let start = end + line_end(&bytes[end..])?;
        return Some(start + margin(&bytes[start..]));
    }
    let start = end + run(&bytes[end..bytes.len().min(end + 32)], |b| b != b'(') + 1;
    let between = String::from_utf8_lossy(bytes.get(end..start)?).to_uppercase();
    (between.ends_with('(') && (between.contains("VALUES") || between.starts_with("),")))
        .then_some(start)
}

/// Returns the cells of a row, and where it ends. A sign in quotes does not end a cell.
fn row(bytes: &[u8], start: usize, sign: &str, is_tuple: bool) -> (Vec<Range<usize>>, usize) {
    let ends = |rest: &[u8]| {
        rest.starts_with(sign.as_bytes())
            || matches!(rest, [b'\n' | b'"', ..] | [b'\\', b'n', ..])
            || is_tuple && rest[0] == b')'
    };
    let skip = |at: usize| at + run(&bytes[at..], |b| b == b' ');
    let (mut cells, mut start) = (Vec::new(), skip(start));
    loop {
        let mut at = skip(start);
        at += run(&bytes[at..], |b| b == b'\\');
        at = match bytes.get(at) {
            Some(quote @ (b'"' | b'\'')) => {
                let length = run(&bytes[at + 1..], |b| b != *quote && b != b'\n');
                at + 1 + length + usize::from(bytes.get(at + 1 + length) == Some(quote))
            }
            _ => start,
        };
        at = (at..bytes.len()).find(|at| ends(&bytes[*at..])).unwrap_or(bytes.len());
        cells.push(start..at);
        if !bytes[at..].starts_with(sign.as_bytes()) {
            return (cells, at);
        }
        start = at + sign.len();
        start = if sign == "  " { skip(start) } else { start };
    }
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn cells_below_the_name_of_a_secret_go() {
        for (text, clean) in [
            ("name,password\nbob,swordfish\n", "name,password\nbob,[REDACTED]\n"),
            ("password,email\r\nswordfish,a@b.c", "password,email\r\n[REDACTED],a@b.c"),
            ("id;user;pwd\n1;bob;swordfish", "id;user;pwd\n1;bob;[REDACTED]"),
            ("user\tpassword\nbob\tswordfish", "user\tpassword\nbob\t[REDACTED]"),
            (
                "user,Password\n\"Doe, Bob\",\"sw rd,f1\"",
                "user,Password\n\"Doe, Bob\",\"sw rd,f1\"",
            ),
            (
                "\"user\",\"password\"\n\"Doe, Bob\",\"sword,fish\"",
                "\"user\",\"password\"\n\"Doe, Bob\",\"[REDACTED]\"",
            ),
            (
                "| user | password |\n|---|---|\n| bob | swordfish |",
                "| user | password |\n|---|---|\n| bob | [REDACTED] |",
            ),
            (
                " id | password \n----+-----------\n  1 | swordfish\n(1 row)",
                " id | password \n----+-----------\n  1 | [REDACTED]\n(1 row)",
            ),
            (
                "USER   PASSWORD   ROLE\nbob    swordfish  x",
                "USER   PASSWORD   ROLE\nbob    [REDACTED]  x",
            ),
            (
                "INSERT INTO users (name, password) VALUES ('bob', 'sword(fish');",
                "INSERT INTO users (name, password) VALUES ('bob', '[REDACTED]');",
            ),
            (r#"{"a":"name,password\nbob,swordfish"}"#, r#"{"a":"name,password\nbob,[REDACTED]"}"#),
            (r#"{"a":"user\tpwd\nbob\tswordfish"}"#, r#"{"a":"user\tpwd\nbob\t[REDACTED]"}"#),
            ("  1→user,token\n  2→bob,k3J9x0Qz7Lp2Vt5w", "  1→user,token\n  2→bob,[REDACTED]"),
        ] {
            let count = usize::from(text != clean);
            assert_eq!(redact(text), (clean.into(), count), "{text}");
        }
    }

    #[test]
    fn every_row_goes() {
        let rows = |value: &str| {
            format!("id,password,token\n{}", format!("1,{value},{value}\n").repeat(200))
        };
        assert_eq!(redact(&rows("k3J9x0Qz7Lp2Vt5w")), (rows("[REDACTED]").into(), 400));
    }

    #[test]
    fn other_tables_and_lists_stay() {
        for text in [
            "user,password\nbob,null\nann,none\n,,\n",
            "| field | password |\n|---|---|\n| length | minimum |",
            "the user, the password\nand some, other1word",
            "(user, password) are ('bob', 'swordfish')",
            "    token,\n    or1_token,\n    or2_token,\n",
            "user,password\n\nbob,swordfish\n",
            "for user,password in rows:\n    a,b12345678\n",
            "| model | tokens |\n| gpt4o2024 | a1b2c3d4e5 |",
            "-p  password\n-u  user name1",
            "type,key\nfile,photo2006x",
            "word\ttoken\ncat\tcat2noun\n, name,secret\nweb,web-tls-secret2",
            "INSERT INTO users (name, password) VALUES (:name, :password2), (?, $2)",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
        let long = format!("{}…,password\nbob,swordfish", "x".repeat(398));
        assert_eq!(redact(&long).1, 0);
    }
}
