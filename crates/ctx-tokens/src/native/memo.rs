//! How many tokens the pieces have that were merged last.
//!
//! Texts repeat their names and words. A piece that was merged a moment ago is
//! looked up here instead, by all of its bytes, so that no count can be wrong.
//! Each thread has its own memory, which is not allocated before its first merge.

use std::cell::RefCell;

use super::vocabulary::eight_bytes;

/// Longer pieces are merged each time.
const LONGEST: usize = 24;

/// A power of two; each is 32 bytes.
const PLACES: usize = 1 << 14;

/// The bytes of a piece, padded with zeros; then its length and how many tokens it has.
type Entry = [u64; 4];

/// The counts of one vocabulary.
#[derive(Default)]
pub(crate) struct Memo {
    entries: Vec<Entry>,
    /// Keys of short tokens. The table of them is too large to stay close to the
    /// processor; the few that most of a text is made of fit in here.
    keys: Vec<u64>,
}

/// A power of two; each is 8 bytes.
const KEYS: usize = 1 << 13;

thread_local! {
    static MEMOS: RefCell<[Memo; 2]> = const { RefCell::new([Memo::new(), Memo::new()]) };
}

impl Memo {
    const fn new() -> Self {
        Self {
            entries: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Whether the piece with this key is a token; `look_up` says it where it is not known.
    #[inline(always)]
    pub(crate) fn is_token(&mut self, key: u64, look_up: impl FnOnce() -> bool) -> bool {
        if self.keys.is_empty() {
            self.keys = vec![0; KEYS];
        }
        let place = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - KEYS.trailing_zeros());
        let known = &mut self.keys[place as usize];
        if *known == key {
            return true;
        }
        let is_token = look_up();
        if is_token {
            *known = key;
        }
        is_token
    }

    /// Calls `use_it` with this thread's memo of vocabulary `number`.
    pub(crate) fn with<T>(number: usize, use_it: impl FnOnce(&mut Self) -> T) -> T {
        MEMOS.with_borrow_mut(|memos| use_it(&mut memos[number]))
    }

    /// The number of tokens of the piece `text[start..end]`; `count` finds it
    /// where it is not known.
    #[inline(always)]
    pub(crate) fn tokens(
        &mut self,
        text: &[u8],
        start: usize,
        end: usize,
        count: impl FnOnce(&[u8]) -> usize,
    ) -> u64 {
        let length = end - start;
        if length > LONGEST {
            return count(&text[start..end]) as u64;
        }
        if self.entries.is_empty() {
            self.entries = vec![[0; 4]; PLACES];
        }
        let bytes = [0, 8, 16].map(|at| {
            let rest = length.saturating_sub(at);
            let mask = if rest < 8 {
                (1 << (8 * rest)) - 1
            } else {
                u64::MAX
            };
            if rest == 0 {
                0
            } else {
                eight_bytes(text, start + at) & mask
            }
        });
        let entry = &mut self.entries[place(bytes, length)];
        if entry[..3] != bytes || entry[3] & 0xff != length as u64 {
            let tokens = count(&text[start..end]) as u64;
            *entry = [bytes[0], bytes[1], bytes[2], tokens << 8 | length as u64];
        }
        entry[3] >> 8
    }
}

fn place(bytes: [u64; 3], length: usize) -> usize {
    let mixed = bytes[0] ^ bytes[1].rotate_left(21) ^ bytes[2].rotate_left(43) ^ length as u64;
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - PLACES.trailing_zeros())) as usize
}
