//! Hashes of texts, for comparison.

/// sha256 as hex digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    ctx_store::hash(&mut &bytes[..]).expect("a slice is read without failure")
}

/// Its first digits.
pub(crate) fn short_hash(text: &str) -> String {
    hash(text.as_bytes())[..16].to_owned()
}
