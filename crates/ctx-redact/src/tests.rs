//! Rules that hold for all kinds of secrets.

use std::collections::HashSet;

use ctx_testkit::{assert_linear, positions, secrets};
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
    let (text, count) =
        redact("export OPENAI_API_KEY=sk-aB3dE5gH7jK9mN1pQ3 && curl postgres://app:s3cret@db/x");
    assert_eq!(count, 2);
    assert_eq!(text, "export OPENAI_API_KEY=[REDACTED] && curl postgres://app:[REDACTED]@db/x");
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
        "my passphrase is correct horse ",
        "password was set to ",
        "\\u0070",
        "\\",
        "ghp_aB3dE5gH\n",
        "htpasswd -b ",
        "the login is bob / ",
        "password — ",
        "Z2hwX2FC",
        "user,password\nbob,swordfish\n",
        "| password |\n",
        "(a,password) VALUES ('",
        "password\t",
        "password  a",
        "Winter2024!",
        "password:\n  ",
        "<key>password</key>\n",
        "\"value\": \"a1\", ",
        "default = ",
        "\u{200b}",
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

/// Joins two parts, so that this file contains no secret.
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
        glued("MTk4NjIyNDgzNDcxOTI1MjQ4", &format!(".Cl2FMQ.{}", &random[..27])),
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
fn every_kind_of_secret_goes_at_every_place() {
    let secrets = secrets();
    let kinds: HashSet<&str> = secrets.iter().map(|secret| secret.kind).collect();
    assert!(kinds.len() >= 54 && kinds.len() == secrets.len());
    let mut seen = Vec::new();
    for planted in &secrets {
        for (place, text) in positions(&planted.text) {
            let (clean, count) = redact(&text);
            // The beginning of the secret must not remain either.
            let head = &planted.secret[..planted.secret.len().min(24)];
            if count == 0 || clean.contains(head) || !clean.contains(MARK) {
                seen.push(format!("{}, {place}: {clean}", planted.kind));
            }
        }
    }
    assert!(seen.is_empty(), "{} seen:\n{}", seen.len(), seen.join("\n"));
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
                "user,password\n", "bob,Winter$2024x\n", "\t", "|", ",", "Winter$2024x", "  ", "\u{200b}", "ｐ", "\\x70",
                "(a,password) VALUES (", "'x', 'y1')", "</key>", "<string>", "value", "default", "--password",
                " is ", "是", "--token ", "-u ", "key", "sig=", "&", "12345678", "hooks.slack.com/services/",
                "\\u0070", "\\u005b", "\\/", "ghp_aB3dE5gH7jK9", "cGFzc3dvcmQ6IGh1bnRlcjJ4", " as the pw",
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
