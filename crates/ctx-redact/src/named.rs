//! Secrets that their surroundings name: `password=…`, `Bearer …`, `://user:…@`.

use std::ops::Range;

use super::keys::looks_random;
use super::{is_word, random, run, run_back};

/// What a name says about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Chosen by people: may be a word.
    Password,
    /// Made by machines: has digits and letters.
    Secret,
    /// Some key: a secret when it is random.
    Key,
}

/// Ends of names whose value is a secret, in lower case without `_` and `-`.
/// The end decides: `max_tokens`, `token_count` and `password_file` are none.
const NAMES: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("passcode", Kind::Password),
    ("pwd", Kind::Password),
    ("密码", Kind::Password),
    ("密钥", Kind::Password),
    ("口令", Kind::Password),
    ("令牌", Kind::Password),
    ("secret", Kind::Secret),
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
    ("authorization", Kind::Secret),
    ("xamzsignature", Kind::Secret),
    ("key", Kind::Key),
    ("credential", Kind::Key),
    ("credentials", Kind::Key),
];

/// The last two letters of [`NAMES`] in ASCII.
const NAME_ENDS: [[u8; 2]; 11] = [
    *b"rd", *b"wd", *b"se", *b"de", *b"et", *b"en", *b"ey", *b"on", *b"re", *b"al", *b"ls",
];

/// Words that stand where a value would: types, states, and the names themselves.
const NO_VALUES: &[&str] = &[
    "string",
    "str",
    "none",
    "null",
    "true",
    "false",
    "undefined",
    "required",
    "optional",
    "invalid",
    "missing",
    "expired",
    "password",
    "passwd",
    "secret",
    "token",
    "object",
    "number",
    "bytes",
    "bearer",
    "basic",
    "redacted",
    "default",
    "unset",
    "empty",
    "unknown",
];

/// How much of a value without quotes is judged: without a bound,
/// `token=token=…` takes time by the square of its length.
const VALUE_MAX: usize = 256;

/// Longest name looked at, in characters.
pub(super) const NAME_MAX: usize = 64;

/// The value behind `=`, `:`, `：` or ` is ` at `at` (`width` bytes) when the name
/// before it says that it is a secret.
pub(super) fn assigned(text: &str, from: usize, at: usize, width: usize) -> Option<Range<usize>> {
    let (name, kind) = name_before(text, from, at)?;
    let (value, quoted) = value_after(text, at + width)?;
    let bytes = &text.as_bytes()[value.clone()];
    // The scheme of `Authorization: Bearer …` is no value; `bearer` finds what follows it.
    if NO_VALUES
        .iter()
        .any(|word| bytes.eq_ignore_ascii_case(word.as_bytes()))
    {
        return None;
    }
    let next = text.as_bytes().get(value.end);
    // `token = get_token(…)`, `password=user.password[0]`: code, the secret is elsewhere.
    let is_code = !quoted && (is_path(bytes) || matches!(next, Some(b'(' | b'[' | b'{')));
    let in_capitals = !name.bytes().any(|b| b.is_ascii_lowercase());
    let is_said = text.as_bytes()[at] == b' ';
    let secret = match (quoted, kind) {
        // A quoted password may be any text, also one with blanks; after the
        // closing quote of `"PASSWORD=" + value` comes a blank.
        (true, Kind::Password) => bytes.len() >= 4 && bytes[0] != b' ' && !is_prose(bytes),
        (true, Kind::Secret) => bytes.len() >= 8 && !bytes.contains(&b' ') && looks_random(bytes),
        (true, Kind::Key) => !bytes.contains(&b' ') && random::announced(bytes),
        (false, _) if is_code => false,
        (false, Kind::Key) => random::announced(bytes),
        // A shell or `.env` assignment, or `密码：…`.
        (false, Kind::Password) if in_capitals && !is_said => bytes.len() >= 4,
        (false, Kind::Password) => {
            bytes.len() >= 6
                && (looks_random(bytes)
                    || bytes.iter().all(u8::is_ascii_digit)
                    || is_bare_word(text, at, width, &value))
        }
        (false, Kind::Secret) => bytes.len() >= 6 && looks_random(bytes),
    };
    secret.then(|| {
        let rest = &text.as_bytes()[value.end..];
        let more = (!quoted && value.len() >= VALUE_MAX).then(|| run(rest, is_value));
        value.start..value.end + more.unwrap_or(0)
    })
}

