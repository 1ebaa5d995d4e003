//! Finds the end of runs of ASCII letters or spaces, eight bytes at a time.
//!
//! Eight bytes are treated as one number. A test yields another number, in which the highest bit of
//! each byte is the result for that byte.

const EACH: u64 = u64::from_le_bytes([1; 8]);
const HIGH: u64 = EACH << 7;
/// In each byte, the bit in which upper and lower case differ.
const CASE: u64 = EACH << 5;

/// The eight bytes that start at `at`, as a number with the first byte lowest. Bytes past the end
/// of the text are zero.
#[inline(always)]
fn eight_bytes(text: &[u8], at: usize) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// Marks the bytes from `first` to `last`. Both bounds must be ASCII.
#[inline(always)]
const fn between(bytes: u64, first: u8, last: u8) -> u64 {
    let low = bytes & !HIGH;
    let from_first = low + EACH * (0x80 - first as u64);
    let above_last = low + EACH * (0x7f - last as u64);
    from_first & !above_last & !bytes & HIGH
}

/// The number of marked bytes before the first unmarked byte.
#[inline(always)]
const fn leading(marks: u64) -> usize {
    (!marks & HIGH).trailing_zeros() as usize / 8
}

/// A run of letters: zero or more uppercase letters, followed by zero or more lowercase letters.
#[derive(Clone, Copy)]
pub(super) struct Letters {
    /// The end of the uppercase letters.
    pub(super) upper: usize,
    pub(super) end: usize,
    /// The byte after the letters; 0 at the end of the text.
    pub(super) next: u8,
}

impl Letters {
    #[inline(always)]
    pub(super) fn at(text: &[u8], start: usize) -> Self {
        let bytes = eight_bytes(text, start);
        let letters = between(bytes | CASE, b'a', b'z');
        // Move the bit that distinguishes upper and lower case to the position of the mark.
        let is_lower = bytes << 2;
        let not_upper = !(letters & !is_lower) & HIGH;
        let before = not_upper.wrapping_sub(1) & !not_upper;
        let others = !(letters & is_lower | before) & HIGH;
        if others == 0 {
            return Self::of_long_word(text, start, not_upper);
        }
        let end = others.trailing_zeros() as usize / 8;
        let upper = start + not_upper.trailing_zeros() as usize / 8;
        Self { upper, end: start + end, next: (bytes >> (8 * end)) as u8 }
    }

    /// The run of at least eight letters that begins at `start`. `not_upper` marks those of the first
    /// eight letters that are not in upper case.
    fn of_long_word(text: &[u8], start: usize, not_upper: u64) -> Self {
        let upper = match not_upper {
            0 => run_end(text, start + 8, |bytes| leading(between(bytes, b'A', b'Z'))),
            _ => start + not_upper.trailing_zeros() as usize / 8,
        };
        let known = upper.max(start + 8);
        let end = run_end(text, known, |bytes| leading(between(bytes, b'a', b'z')));
        Self { upper, end, next: text.get(end).copied().unwrap_or_default() }
    }
}

/// The end of the run of letters that begins at `start`.
#[inline(always)]
pub(super) fn letters(text: &[u8], start: usize) -> usize {
    run_end(text, start, |bytes| leading(between(bytes | CASE, b'a', b'z')))
}

/// The end of the run of spaces that begins at `start`.
#[inline(always)]
pub(super) fn spaces(text: &[u8], start: usize) -> usize {
    const SPACES: u64 = EACH * b' ' as u64;
    run_end(text, start, |bytes| (bytes ^ SPACES).trailing_zeros() as usize / 8)
}

/// The end of a run of bytes that begins at `at`. `length` returns how many of the next eight bytes
/// belong to the run.
#[inline(always)]
fn run_end(text: &[u8], mut at: usize, length: impl Fn(u64) -> usize) -> usize {
    loop {
        let length = length(eight_bytes(text, at));
        at += length;
        if length < 8 {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Letters, letters, spaces};

    #[test]
    fn spaces_end_at_any_other_byte() {
        for byte in (0..=u8::MAX).filter(|byte| *byte != b' ') {
            for length in 0..20 {
                let text = [vec![b' '; length], vec![byte], vec![b' '; 9]].concat();
                assert_eq!(spaces(&text, 0), length);
                assert_eq!(spaces(&text[..length], 0), length);
            }
        }
    }

    #[test]
    fn runs_end_where_a_loop_over_the_bytes_ends() {
        for byte in 0..=u8::MAX {
            for upper in 0..20 {
                for lower in 0..20 {
                    let text = [vec![b'Q'; upper], vec![b'q'; lower], vec![byte, b'q']].concat();
                    let count = |at: usize, is: fn(&u8) -> bool| {
                        at + text[at..].iter().take_while(|byte| is(byte)).count()
                    };
                    let end_of_upper = count(0, u8::is_ascii_uppercase);
                    let end = count(end_of_upper, u8::is_ascii_lowercase);
                    let word = Letters::at(&text, 0);
                    assert_eq!((word.upper, word.end), (end_of_upper, end), "{text:?}");
                    assert_eq!(word.next, text.get(end).copied().unwrap_or(0), "{text:?}");
                    assert_eq!(letters(&text, 0), count(0, u8::is_ascii_alphabetic));
                }
            }
        }
    }
}
