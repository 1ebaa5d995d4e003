//! Hashes that distinguish texts within one run of a program.
//!
//! Hashes that are written to disk are SHA-256 and belong to their writers.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::LazyLock;

use foldhash::quality::RandomState;

/// All threads share one state, so a text has the same hash in each of them. The state differs in
/// every run, so that nobody can make a session whose hashes collide. No order may depend on these
/// hashes.
static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Returns a 64-bit hash.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    STATE.hash_one(value)
}

/// Returns a hash that ignores case, without a lower-case copy of the text.
pub fn hash_lowercase(text: &str) -> u64 {
    let mut hasher = STATE.build_hasher();
    for c in text.chars().flat_map(char::to_lowercase) {
        hasher.write_u32(u32::from(c));
    }
    // The hasher pads with zeros, which a text may also end with.
    hasher.write_u32(u32::MAX);
    hasher.finish()
}

/// Returns one hash for two, depending on their order.
pub fn hash_pair(first: u64, second: u64) -> u64 {
    STATE.hash_one((first, second))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{hash, hash_lowercase, hash_pair};

    #[test]
    fn a_text_has_one_hash_in_every_thread() {
        let elsewhere = std::thread::spawn(|| hash("src/main.rs")).join();
        assert_eq!(elsewhere.ok(), Some(hash("src/main.rs")));
    }

    #[test]
    fn different_texts_have_different_hashes() {
        let texts = ["", "a", "b", "ab", "ba", "a\0", "决", "决定"];
        assert_eq!(texts.into_iter().map(hash).collect::<HashSet<_>>().len(), texts.len());
        let texts = texts.into_iter().map(hash_lowercase);
        assert_eq!(texts.collect::<HashSet<_>>().len(), 8);
        assert_eq!(hash_lowercase("StraßE 决"), hash_lowercase("sTRAße 决"));
        assert_ne!(hash_pair(1, 2), hash_pair(2, 1));
    }
}