/// `password=correct-horse` without blanks around the sign and with nothing after
/// it that would make it an argument of code.
fn is_bare_word(text: &str, at: usize, width: usize, value: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let ends = matches!(
        bytes.get(value.end),
        None | Some(b' ' | b'\n' | b'\r' | b'\\' | b'&' | b';' | b'\'' | b'"' | b'`')
    );
    bytes[at] == b'=' && at + width == value.start && ends && !bytes[value.clone()].contains(&b'_')
}

/// `"Password": "Must have at least eight characters"`: what is shown to people.
fn is_prose(value: &[u8]) -> bool {
    let words = value.split(|b| *b == b' ').count();
    words > 4 && !value.iter().any(u8::is_ascii_digit) || words > 8
}

/// The value after a flag, `--password hunter2`; `at` is the blank.
pub(super) fn flagged(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[from..at];
    let length = run_back(before, NAME_MAX, |b| is_word(b) || b == b'-');
    if length < 5 || !before[before.len() - length..].starts_with(b"--") {
        return None;
    }
    let (_, kind) = name_before(text, from, at)?;
    let (value, quoted) = value_after(text, at + 1)?;
    let bytes = &text.as_bytes()[value.clone()];
    let secret = match kind {
        Kind::Password => quoted && bytes.len() >= 4 || bytes.len() >= 6 && looks_random(bytes),
        Kind::Secret => bytes.len() >= 8 && !bytes.contains(&b' ') && looks_random(bytes),
        Kind::Key => random::announced(bytes),
    };
    secret.then_some(value)
}

/// The password of `curl -u user:password`; `at` is the colon.
pub(super) fn login(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[from..at];
    let user = run_back(before, NAME_MAX, |b| is_word(b) || b"-.@".contains(&b));
    let flag = before[..before.len() - user].trim_ascii_end();
    let quoted = flag.strip_suffix(b"\"").or(flag.strip_suffix(b"'"));
    let flag = quoted.unwrap_or(flag).trim_ascii_end();
    let tail = &flag[flag.len().saturating_sub(7)..];
    if user == 0 || !(tail.ends_with(b" -u") || tail.ends_with(b" --user")) {
        return None;
    }
    let rest = &text.as_bytes()[at + 1..];
    let length = run(&rest[..rest.len().min(VALUE_MAX)], is_value);
    let is_number = rest[..length].iter().all(u8::is_ascii_digit);
    // `docker run -u 1000:1000`, `chown`-like pairs.
    (length >= 4 && !is_number && !b"$<{%*[(".contains(&rest[0])).then(|| at + 1..at + 1 + length)
}

/// The signature of an Azure address, `&sig=…`; `at` is the sign.
pub(super) fn signature(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = &bytes[from..at];
    // `;` ends `&amp;` of HTML.
    if !["?sig", "&sig", ";sig"]
        .iter()
        .any(|name| before.ends_with(name.as_bytes()))
    {
        return None;
    }
    let length = run(&bytes[at + 1..], |b| {
        b.is_ascii_alphanumeric() || b"%+/=-_".contains(&b)
    });
    (length >= 30).then(|| at + 1..at + 1 + length)
}

