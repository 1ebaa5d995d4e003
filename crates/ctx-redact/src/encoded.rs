//! Secrets in base64: a user with a password, a private key.

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::{DecodePaddingMode, GeneralPurpose};

/// With padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The longest login that is decoded, in bytes.
const LOGIN_MAX: usize = 256;

/// Whether a value is `user:password`, as in `"auth"` of Docker and `_auth` of npm.
pub(super) fn is_linkedin(value: &[u8]) -> bool {
    if !(8..=LOGIN_MAX).contains(&value.len()) {
        return false;
    }
    let text = BASE64.decode(value).unwrap_or_default();
    let colon = text.iter().position(|b| *b == b':');
    colon.is_some_and(|colon| colon > 0 && colon + 1 < text.len())
        && text.iter().all(|b| b.is_ascii_graphic() || *b == b' ')
}

/// Whether what begins so is a private key in its frame; a certificate is none.
pub(super) fn begins_private_key(value: &[u8]) -> bool {
    let text = BASE64.decode(value).unwrap_or_default();
    text.windows(11).any(|part| part == b"PRIVATE KEY")
}

/// The number of a user of Discord, with which the token of a bot begins.
pub(super) fn is_number(value: &[u8]) -> bool {
    let text = BASE64.decode(value).unwrap_or_default();
    text.len() >= 17 && text.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    /// D13: a key was not seen through base64.
    #[test]
    fn encoded_secrets_go() {
        let key = [
            "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpN",
            &"SUlFcEFJQkFBS0NBUUVB".repeat(40),
        ]
        .concat();
        for (text, clean) in [
            (
                format!("client-key-data: {key}\nx: 1"),
                "client-key-data: [REDACTED]\nx: 1",
            ),
            (format!("tls.key: {key}==\n"), "tls.key: [REDACTED]\n"),
            (
                format!("it printed {key} there"),
                "it printed [REDACTED] there",
            ),
            // As base64 writes files.
            (
                format!("{}\n{}\n{}\n$", &key[..76], &key[76..152], &key[152..170]),
                "[REDACTED]\n$",
            ),
            (
                r#"{"auth": "bWU6c3dvcmRmaXNo"}"#.to_owned(),
                r#"{"auth": "[REDACTED]"}"#,
            ),
            (
                "//registry.example/:_auth=bWU6c3dvcmRmaXNo".to_owned(),
                "//registry.example/:_auth=[REDACTED]",
            ),
        ] {
            assert_eq!(redact(&text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_encoded_text_stays() {
        let certificate = [
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1J",
            &"SUN0ekNDQVo4".repeat(40),
        ]
        .concat();
        for text in [
            format!("client-certificate-data: {certificate}"),
            "auth: required, \"auth\": \"dGVzdA==\", auth=oauth2login".to_owned(),
        ] {
            assert_eq!(redact(&text), (text.as_str().into(), 0));
        }
    }
}
