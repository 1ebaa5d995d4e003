//! Secrets out of text, at the border where text leaves the session: what is
//! sent to a model, what is written into a summary.
//!
//! Rules are for values that say by their form what they are; a rule never
//! fails and never stops the work. Each find is replaced by `[redacted:KIND]`
//! and counted; the count is all that is told.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Text without secrets, and how many of which kind were in it.
#[derive(Debug)]
pub struct Redacted<'a> {
    /// The text; borrowed if nothing was found.
    pub text: Cow<'a, str>,
    /// Finds by kind.
    pub found: Counts,
}

/// Finds by kind, summed over many texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// All finds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Kind and number, by kind.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Adds another text's finds.
    pub fn add(&mut self, other: &Self) {
        for (kind, count) in other.iter() {
            *self.0.entry(kind).or_default() += count;
        }
    }
}

struct Rule {
    kind: &'static str,
    /// The first group that matched is replaced; without one, the whole match.
    pattern: &'static str,
    /// What a match must be besides.
    is_secret: fn(&str) -> bool,
}

/// In this order: a rule that knows more comes before one that would take the
/// same text under a vaguer name.
const RULES: [Rule; 16] = [
    Rule {
        kind: "private-key",
        pattern: r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
        is_secret: always,
    },
    Rule {
        kind: "jwt",
        pattern: r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        is_secret: always,
    },
    Rule {
        kind: "api-key",
        pattern: r"\bsk-[A-Za-z0-9_-]{20,}",
        is_secret: is_mixed,
    },
    Rule {
        kind: "github-token",
        pattern: r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        is_secret: always,
    },
    Rule {
        kind: "gitlab-token",
        pattern: r"\bglpat-[A-Za-z0-9_-]{20,}",
        is_secret: always,
    },
    Rule {
        kind: "aws-key-id",
        pattern: r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        is_secret: always,
    },
    Rule {
        kind: "slack-token",
        pattern: r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        is_secret: has_digit,
    },
    Rule {
        kind: "google-key",
        pattern: r"\bAIza[A-Za-z0-9_-]{35}",
        is_secret: always,
    },
    Rule {
        kind: "stripe-key",
        pattern: r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
        is_secret: always,
    },
    Rule {
        kind: "huggingface-token",
        pattern: r"\bhf_[A-Za-z0-9]{30,}",
        is_secret: always,
    },
    Rule {
        kind: "npm-token",
        pattern: r"\bnpm_[A-Za-z0-9]{36}\b",
        is_secret: always,
    },
    Rule {
        kind: "pypi-token",
        pattern: r"\bpypi-[A-Za-z0-9_-]{50,}",
        is_secret: always,
    },
    Rule {
        kind: "bearer-token",
        pattern: r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)",
        is_secret: has_digit,
    },
    Rule {
        kind: "url-password",
        pattern: r#"\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]+:([^\s/@"'<>]+)@"#,
        is_secret: is_value,
    },
    Rule {
        kind: "password",
        pattern: r#"(?i)\b[A-Z0-9_.-]*(?:password|passwd|passphrase)(?:\\?["'])?\s*(?:[=:]\s*\\?(?:"([^"\\\n]{4,})|'([^'\\\n]{4,}))|=\s*([^\s"'\\,;&<>(){}\[\]]{4,}))"#,
        is_secret: is_value,
    },
    Rule {
        kind: "secret",
        pattern: r#"(?i)\b[A-Z0-9_.-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|account[_-]?key)(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?([A-Z0-9_+/.~!@#%^*-]{8,}=*)"#,
        is_secret: is_mixed,
    },
];

static COMPILED: LazyLock<Vec<(Regex, &'static Rule)>> = LazyLock::new(|| {
    RULES
        .iter()
        // A rule that does not compile fails the test below, not the user's call.
        .filter_map(|rule| Some((Regex::new(rule.pattern).ok()?, rule)))
        .collect()
});

/// Takes the secrets out of `text`.
pub fn redact(text: &str) -> Redacted<'_> {
    let mut found = Counts::default();
    let mut clean = Cow::Borrowed(text);
    for (regex, rule) in COMPILED.iter() {
        let mut count = 0;
        let replaced = regex.replace_all(&clean, |captures: &Captures<'_>| {
            let (kept, shown) = replace(captures, rule);
            count += u64::from(shown);
            kept
        });
        if count > 0 {
            clean = Cow::Owned(replaced.into_owned());
            *found.0.entry(rule.kind).or_default() += count;
        }
    }
    Redacted { text: clean, found }
}

fn replace(captures: &Captures<'_>, rule: &Rule) -> (String, bool) {
    let whole = &captures[0];
    let start = captures.get(0).map_or(0, |found| found.start());
    let group = captures.iter().skip(1).flatten().next();
    let secret = group.map_or(0..whole.len(), |found| {
        found.start() - start..found.end() - start
    });
    if !(rule.is_secret)(&whole[secret.clone()]) {
        return (whole.to_owned(), false);
    }
    let before = &whole[..secret.start];
    let after = &whole[secret.end..];
    (format!("{before}[redacted:{}]{after}", rule.kind), true)
}

fn always(_: &str) -> bool {
    true
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
}

/// Letters and digits together, and no name, path or version: random text, not
/// a word of a program.
fn is_mixed(text: &str) -> bool {
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    letters >= 2 && digits >= 2 && is_value(text) && !text.starts_with(['/', '.', '~'])
}

