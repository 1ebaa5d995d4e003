//! Secrets that the name before them gives away: `password=…`, `"api_key": "…"`.

use std::ops::Range;

use super::block::block_after;
use super::name::{Kind, may_be_constant, name_before};
use super::value::{
    VALUE_MAX, has_sign, is_constant, is_no_value, is_path, is_phrase, is_prose, is_term, is_value,
    looks_random, value_after,
};
use super::{encoded, header, random, run, spoken, told};

/// The value behind a sign or a word (`width` bytes at `at`) that joins it to its name,
/// when the name says that it is a secret.
pub(super) fn assigned(text: &str, from: usize, at: usize, width: usize) -> Option<Range<usize>> {
    let (name, kind) = name_before(text, from, at)?;
    let after = at + width;
    if kind == Kind::Words {
        return spoken::words(text, after);
    }
    if told::is_chosen(name, kind)
        && let Some(phrase) = told::phrase(text, from, at..after, name)
    {
        return Some(phrase);
    }
    if let Some(block) = block_after(text, after, kind) {
        return Some(block);
    }
    if header::is_authorization(name)
        && let Some(secret) = header::behind_scheme(text, after)
    {
        return Some(secret);
    }
    let (value, is_quoted) = value_after(text, after)?;
    let place = Place {
        text,
        from,
        at,
        width,
    };
    let is_secret = if is_quoted {
        is_quoted_secret(&text.as_bytes()[value.clone()], kind)
    } else {
        place.is_plain_secret(name, kind, &value)
    };
    is_secret.then(|| value.start..value.end + if is_quoted { 0 } else { more(text, &value) })
}

/// Length of the rest of a value of which only the beginning was judged.
pub(super) fn more(text: &str, value: &Range<usize>) -> usize {
    if value.len() < VALUE_MAX {
        return 0;
    }
    run(&text.as_bytes()[value.end..], is_value)
}

/// Whether a value in quotes is a secret by its look.
pub(super) fn is_quoted_secret(value: &[u8], kind: Kind) -> bool {
    if is_no_value(value) {
        return false;
    }
    let is_one = !value.contains(&b' ');
    match kind {
        // A quoted password may be any text, also one with blanks; after the
        // closing quote of `"PASSWORD=" + value` comes a blank.
        Kind::Password => value.len() >= 4 && value[0] != b' ' && !is_prose(value),
        Kind::Secret => value.len() >= 8 && is_one && looks_random(value) && !is_constant(value),
        Kind::Key => is_one && random::announced(value),
        Kind::Login => encoded::is_linkedin(value),
        Kind::Words => false,
    }
}

/// Where a name and its value are joined.
struct Place<'t> {
    text: &'t str,
    from: usize,
    at: usize,
    width: usize,
}

impl Place<'_> {
    /// Whether a value without quotes is a secret by its look and its surroundings.
    fn is_plain_secret(&self, name: &str, kind: Kind, value: &Range<usize>) -> bool {
        let bytes = &self.text.as_bytes()[value.clone()];
        let next = self.text.as_bytes().get(value.end);
        // `token = get_token(…)`, `password=user.password[0]`: code, the secret is elsewhere.
        let is_code = is_path(bytes) || matches!(next, Some(b'(' | b'[' | b'{'));
        let is_constant = is_constant(bytes) && !self.is_joined(value);
        if is_code || is_no_value(bytes) || is_constant {
            return false;
        }
        let in_capitals = !name.bytes().any(|b| b.is_ascii_lowercase());
        let is_said = self.text.as_bytes()[self.at] == b' ';
        match kind {
            Kind::Key => random::announced(bytes),
            Kind::Login => encoded::is_linkedin(bytes),
            Kind::Words => false,
            // A shell or `.env` assignment, or `密码：…`.
            Kind::Password if in_capitals && !is_said && self.is_variable(name, value) => {
                bytes.len() >= 4
            }
            Kind::Password if is_said && spoken::is_mine(self.text, self.from, self.at) => {
                spoken::may_be_own(self.text, value)
            }
            Kind::Password => {
                bytes.len() >= 6 && self.is_plain_password(bytes, value, is_said)
                    || is_said
                        && told::is_chosen(name, kind)
                        && told::is_told(self.text, self.from, self.at, value)
            }
            Kind::Secret => bytes.len() >= 6 && looks_random(bytes) && !(is_said && is_term(bytes)),
        }
    }

    /// Whether a name in capitals is that of a variable of a shell.
    fn is_variable(&self, name: &str, value: &Range<usize>) -> bool {
        !may_be_constant(name) || self.is_joined(value)
    }

    /// Whether no blank is between the sign `=` and the value.
    fn is_joined(&self, value: &Range<usize>) -> bool {
        self.text.as_bytes()[self.at] == b'=' && self.at + self.width == value.start
    }

    fn is_plain_password(&self, bytes: &[u8], value: &Range<usize>, is_said: bool) -> bool {
        looks_random(bytes) && !(is_said && is_term(bytes))
            || bytes.iter().all(u8::is_ascii_digit)
            || is_phrase(bytes)
            || has_sign(bytes)
            || self.is_bare_word(value)
    }

    /// `password=correct-horse` without blanks around the sign and with nothing after
    /// it that would make it an argument of code.
    fn is_bare_word(&self, value: &Range<usize>) -> bool {
        let bytes = self.text.as_bytes();
        let ends = matches!(
            bytes.get(value.end),
            None | Some(b' ' | b'\n' | b'\r' | b'\\' | b'&' | b';' | b'\'' | b'"' | b'`')
        );
        self.is_joined(value) && ends && !bytes[value.clone()].contains(&b'_')
    }
}

#[cfg(test)]
mod tests {
    use crate::redact;

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
            "DEVICE_TYPE_PASS = 0x100, AUTH_ALGO_PSK: DOT11_ALGORITHM = 7i32",
            "MasterSecret => \"CLIENT_SECRET_0\", MasterSecret => 0x0017",
            "Li4uPw== 186964",
            "--- PASS: Test_A_1 (0.00s)",
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
