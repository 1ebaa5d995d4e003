//! Secrets of all kinds at all places of a session.

use std::collections::HashSet;

use ctx_redact::{MARK, redact};
use ctx_testkit::{positions, secrets};

/// D13: of 54 kinds, some were neither found in prose nor in a file nor on a command line.
#[test]
fn every_kind_of_secret_goes_at_every_place() {
    let secrets = secrets();
    let kinds: HashSet<&str> = secrets.iter().map(|secret| secret.kind).collect();
    assert!(kinds.len() >= 54 && kinds.len() == secrets.len());
    let mut seen = Vec::new();
    for planted in &secrets {
        for (place, text) in positions(&planted.text) {
            let (clean, count) = redact(&text);
            // Also not a part of it.
            let head = &planted.secret[..planted.secret.len().min(24)];
            if count == 0 || clean.contains(head) || !clean.contains(MARK) {
                seen.push(format!("{}, {place}: {clean}", planted.kind));
            }
        }
    }
    assert!(seen.is_empty(), "{} seen:\n{}", seen.len(), seen.join("\n"));
}
