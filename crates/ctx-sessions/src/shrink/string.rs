//! One string of JSON, cut short: its begin, how much is left out, its end.

use std::io::Write;

use ctx_transcript::scan::Block;

/// Strings up to this length stay whole.
const WHOLE: usize = 384;
/// How much of the begin of a longer one stays: enough for a title.
const BEGIN: usize = 240;
/// And of its end, by which some formats know who wrote a text.
const END: usize = 64;
/// The longest escape, `\u0000`.
const ESCAPE: usize = 6;
/// The last byte of a block.
const LAST: u32 = 1 << (Block::LENGTH - 1);

/// Where a string ends, and how it is to be cut.
pub(super) struct Cut {
    /// Behind its closing quote.
    pub(super) end: usize,
    /// How much shorter it is decoded.
    saved: usize,
    /// Whether it has an escaped NUL, by which we mark a cut.
    has_nul: bool,
}

impl Cut {
    /// Looks at the string whose opening quote stands before `text`; `None` where it is none.
    #[inline]
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let mut cut = Self {
            end: 0,
            saved: 0,
            has_nul: false,
        };
        loop {
            let block = Block::of(text.get(cut.end..)?);
            let special = block.special();
            if special == 0 {
                cut.end += Block::LENGTH;
                continue;
            }
            let first = cut.end + special.trailing_zeros() as usize;
            if text.get(first) == Some(&b'"') {
                cut.end = first + 1;
                return Some(cut);
            }
            let ends = match usual_escapes(&block) {
                Some(escapes) => cut.take(text, special, escapes)?,
                None => cut.take_one(text, first)?,
            };
            if ends {
                return Some(cut);
            }
        }
    }

    /// Goes on behind the block at `end`, or behind the string where it ends in that: which
    /// it says.
    fn take(&mut self, text: &[u8], special: u32, escapes: u32) -> Option<bool> {
        // The character of an escape whose backslash is the last byte is in the next block.
        let last = escapes & LAST;
        let escapes = escapes & !LAST;
        let others = special & !(escapes | escapes << 1 | last);
        if others == 0 {
            self.saved += escapes.count_ones() as usize;
            self.end += Block::LENGTH - usize::from(last != 0);
            return Some(false);
        }
        let at = others.trailing_zeros();
        self.saved += (escapes & !(u32::MAX << at)).count_ones() as usize;
        self.end += at as usize + 1;
        (text.get(self.end - 1) == Some(&b'"')).then_some(true)
    }

    /// The same up to what is special first, and no quote.
    fn take_one(&mut self, text: &[u8], first: usize) -> Option<bool> {
        self.end = first;
        if text.get(first) != Some(&b'\\') {
            return None;
        }
        // They stand in rows.
        while text.get(self.end) == Some(&b'\\') {
            let (length, decoded) = escape(&text[self.end..])?;
            self.saved += length - decoded;
            self.has_nul |= text[self.end..].starts_with(br"\u0000");
            self.end += length;
        }
        Some(false)
    }

    /// Whether it cannot stay as it is.
    pub(super) fn changes(&self) -> bool {
        self.end - 1 > WHOLE || self.has_nul
    }

    /// Puts the string into `output`, with its closing quote.
    pub(super) fn to(&self, text: &[u8], output: &mut Vec<u8>) {
        let within = &text[..self.end - 1];
        if within.len() <= WHOLE {
            self.copy(within, output);
        } else {
            let begin = boundary(within, BEGIN);
            let end = (within.len() - END..within.len()).find(|at| is_boundary(within, *at));
            let end = end.unwrap_or(within.len());
            let kept = saved(&within[..begin]) + saved(&within[end..]);
            let left_out = (end - begin + kept).saturating_sub(self.saved);
            self.copy(&within[..begin], output);
            // Writing to memory cannot fail.
            let _ = write!(output, r"\u0000{left_out}\u0000");
            self.copy(&within[end..], output);
        }
        output.push(b'"');
    }

    fn copy(&self, text: &[u8], output: &mut Vec<u8>) {
        let from = output.len();
        output.extend_from_slice(text);
        if self.has_nul {
            // No text can say that something was cut out of it.
            let mut at = from;
            while let Some(found) = memchr::memmem::find(&output[at..], br"\u0000") {
                at += found + ESCAPE;
                output[at - 1] = b'1';
            }
        }
    }
}

/// The backslashes of a block, where each begins an escape as code in JSON is full of; `None`
/// where one may be escaped itself, or stands before a rarer character.
#[inline]
fn usual_escapes(block: &Block) -> Option<u32> {
    let backslashes = block.any_of([b'\\']);
    let usual = block.any_of([b'n', b't', b'"']);
    (backslashes << 1 & !usual == 0).then_some(backslashes)
}

/// The length of the escape that `text` begins with, and that of what it stands for.
#[inline]
fn escape(text: &[u8]) -> Option<(usize, usize)> {
    match text.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some((2, 1)),
        b'u' => escaped_code(text.get(2..ESCAPE)?).map(|decoded| (ESCAPE, decoded)),
        _ => None,
    }
}

/// The length of the character with that number in hexadecimal digits.
fn escaped_code(digits: &[u8]) -> Option<usize> {
    let mut code = 0;
    for digit in digits {
        code = code * 16 + char::from(*digit).to_digit(16)?;
    }
    Some(match code {
        0..0x80 => 1,
        // Half of a pair, whose character has four bytes.
        0x80..0x800 | 0xd800..0xe000 => 2,
        _ => 3,
    })
}

/// How much shorter a part of a string is decoded.
fn saved(part: &[u8]) -> usize {
    let (mut saved, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &part[at..]) {
        let Some((length, decoded)) = escape(&part[at + found..]) else {
            break;
        };
        saved += length - decoded;
        at += found + length;
    }
    saved
}

/// The last place up to `most` that parts no character and no escape.
fn boundary(within: &[u8], most: usize) -> usize {
    let mut places = (0..=most).rev();
    places.find(|at| is_boundary(within, *at)).unwrap_or(0)
}

fn is_boundary(within: &[u8], at: usize) -> bool {
    let is_within_character = within.get(at).is_some_and(|b| b & 0xc0 == 0x80);
    let before = &within[at.saturating_sub(ESCAPE)..at];
    !is_within_character && !before.contains(&b'\\')
}

/// The length of a text, with what was cut out of it; of raw JSON, too.
pub fn length(text: &str) -> u64 {
    let mut length = text.len() as u64;
    for mark in ["\0", r"\u0000"] {
        if memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_none() {
            continue;
        }
        // Every second piece stands between two marks.
        for piece in text.split(mark).skip(1).step_by(2) {
            let left_out = piece.parse().unwrap_or(0_u64);
            length = length.saturating_add(left_out);
            length = length.saturating_sub((piece.len() + 2 * mark.len()) as u64);
        }
    }
    length
}
