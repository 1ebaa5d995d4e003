//! Hashes that are stored and compared with those of a later run.

/// The SHA-256 in hexadecimal.
pub(super) fn hash(bytes: &[u8]) -> String {
    ctx_store::hash(&mut &bytes[..]).expect("reading from memory does not fail")
}

/// The first 16 digits of the SHA-256.
pub(super) fn short_hash(text: &str) -> String {
    hash(text.as_bytes())[..16].to_owned()
}