/// The name that ends before `at`, if it is one of [`NAMES`]: `"db_password" =`.
fn name_before(text: &str, from: usize, at: usize) -> Option<(&str, Kind)> {
    let before = text[from..at].trim_end_matches(' ');
    let before = before.trim_end_matches(['"', '\'', '`', '*']);
    let before = before.trim_end_matches('\\');
    // Most words end otherwise; this is asked at every colon and sign.
    let may_be = match before.as_bytes() {
        // `pass_wor_d` is a name, too.
        [.., b'_' | b'-', last] if last.is_ascii() => last.is_ascii_alphabetic(),
        [.., first, last] if last.is_ascii() => {
            NAME_ENDS.contains(&[first.to_ascii_lowercase(), last.to_ascii_lowercase()])
        }
        _ => NAMES.iter().any(|(end, _)| before.ends_with(end)),
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
    let name = &before[before.len() - length..];
    let plain = name.to_lowercase().replace(['-', '_'], "");
    let (_, kind) = NAMES.iter().find(|(end, _)| plain.ends_with(end))?;
    (!plain.contains("public")).then_some((name, *kind))
}

/// The value from `at` on, and whether it is quoted. A value that is a
/// reference (`$TOKEN`, `<token>`, `{token}`, `%TOKEN%`) or a mark is none.
fn value_after(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let bytes = text.as_bytes();
    let mut start = at + run(&bytes[at..], |b| b == b' ' || b == b'*');
    let escape = run(&bytes[start..], |b| b == b'\\');
    let quote = bytes
        .get(start + escape)
        .copied()
        .filter(|b| b"\"'`".contains(b));
    let end = if let Some(quote) = quote {
        start += escape + 1;
        start + run(&bytes[start..], |b| b != quote && b != b'\\' && b != b'\n')
    } else {
        let part = &bytes[start..bytes.len().min(start + VALUE_MAX)];
        let length = run(part, is_value);
        let value = &text[start..start + length];
        start + value.trim_end_matches(['.', ':', '!', '?']).len()
    };
    let first = *bytes.get(start)?;
    (end > start && !b"$<{%*[(=&/".contains(&first)).then_some((start..end, quote.is_some()))
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`,;)(}{[]&<>|\\".contains(&byte)
}

/// `user.password`, `os.environ`, `std::env`: words joined by dots or colons.
fn is_path(value: &[u8]) -> bool {
    value.iter().any(|b| matches!(b, b'.' | b':'))
        && value
            .iter()
            .all(|b| is_word(*b) || matches!(b, b'.' | b':'))
        && value
            .split(|b| matches!(b, b'.' | b':'))
            .all(|part| part.first().is_none_or(|b| !b.is_ascii_digit()))
}

/// `Bearer TOKEN` as in the header of a request.
pub(super) fn bearer(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let scheme = ["bearer ", "basic "].into_iter().find(|scheme| {
        let start = bytes[at..].get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })?;
    let start = at + scheme.len() + run(&bytes[at + scheme.len()..], |b| b == b' ');
    let length = run(&bytes[start..], |b| {
        b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b)
    });
    let value = text[start..start + length].trim_end_matches('.');
    // "Bearer tokens expire", "basic authentication": prose has no digits. Behind the
    // name of the header there is no prose.
    let before = text[..at].trim_end_matches([' ', ':', '=', '"', '\'', '\\']);
    let tail = before.len().saturating_sub("authorization".len());
    let in_header = before.as_bytes()[tail..].eq_ignore_ascii_case(b"authorization");
    let secret = value.len() >= 8 && (in_header || looks_random(value.as_bytes()));
    secret.then(|| start..start + value.len())
}

/// The password of `scheme://user:password@host`; `at` is the first colon.
pub(super) fn url_password(text: &str, at: usize) -> Option<Range<usize>> {
    let login = text[at..].strip_prefix("://")?;
    let login_at = at + 3;
    let part = &login.as_bytes()[..login.len().min(256)];
    let authority = run(part, |b| {
        !b.is_ascii_whitespace() && !b"/\"'`<>".contains(&b)
    });
    // A password may have an @ in it.
    let length = part[..authority].iter().rposition(|b| *b == b'@')?;
    let colon = part[..length].iter().position(|b| *b == b':')?;
    let first = part[colon + 1];
    (colon + 1 < length && !b"$<{%*[".contains(&first))
        .then(|| login_at + colon + 1..login_at + length)
}

#[cfg(test)]
mod tests {
    use super::{NAME_ENDS, NAMES, name_before};
    use crate::redact;

    #[test]
    fn every_name_is_found_by_its_end() {
        for (name, _) in NAMES {
            for text in [name.to_string(), format!("MY {}", name.to_uppercase())] {
                assert!(name_before(&text, 0, text.len()).is_some(), "{text}");
            }
        }
        for end in NAME_ENDS {
            let has_end = |(name, _): &(&str, _)| name.as_bytes().ends_with(&end);
            assert!(NAMES.iter().any(has_end));
        }
        for text in ["", "d", "value", "name", "密码器", "PRIVATE KEY-----"] {
            assert!(name_before(text, 0, text.len()).is_none(), "{text}");
        }
        assert_eq!(redact("pass_wor_d=hunter2").1, 1);
    }

    #[test]
    fn named_values_go() {
        for (text, clean) in [
            ("password=hunter2", "password=[REDACTED]"),
            ("password: hunter2.", "password: [REDACTED]."),
            (
                "DB_PASSWORD=correcthorse\nX=1",
                "DB_PASSWORD=[REDACTED]\nX=1",
            ),
            ("passwd = 'let me in'", "passwd = '[REDACTED]'"),
            (
                r#"{"password":"hunter two","user":"a"}"#,
                r#"{"password":"[REDACTED]","user":"a"}"#,
            ),
            (
                r#"{\"client_secret\":\"ab12cd34ef\"}"#,
                r#"{\"client_secret\":\"[REDACTED]\"}"#,
            ),
            ("X-Api-Key: 0a1b2c3d4e5f", "X-Api-Key: [REDACTED]"),
            (
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx",
                "aws_secret_access_key = [REDACTED]",
            ),
            ("?token=a1b2c3d4&x=1", "?token=[REDACTED]&x=1"),
            (
                "Authorization: Bearer a1b2c3d4e5",
                "Authorization: Bearer [REDACTED]",
            ),
            (
                "-H 'authorization: bearer a1b2c3d4e5'",
                "-H 'authorization: bearer [REDACTED]'",
            ),
            (
                "Authorization: Basic dXNlcjpwYXNzMQ==",
                "Authorization: Basic [REDACTED]",
            ),
            ("密码：hunter2，请保密", "密码：[REDACTED]，请保密"),
            ("数据库密码: abcd", "数据库密码: [REDACTED]"),
            ("**Password**: hunter2", "**Password**: [REDACTED]"),
            (
                "https://bob:pa55@example.com/x",
                "https://bob:[REDACTED]@example.com/x",
            ),
            (
                "redis://:pa55@localhost:6379",
                "redis://:[REDACTED]@localhost:6379",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn look_alikes_of_named_values_stay() {
        for text in [
            "token: 5",
            "max_tokens=500 and tokens: a1b2c3",
            "token_count=12ab34cd",
            "password: string",
            "def login(user: str, password: str = None)",
            "token = get_token2(user)",
            "password=user1.password",
            "password = os.environ['DB2']",
            "token: $GITHUB_TOKEN2",
            "Authorization: Bearer $TOKEN1234",
            "Authorization: Bearer <token1>",
            "Authorization: required",
            "Bearer tokens expire, basic authentication does not",
            "secret: true",
            "The secret: never give up",
            "请输入密码：",
            "密码：由用户设置",
            "token: toolu_01A09q90qw90lq917835lq9",
            "https://bob@example.com/x and http://localhost:8080/@scope/a",
            "postgres://app:${DB_PASS}@db",
            "tokenizer: cl100k_base2",
            "a == b: c",
            "[]byte(\"DB_PASSWORD=\" + secret), f(\"x\")",
            "password=",
            "token:",
            "://:@",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
