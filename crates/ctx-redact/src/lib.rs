//! Secrets out of text, before it goes into a summary, a memory file or a request.
//!
//! A scan by hand, not a set of patterns: it runs over every text that leaves a
//! session, also in tools that must start in a few milliseconds. It knows keys by
//! their prefix (`keys`), values by the name before them (`named`), and random strings
//! by their characters (`random`).
//! It is a net, not a proof: a secret that looks like prose passes.

use std::borrow::Cow;
use std::ops::Range;

mod keys;
mod named;
mod random;
mod table;

/// What stands where a secret was.
pub const MARK: &str = "[REDACTED]";

/// The text without its secrets, and how many were taken out.
///
/// A second run over the result finds nothing.
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    let mut count = 0;
    let mut result = Cow::Borrowed(text);
    // A mark can make visible what was hidden before (a key that was glued to
    // another one), so this goes on until nothing is found. It ends: every
    // replacement takes away at least one character that no mark gave.
    while let Some((shorter, found)) = pass(&result) {
        result = Cow::Owned(shorter);
        count += found;
    }
    (result, count)
}

/// One scan from left to right; `None` when there is nothing to take out.
fn pass(text: &str) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    let mut result = String::new();
    let mut count = 0;
    // Nothing looks back beyond what is copied.
    let (mut copied, mut at) = (0, 0);
    // Where a flag may begin.
    let mut dashes = None;
    while at < bytes.len() {
        let start = at;
        at += 1;
        let found = if is_word(bytes[start]) {
            let end = at + run(&bytes[at..], is_word);
            // Nothing begins inside a word, but behind the letter of an escape.
            if start == 0 || bytes[start - 1] != b'\\' {
                at = end;
            }
            word(text, copied, start..end)
        } else {
            if bytes[start..].starts_with(b"--") {
                dashes = Some(start);
            }
            let may_be_flag = dashes.is_some_and(|dashes| start - dashes <= named::NAME_MAX);
            sign(text, copied, start, may_be_flag)
        };
        if let Some(range) = found.filter(|range| range.start >= copied) {
            result.push_str(&text[copied..range.start]);
            result.push_str(MARK);
            count += 1;
            copied = range.end;
            at = range.end;
        }
    }
    if count == 0 {
        return None;
    }
    result.push_str(&text[copied..]);
    Some((result, count))
}

/// The secret that begins with a word; `from` is where the text begins that is not yet
/// copied.
fn word(text: &str, from: usize, word: Range<usize>) -> Option<Range<usize>> {
    let (bytes, at) = (text.as_bytes(), word.start);
    let scheme = matches!(bytes[at], b'B' | b'b');
    // Most words end at once.
    let may_be_key = keys::may_begin(bytes, word);
    if !(scheme || may_be_key) || bytes[at] == b'_' || !starts_word(bytes, from, at) {
        return None;
    }
    let bearer = scheme.then(|| named::bearer(text, at)).flatten();
    if bearer.is_some() || !may_be_key {
        return bearer;
    }
    keys::prefixed(text, at)
        .or_else(|| keys::discord(text, at))
        .or_else(|| random::alone(text, from, at))
}

/// The secret that the sign at `at` announces.
fn sign(text: &str, from: usize, at: usize, may_be_flag: bool) -> Option<Range<usize>> {
    match text.as_bytes()[at] {
        b'-' => keys::private_key(text, at),
        b'=' => named::assigned(text, from, at, 1).or_else(|| named::signature(text, from, at)),
        b':' => named::url_password(text, at)
            .or_else(|| keys::telegram(text, from, at))
            .or_else(|| named::login(text, from, at))
            .or_else(|| named::assigned(text, from, at, 1)),
        b' ' => {
            let flagged = || named::flagged(text, from, at);
            said(text, from, at, " is ").or_else(|| may_be_flag.then(flagged).flatten())
        }
        // The first bytes of the fullwidth colon, of 是 and of 为.
        0xEF => said(text, from, at, "：").or_else(|| said(text, from, at, "＝")),
        0xE6 => said(text, from, at, "是"),
        0xE4 => said(text, from, at, "为"),
        _ => None,
    }
}

/// The value behind a word that joins it to its name.
fn said(text: &str, from: usize, at: usize, word: &str) -> Option<Range<usize>> {
    if !text.as_bytes()[at..].starts_with(word.as_bytes()) {
        return None;
    }
    named::assigned(text, from, at, word.len())
}

