//! The hash of a text, made where a message is read and used where it is absorbed.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::quality::RandomState;

/// One state for all: a text has the same hash in each thread. It is another one in each
/// run, so that nobody can write a session whose texts collide. No order depends on it.
static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// 64 bits that tell texts apart.
pub(crate) fn hash(text: &str) -> u64 {
    STATE.hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::hash;
    use std::collections::HashSet;

    #[test]
    fn a_text_has_one_hash_in_every_thread() {
        let elsewhere = std::thread::spawn(|| hash("src/main.rs")).join();
        assert_eq!(elsewhere.ok(), Some(hash("src/main.rs")));
    }

    #[test]
    fn other_texts_have_other_hashes() {
        let texts = ["", "a", "b", "ab", "ba", "a\0", "决", "决定"];
        let hashes: HashSet<u64> = texts.into_iter().map(hash).collect();
        assert_eq!(hashes.len(), texts.len());
    }
}
