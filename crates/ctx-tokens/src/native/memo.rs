//! A cache of the token counts of recent pieces.
//!
//! Text repeats the same words, so nearly every piece is found in the cache. All bytes of a piece
//! are compared, so the cache never returns a wrong count. The cache is needed because a
//! vocabulary's tables are larger than the processor's cache. Each thread has its own token cache,
//! which is allocated when the thread counts its first text and grows when needed.

use std::cell::RefCell;

/// The maximum length of a cached piece in bytes. A longer piece is encoded each time.
pub(crate) const LONGEST: usize = 15;

/// The initial number of sets, which take up only 16 KiB, because the text may be short.
const FEWEST_SETS: usize = 1 << 9;

/// The maximum number of sets, which take up 2 MiB. With half as many sets, counting prose was 10 %
/// slower.
const MOST_SETS: usize = 1 << 16;

/// The factor by which the number of sets grows: two steps lead from the initial number to the
/// maximum.
const GROWTH: usize = 1 << 4;

/// A piece and its number of tokens. The entry contains the bytes of the piece, padded with zeros.
/// The highest byte of the entry contains the length of the piece in its low half and the number of
/// tokens in its high half. Both halves are large enough, because a piece never has more tokens
/// than bytes. An empty entry is 0.
type Entry = [u64; 2];

/// The number of encodings whose token counts can differ.
const ENCODINGS: usize = 4;

const LENGTH: u32 = 56;
const TOKENS: u32 = 60;

/// The cached token counts for one encoding. A piece may be in either place of its set; the first
/// place holds the piece that was used most recently.
#[derive(Default)]
pub(crate) struct Memo {
    /// The sets in the cache. The number of sets is a power of two.
    sets: Vec<[Entry; 2]>,
    /// The number of misses since the sets were allocated.
    missed: usize,
}

thread_local! {
    static MEMOS: RefCell<[Memo; ENCODINGS]> =
        const { RefCell::new([const { Memo::new() }; ENCODINGS]) };
}

impl Memo {
    const fn new() -> Self {
        Self { sets: Vec::new(), missed: 0 }
    }

    /// Calls `use_it` with this thread's cache for the encoding `number`.
    pub(crate) fn with<T>(number: usize, use_it: impl FnOnce(&mut Self) -> T) -> T {
        MEMOS.with_borrow_mut(|memos| {
            let memo = &mut memos[number];
            if memo.sets.is_empty() {
                memo.resize(FEWEST_SETS);
            }
            use_it(memo)
        })
    }

    /// The number of tokens in the piece `text[start..end]`, which has at most [`LONGEST`] bytes.
    /// `count` is called only if the piece is not in the cache.
    #[inline(always)]
    pub(crate) fn tokens(
        &mut self,
        text: &[u8],
        start: usize,
        end: usize,
        count: impl FnOnce() -> u64,
    ) -> u64 {
        let piece = entry_of(text, start, end - start);
        let set = set_of(piece, self.sets.len());
        let [first, second] = &mut self.sets[set];
        if is_of(*first, piece) {
            return first[1] >> TOKENS;
        }
        if is_of(*second, piece) {
            std::mem::swap(first, second);
            return first[1] >> TOKENS;
        }
        let tokens = count();
        self.add(piece, tokens);
        tokens
    }

    #[cold]
    fn add(&mut self, piece: Entry, tokens: u64) {
        self.missed += 1;
        if self.missed > 2 * self.sets.len() && self.sets.len() < MOST_SETS {
            self.resize((self.sets.len() * GROWTH).min(MOST_SETS));
        }
        let set = set_of(piece, self.sets.len());
        let [first, second] = &mut self.sets[set];
        *second = *first;
        *first = [piece[0], piece[1] | tokens << TOKENS];
    }

    /// Changes the number of sets, and discards all token counts.
    fn resize(&mut self, sets: usize) {
        self.sets = vec![[[0; 2]; 2]; sets];
        self.missed = 0;
    }
}

/// The entry of a piece, without its number of tokens.
#[inline(always)]
fn entry_of(text: &[u8], start: usize, length: usize) -> Entry {
    let rest = &text[start..];
    let bytes = u128::from_le_bytes(match rest.first_chunk() {
        Some(bytes) => *bytes,
        None => last_bytes(rest),
    });
    let [low, high] = MASKS[length & LONGEST];
    [bytes as u64 & low, (bytes >> 64) as u64 & high | (length as u64) << LENGTH]
}

/// The rest of the text, which has fewer than 16 bytes, padded with zeros.
#[cold]
fn last_bytes(rest: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..rest.len()].copy_from_slice(rest);
    bytes
}

/// For each length of a piece, a mask of the bytes that the piece occupies in an entry.
static MASKS: [[u64; 2]; LONGEST + 1] = {
    let mut masks = [[0; 2]; LONGEST + 1];
    let mut length = 0;
    while length <= LONGEST {
        let mask = (1_u128 << (8 * length)) - 1;
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

/// The index of the set that a piece belongs to.
#[inline(always)]
fn set_of(piece: Entry, sets: usize) -> usize {
    let mixed = (piece[0] ^ piece[1].rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize & (sets - 1)
}

/// Returns true if `entry` is the entry of `piece`, ignoring the number of tokens.
#[inline(always)]
fn is_of(entry: Entry, piece: Entry) -> bool {
    (entry[0] ^ piece[0]) | (entry[1] ^ piece[1]) << (64 - TOKENS) == 0
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Memo};

    #[test]
    fn each_piece_is_counted_once_and_not_taken_for_another() {
        Memo::with(0, |memo| {
            let text = [b"\0".repeat(20), b"ab\0".repeat(9)].concat();
            let mut pieces = std::collections::BTreeMap::new();
            for start in 0..text.len() {
                for end in start + 1..=text.len().min(start + LONGEST) {
                    let new = pieces.len() as u64 % 15 + 1;
                    let tokens = *pieces.entry(&text[start..end]).or_insert(new);
                    for expected_call in [true, false] {
                        let counted = memo.tokens(&text, start, end, || {
                            assert!(expected_call, "{start}..{end} is in the cache");
                            tokens
                        });
                        assert_eq!(counted, tokens, "{start}..{end}");
                    }
                }
            }
        });
    }
}