/// A dash is part of a word here, so that every run of `sk-sk-…` is looked at once;
/// the letter of an escape (`\n` in quoted text) is not.
fn starts_word(bytes: &[u8], from: usize, at: usize) -> bool {
    if at == from {
        return true;
    }
    let before = bytes[at - 1];
    let is_escape =
        matches!(before, b'n' | b'r' | b't') && at - from >= 2 && bytes[at - 2] == b'\\';
    is_escape || !(is_word(before) || before == b'-')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the run of bytes that `wanted` accepts.
fn run(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|byte| !wanted(*byte));
    end.unwrap_or(bytes.len())
}

/// Length of such a run at the end, up to `most`.
fn run_back(bytes: &[u8], most: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let last = bytes.iter().rev().take(most);
    last.take_while(|byte| wanted(**byte)).count()
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;
    use proptest::prelude::*;

    use super::{MARK, redact};

    #[test]
    fn text_without_secrets_is_borrowed() {
        let (text, count) = redact("nothing here: just 3 words");
        assert!(matches!(text, std::borrow::Cow::Borrowed(_)));
        assert_eq!(count, 0);
    }

    #[test]
    fn all_secrets_of_a_text_are_counted() {
        let (text, count) = redact(
            "export OPENAI_API_KEY=sk-aB3dE5gH7jK9mN1pQ3 && curl postgres://app:s3cret@db/x",
        );
        assert_eq!(count, 2);
        assert_eq!(
            text,
            "export OPENAI_API_KEY=[REDACTED] && curl postgres://app:[REDACTED]@db/x"
        );
    }

    #[test]
    fn a_key_glued_to_another_goes_too() {
        let (text, count) = redact("AKIAABCDEFGHIJKLMNOP.AKIAABCDEFGHIJKLMNOP");
        assert_eq!((text.as_ref(), count), ("[REDACTED].[REDACTED]", 2));
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        let pieces = [
            "sk-",
            "token=",
            "-----BEGIN PRIVATE KEY-----",
            "eyJ.",
            "password='",
            "://a:",
            "Bearer ",
            " =",
            "12345678:",
            "--key ",
            "-u a:",
            "是",
            "aB3/",
            "AKIAABCDEFGHIJKLMNOP",
            "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.",
            "\\n",
        ];
        for piece in pieces {
            assert_linear(piece, |text| {
                redact(text);
            });
        }
        for first in pieces {
            for second in ["x", "@", "\"", "password: ", "aB3dE5gH7jK9mN1pQ3sT"] {
                let piece = [first, second].concat();
                assert_linear(&piece, |text| {
                    assert!(redact(text).0.len() <= 10 * text.len());
                });
            }
        }
    }

    /// What `left` and `right` make together: no secret stands whole in this file.
    fn glued(left: &str, right: &str) -> String {
        [left, right].concat()
    }

    #[test]
    fn every_kind_of_secret_goes() {
        let random = "aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC3dE5fG7hI9";
        let hex = "9f86d081884c7d659a2feaa0c55ad015";
        let secrets = [
            glued("AKIA", "QWERTY7UIOP3ASDF"),
            glued("ghp_", &random[..36]),
            glued("github_pat_11ABCDEFG0", &random[..40]),
            glued("glpat-", &random[..20]),
            glued("xoxb-1234567890-1234567890-", &random[..24]),
            glued("xapp-1-A0123BCDEF-1234567890-", &hex.repeat(2)),
            glued("sk_live_", &random[..24]),
            glued("rk_test_", &random[..24]),
            glued("whsec_", &random[..32]),
            glued("sk-proj-", &random[..40]),
            glued("sk-ant-api03-", &random[..40]),
            glued("AIza", &random[..35]),
            glued("GOCSPX-", &random[..28]),
            glued("ya29.", &random[..40]),
            glued("npm_", &random[..36]),
            glued("pypi-AgEIcHlwaS5vcmc", &random[..40]),
            glued("hf_", &random[..34]),
            glued("SG.", &format!("{}.{}A", &random[..22], random)),
            glued("SK", hex),
            glued("123456789:AA", &random[..33]),
            glued(
                "MTk4NjIyNDgzNDcxOTI1MjQ4",
                &format!(".Cl2FMQ.{}", &random[..27]),
            ),
            glued("dop_v1_", &hex.repeat(2)),
            glued("shpat_", hex),
            glued("hvs.", &random[..28]),
            glued("gsk_", &random[..40]),
        ];
        for secret in secrets {
            for text in [
                format!("use {secret} for it"),
                format!("{{\"a\":\"{secret}\"}}"),
                format!(r"KEY\n{secret}\n"),
                format!("（{secret}）"),
                format!("NAME={secret}"),
            ] {
                let (clean, count) = redact(&text);
                assert!(count == 1 && !clean.contains(&secret), "{text}: {clean}");
                assert!(clean.contains(MARK), "{clean}");
            }
        }
    }

    #[test]
    fn every_frame_of_a_secret_is_known() {
        let value = glued("q9X4fKpTz81m", "WvB7nRc2LdYs6HgJ3e");
        let signature = glued("%2Bq9X4fKpTz81mWvB7nRc2LdYs6HgJ3e", "Qa0UiO%3D");
        let word = glued("correct-", "horse-battery");
        for text in [
            format!("https://hooks.slack.com/services/T01234567/B01234567/{value}"),
            format!("https://discord.com/api/webhooks/123456789012345678/{value}{value}"),
            format!("AccountName=a;AccountKey={value}{value}==;EndpointSuffix=core.windows.net"),
            format!("https://a.blob.core.windows.net/c?sv=2022&sig={value}{signature}"),
            format!("Endpoint=sb://a/;SharedAccessKey={value}="),
            format!("https://s3.amazonaws.com/b?X-Amz-Signature={value}"),
            format!("postgres://app:{value}@db.local:5432/x"),
            format!("mysql://root:p@{value}@127.0.0.1/x"),
            format!("Authorization: Basic {value}"),
            format!("authorization: token {value}").replace("token ", "Bearer "),
            format!("curl -u admin:{value} http://a"),
            format!("curl --user \"admin:{value}\" http://a"),
            format!("login --password {value}"),
            format!("vault --api-key={value}"),
            format!("TWILIO_AUTH_TOKEN={value}"),
            format!("\"api_key\": \"{value}\""),
            format!("{{\\\"apiKey\\\":\\\"{value}\\\"}}"),
            format!("encryption_key: {value}"),
            format!("\"session_key\":\"{value}\""),
            format!("DB_PASSWORD={value}"),
            format!("password={value}&user=a"),
            format!("密码：{value}。"),
            format!("密码是{value}，记住"),
            format!("数据库口令为 {value}"),
            format!("my password is {value}."),
        ] {
            let (clean, count) = redact(&text);
            assert!(count > 0 && !clean.contains(&value), "{text}: {clean}");
        }
        for text in [
            format!("PASSWORD={word}\n"),
            format!("password={word}"),
            format!("--password '{word}'"),
            format!("\"password\":\"{word}\""),
            format!("密码：{word}"),
        ] {
            assert!(!redact(&text).0.contains(&word), "{text}");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "commit 3f786850e387550fdab836ed7e6dc881de23001b (HEAD -> main)",
            "cache_key: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "key: value, keys: a and b, primary_key=user_id, sort key = created_at",
            "public_key: aB3dE5gH7jK9mN1pQ3sT5uV7wX9yZ1bC",
            "\"sessionId\":\"550e8400-e29b-41d4-a716-446655440000\"",
            "torch==2.1.0+cu121, react@18.2.0, v1.2.3-rc.1",
            "client(api_key=api_key, token=token)",
            "password is required; the token is invalid; 密码是必填项",
            "docker run -u 1000:1000 image, rsync --key value",
            "login(user=user, password=new_password)",
            "\"error\": \"Password must have at least eight characters\"",
            "time 12:34:56, ratio 16:9, localhost:8080, 1700000000:ok",
            "/usr/lib/python3.11/site-packages/pip/_internal/utils/Misc2.py",
            "KeyError: 'sk-learn-contrib' in max_tokens=500",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    proptest! {
        #[test]
        fn a_second_run_finds_nothing(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "password", "token", "API_KEY", "密码", "=", ":", "：", " ", "\"", "\\\"", "'", "\n",
                    "sk-", "sk-ant-", "ghp_", "AKIA", "eyJ", ".", "://", "@", "user", "Bearer ",
                    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "[", "]", "[REDACTED]", "$", "(",
                    "hunter2x", "aB3dE5gH7jK9mN1pQ3sT", "ABCDEFGHIJKLMNO7", "5", "é", "决定", "/", ",",
                    "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnygWyF8PbnGy0AHB7MaXGmXQ",
                    " is ", "是", "--token ", "-u ", "key", "sig=", "&", "12345678", "hooks.slack.com/services/",
                    "SG.", "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.", "\\n", "q9X4fKpTz81mWvB7nRc2LdYs6HgJ3eQa0UiOx5",
                ]),
                0..14,
            )
        ) {
            let text = pieces.concat();
            let (once, count) = redact(&text);
            let (twice, again) = redact(&once);
            prop_assert_eq!(again, 0);
            prop_assert_eq!(&once, &twice);
            prop_assert!(once.matches(MARK).count() <= count + text.matches(MARK).count());
        }

        #[test]
        fn any_text_is_taken(text in "\\PC{0,200}") {
            let (clean, count) = redact(&text);
            prop_assert_eq!(count == 0, clean == text);
        }
    }
}
