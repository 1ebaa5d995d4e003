//! Private keys in their frame: PEM, OpenSSH, PGP, `PuTTY`.

use std::ops::Range;

use super::run;

const BEGIN: &[u8] = b"-----BEGIN ";
const KEY: &[u8] = b"PRIVATE KEY-----";
const END: &[u8] = b"-----END ";
const PGP: &[u8] = b"PGP PRIVATE KEY BLOCK-----";

/// A private key in its frame; also one whose end was cut off.
pub(super) fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let label = bytes[at..].strip_prefix(BEGIN)?;
    let body_at = at + BEGIN.len() + label_end(label)?;
    let body = &bytes[body_at..];
    // Base64 and line ends, real ones or `\n` in quoted text, and the two
    // header lines of an encrypted key; five dashes are the next frame.
    let mut length = 0;
    loop {
        length += run(&body[length..], |b| {
            b.is_ascii_alphanumeric() || b"+/=\\:, \r\n\t".contains(&b)
        });
        if body.get(length) != Some(&b'-') || body[length..].starts_with(b"-----") {
            break;
        }
        length += 1;
    }
    // Prose and code that only speak of the frame hold no key.
    let holds_key = body[..length]
        .split(|b| !(b.is_ascii_alphanumeric() || b"+/=".contains(b)))
        .any(|line| line.len() >= 32);
    if !holds_key {
        return None;
    }
    let mut end = body_at + length;
    if let Some(length) = bytes[end..].strip_prefix(END).and_then(label_end) {
        end += END.len() + length;
    }
    Some(at..end)
}

/// Length of `RSA PRIVATE KEY-----` and its like.
fn label_end(label: &[u8]) -> Option<usize> {
    label
        .windows(KEY.len())
        .take(20)
        .position(|window| window == KEY)
        .map(|start| start + KEY.len())
        .or_else(|| label.starts_with(PGP).then_some(PGP.len()))
}

/// The key in a file of `PuTTY`, whose name stands before the colon at `at`.
pub(super) fn putty(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if !bytes[from..at].ends_with(b"Private-Lines") {
        return None;
    }
    let lines = run(&bytes[at + 1..], |b| b.is_ascii_digit() || b == b' ');
    let start = at + 1 + lines;
    let body = run(&bytes[start..], |b| {
        b.is_ascii_alphanumeric() || b"+/=\\ \r\n".contains(&b)
    });
    let holds_key = bytes[start..start + body]
        .split(|b| !(b.is_ascii_alphanumeric() || b"+/=".contains(b)))
        .any(|line| line.len() >= 32);
    (lines > 0 && holds_key).then(|| start..start + body)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn private_keys_go_whole() {
        let body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnygWyF8PbnGy0AHB7MaXGmXQ+/abcdefgh";
        for text in [
            format!("-----BEGIN PRIVATE KEY-----\n{body}\n{body}\n-----END PRIVATE KEY-----"),
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{body}\n-----END RSA PRIVATE KEY-----"
            ),
            format!(
                "-----BEGIN OPENSSH PRIVATE KEY-----\\n{body}\\n-----END OPENSSH PRIVATE KEY-----"
            ),
            format!("-----BEGIN EC PRIVATE KEY-----\n{body}\n{body}"),
        ] {
            let framed = format!("a\"{text}\"z");
            assert_eq!(redact(&framed), ("a\"[REDACTED]\"z".into(), 1), "{text}");
        }
    }

    #[test]
    fn talk_about_private_keys_stays() {
        for text in [
            "if line.startswith('-----BEGIN PRIVATE KEY-----'):",
            "-----BEGIN PRIVATE KEY----- is the first line of such a file",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
            "----- a rule -----",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }

    #[test]
    fn a_key_of_putty_goes() {
        let line = "AAAAIQCqGKukO1De7zhZj6EXAMPLEAMPLEkkWmPq";
        let text = format!("Private-Lines: 2\n{line}\n{line}");
        assert_eq!(redact(&text), ("Private-Lines: 2[REDACTED]".into(), 1));
    }
}
