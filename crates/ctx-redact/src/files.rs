//! Secrets in the forms of well-known files: netrc, htpasswd, `/etc/shadow`, pgpass.

use std::ops::Range;

use super::run;
use super::value::is_value;

/// How far a netrc entry is looked at, in bytes.
const ENTRY_MAX: usize = 200;

/// Whether the word `password` that ends at `at` and its value are part of a netrc entry:
/// `machine HOST login USER password VALUE`.
pub(super) fn netrc(text: &str, from: usize, at: usize, value: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let part = &bytes[from.max(at.saturating_sub(ENTRY_MAX))..at];
    // Also where line ends are written as `\n`.
    let text = String::from_utf8_lossy(part).replace("\\n", " ");
    let words = text.split_ascii_whitespace();
    // What stands before a line of a diff or a line with a number.
    let is_margin = |word: &str| matches!(word, "+" | "-") || word.ends_with('→');
    let words: Vec<&str> = words.filter(|word| !is_margin(word)).collect();
    let is_entry = match words.as_slice() {
        // A quote or a sign of a diff may stand before the first word.
        [.., machine, _, login, _, _] if machine.ends_with("machine") => is_user(login),
        [.., default, login, _, _] if default.ends_with("default") => is_user(login),
        _ => false,
    };
    is_entry && value.len() >= 3
}

fn is_user(word: &str) -> bool {
    matches!(word, "login" | "user" | "account")
}

/// How hashes of passwords say how they were made: htpasswd, `/etc/shadow`.
const HASHES: &[&str] = &[
    "$1$", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$7$", "$y$", "$apr1$", "$argon2", "$scrypt$",
];

/// The hash of a password; `at` is its first sign.
pub(super) fn hash(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at..];
    HASHES
        .iter()
        .find(|kind| rest.starts_with(kind.as_bytes()))?;
    let length = run(rest, |b| {
        b.is_ascii_alphanumeric() || b"$./,=+-_".contains(&b)
    });
    (length >= 28).then(|| at..at + length)
}

/// `user:{SHA}…` of htpasswd and LDAP; `at` is the bracket.
pub(super) fn sum(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at..];
    let kind = ["{SHA}", "{SSHA}"]
        .into_iter()
        .find(|kind| rest.starts_with(kind.as_bytes()))?;
    let length = run(&rest[kind.len()..], |b| {
        b.is_ascii_alphanumeric() || b"+/=".contains(&b)
    });
    (length >= 27).then(|| at + kind.len()..at + kind.len() + length)
}

/// The end of `host:5432:database:user:password`; `at` is the colon behind the port.
pub(super) fn pgpass(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = &bytes[from..at];
    if !(before.ends_with(b":5432") || before.ends_with(b":5433") || before.ends_with(b":6432")) {
        return None;
    }
    let mut start = at + 1;
    for _ in ["database", "user"] {
        let part = &bytes[start..bytes.len().min(start + 64)];
        let length = run(part, |b| b.is_ascii_alphanumeric() || b"_-*.".contains(&b));
        if length == 0 || part.get(length) != Some(&b':') {
            return None;
        }
        start += length + 1;
    }
    let length = run(&bytes[start..], is_value);
    (length >= 3).then(|| start..start + length)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn passwords_in_known_files_go() {
        let sum = ["W6ph5Mm5Pz8GgiULbPg", "zG37mj9g="].concat();
        let hash = ["$apr1$abcdefgh$", "0123456789ABCDEFGHIJKL"].concat();
        for (text, clean) in [
            (
                "machine a.b login me password swordfish",
                "machine a.b login me password [REDACTED]",
            ),
            (
                "machine a.b\n  login me\n  password sword fish",
                "machine a.b\n  login me\n  password [REDACTED] fish",
            ),
            (
                r#""machine a.b\nlogin me\npassword swordfish\n""#,
                r#""machine a.b\nlogin me\npassword [REDACTED]\n""#,
            ),
            (
                "+machine a.b\n+  login me\n+  password swordfish\n",
                "+machine a.b\n+  login me\n+  password [REDACTED]\n",
            ),
            (
                "default login me password swordfish",
                "default login me password [REDACTED]",
            ),
            (&format!("me:{hash}"), "me:[REDACTED]"),
            (&format!("me:{{SHA}}{sum}"), "me:{SHA}[REDACTED]"),
            (
                "db.local:5432:app:me:swordfish",
                "db.local:5432:app:me:[REDACTED]",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_lines_of_files_stay() {
        for text in [
            "ports: 5432:5432, a:5432:b",
            "costs $1$ or $2a$ in all",
            "on this machine the login page wants a password twice",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
