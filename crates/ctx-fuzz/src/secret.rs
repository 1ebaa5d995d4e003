//! After secrets are redacted, a second pass finds none, and text without secrets is unchanged.

use ctx_redact::{MARK, redact};

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (clean, count) = redact(&text);
    assert_eq!(count == 0, clean == text, "the count is zero only for an unchanged text");
    assert!(count == 0 || clean.contains(MARK), "a removed secret leaves a mark");
    let (again, more) = redact(&clean);
    assert_eq!((again.as_ref(), more), (clean.as_ref(), 0), "a second pass finds nothing");
}