/// Not a placeholder, a type, a variable or something taken out already.
fn is_value(text: &str) -> bool {
    const WORDS: [&str; 20] = [
        "string",
        "str",
        "text",
        "bytes",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "optional",
        "required",
        "password",
        "passwd",
        "secret",
        "token",
        "changeme",
        "redacted",
        "example",
        "process.env",
    ];
    let lower = text.to_ascii_lowercase();
    let stands_for_another = lower.starts_with(['$', '%', '*', '{', '['])
        || lower.starts_with("os.")
        || lower.starts_with("env.")
        || lower.starts_with("process.")
        || lower.starts_with("self.")
        || lower.starts_with("redacted");
    !stands_for_another
        && !WORDS.contains(&lower.as_str())
        && !lower
            .bytes()
            .all(|b| matches!(b, b'x' | b'*' | b'.' | b'-' | b'_' | b'#'))
}

#[cfg(test)]
mod tests {
    use super::{COMPILED, RULES, redact};

    fn clean(text: &str) -> String {
        redact(text).text.into_owned()
    }

    #[test]
    fn every_rule_compiles() {
        assert_eq!(COMPILED.len(), RULES.len());
    }

    #[test]
    fn known_forms_are_taken_out() {
        for (kind, secret) in [
            ("api-key", "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8t"),
            ("api-key", "sk-ant-api03-Ab3dEf6hIj9kLm2nOp5q_Rs8t-AA"),
            ("github-token", "ghp_0123456789abcdefghijABCDEFGHIJ456789"),
            ("github-token", "github_pat_11ABCDEFG0123456789_abcdefghij"),
            ("gitlab-token", "glpat-abcdEFGH1234ijklMNOP"),
            ("aws-key-id", "AKIAIOSFODNN7EXAMPLE"),
            ("slack-token", "xoxb-123456789012-abcdefGHIJKL"),
            ("google-key", "AIzaSyA1234567890abcdefghijklmnopqrstuv"),
            ("stripe-key", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"),
            ("huggingface-token", "hf_abcdefghijklmnopqrstuvwxyzABCDEF"),
            ("npm-token", "npm_abcdefghijklmnopqrstuvwxyz0123456789"),
            (
                "jwt",
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
            ),
        ] {
            assert_eq!(
                clean(&format!("use {secret}, please")),
                format!("use [redacted:{kind}], please"),
                "{secret}"
            );
        }
    }

    #[test]
    fn private_keys_go_whole_even_when_cut() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----";
        assert_eq!(clean(&format!("a {key} b")), "a [redacted:private-key] b");
        let escaped = r"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----";
        assert_eq!(clean(escaped), "[redacted:private-key]");
        assert_eq!(
            clean("x -----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl…"),
            "x [redacted:private-key]"
        );
        let public = "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----";
        assert_eq!(clean(public), public);
    }

    #[test]
    fn named_values_lose_the_value_only() {
        for (text, shown) in [
            ("password=hunter2", "password=[redacted:password]"),
            (
                "PGPASSWORD='s3cr et' psql",
                "PGPASSWORD='[redacted:password]' psql",
            ),
            (
                "DB_PASSWORD=\"s3cret!\" x",
                "DB_PASSWORD=\"[redacted:password]\" x",
            ),
            (
                r#"{"password": "correcthorse"}"#,
                r#"{"password": "[redacted:password]"}"#,
            ),
            (
                r#"{\"password\":\"correcthorse\"}"#,
                r#"{\"password\":\"[redacted:password]\"}"#,
            ),
            ("token: a1b2c3d4e5", "token: [redacted:secret]"),
            (
                "export API_KEY=zz99yy88xx77",
                "export API_KEY=[redacted:secret]",
            ),
            (
                "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY12",
                "AWS_SECRET_ACCESS_KEY=[redacted:secret]",
            ),
            (
                "Authorization: Bearer abcdef0123456789abcdef",
                "Authorization: Bearer [redacted:bearer-token]",
            ),
            (
                "postgres://me:pa55@db.local/x",
                "postgres://me:[redacted:url-password]@db.local/x",
            ),
        ] {
            assert_eq!(clean(text), shown, "{text}");
        }
    }

    #[test]
    fn look_alikes_stay() {
        for text in [
            "task-1234567890abcdefghij0",
            "the sk-learn-like-interface-of-this-package",
            "max_tokens=4096",
            "tokens: 1234567890",
            "token: the next word of the text",
            "password: string",
            r#"{"password": "string", "token": "string"}"#,
            "password = os.environ[\"DB_PASSWORD\"]",
            "password=$DB_PASSWORD",
            "password=********",
            "token = next_token(stream)",
            "token=<your token>",
            "secret: see docs/secrets.md",
            "a bearer of good news and long_winded_identifiers",
            "http://localhost:8080/a@b",
            "git@github.com:owner/repo.git",
            "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "AKIA is the prefix",
            "eyJ is how a JWT begins",
            "我的密码忘了",
        ] {
            let redacted = redact(text);
            assert_eq!(redacted.text, text);
            assert_eq!(redacted.found.total(), 0, "{text}");
        }
    }

    #[test]
    fn finds_are_counted_by_kind() {
        let mut counts = redact("password=hunter2 AKIAIOSFODNN7EXAMPLE").found;
        counts.add(&redact("AKIAIOSFODNN7EXAMPLX").found);
        let counted: Vec<_> = counts.iter().collect();
        assert_eq!(counted, [("aws-key-id", 2), ("password", 1)]);
        assert_eq!(counts.total(), 3);
    }

    #[test]
    fn redacting_twice_changes_nothing() {
        let once = clean("password=hunter2 token: a1b2c3d4e5 sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8t");
        assert_eq!(clean(&once), once);
    }
}
