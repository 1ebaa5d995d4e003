//! Random text that stresses the patterns. Each record depends only on its number.

#![allow(clippy::cast_possible_truncation, reason = "small numbers out of random ones")]

use std::ops::Range;

/// A small generator of random numbers (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    fn scalar(&mut self, range: Range<u32>) -> char {
        let offset = self.below((range.end - range.start) as usize) as u32;
        char::from_u32(range.start + offset).unwrap_or('\u{fffd}')
    }
}

const WORDS: &[&str] = &[
    "the",
    "Hello",
    "getFooBar",
    "HTTPServer",
    "x",
    "I",
    "OK",
    "internationalization",
    "fn",
    "STRASSE",
    "straße",
    "élan",
    "Éa",
    "ÉÉ",
    "naïve",
    "aB",
    "Ab",
    "ABc",
    "don",
    "we",
    "I",
];
const SPACES: &[&str] = &[
    " ", " ", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\r", "\u{b}", "\u{c}", "\u{85}",
    "\u{a0}", "\u{1680}", "\u{2003}", "\u{2028}", "\u{202f}", "\u{3000}", "        ",
];
const CONTRACTIONS: &[&str] = &[
    "'s",
    "'S",
    "'ſ",
    "'t",
    "'T",
    "'re",
    "'Re",
    "'RE",
    "'rE",
    "'ve",
    "'VE",
    "'m",
    "'M",
    "'ll",
    "'LL",
    "'lL",
    "'l",
    "'r",
    "'v",
    "'d",
    "'D",
    "'x",
    "'",
    "''",
    "’s",
    "'\u{17f}a",
    "'é",
];
const PUNCTUATION: &[&str] = &[
    "!",
    "?",
    ".",
    "...",
    "//",
    "/",
    "/*",
    "*/",
    "->",
    "::",
    "{}",
    "();\n",
    "=",
    "==",
    "\"",
    "#",
    "_",
    "__",
    "-",
    "---",
    "\\",
    "$",
    "€",
    "«",
    "…",
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "\u{200d}",
    "!\r\n/",
    "/\n/",
    "~~",
    "://",
    "<|endoftext|>",
    "，",
    "。",
    "😀",
    "👩\u{200d}👧",
    "\u{fe0f}",
];
const NUMBERS: &[&str] = &["0", "1", "42", "123", "1234", "1234567", "½", "Ⅷ", "٣", "²", "१२३४"];
/// Marks, and letters: upper, lower and title case, caseless, and modifier letters.
const LETTERS: &[&str] = &[
    "\u{301}",
    "\u{301}",
    "\u{903}",
    "\u{20dd}",
    "\u{e0100}",
    "ǅ",
    "ǅa",
    "ʰ",
    "ª",
    "中",
    "文",
    "ก",
    "ا",
    "א",
    "あ",
    "한",
    "A",
    "a",
    "B",
    "z",
    "É",
    "é",
    "Σ",
    "ß",
    "ſ",
    "K",
    "𝒜",
    "𐐀",
    "𐐨",
];
/// The ranges of some scripts and symbols, and the range of all characters.
const BLOCKS: &[Range<u32>] = &[
    0x20..0x7f,
    0x0..0x100,
    0x100..0x250,
    0x300..0x370,
    0x370..0x530,
    0x590..0x700,
    0x900..0xe00,
    0x1e00..0x2000,
    0x2000..0x2c00,
    0x3000..0x3130,
    0x4e00..0xa000,
    0xac00..0xd7a4,
    0x1f300..0x1fa00,
    0x0..0x3000,
    0x0..0x11_0000,
];

/// Returns record `number`. Most records are at most a few hundred bytes long; some contain much
/// longer runs.
pub(crate) fn record(number: u64) -> String {
    let random = &mut Random::new(number.wrapping_mul(0x1000_0000_01b3));
    let mut text = String::new();
    for _ in 0..random.below(24) {
        part(random, &mut text);
    }
    text
}

fn part(random: &mut Random, text: &mut String) {
    match random.below(20) {
        0..3 => text.push_str(random.pick(WORDS)),
        3..6 => text.push_str(random.pick(SPACES)),
        6 => text.push_str(random.pick(CONTRACTIONS)),
        7..9 => text.push_str(random.pick(PUNCTUATION)),
        9 => text.push_str(random.pick(NUMBERS)),
        10..14 => text.push_str(random.pick(LETTERS)),
        14..17 => {
            let block = BLOCKS[random.below(BLOCKS.len())].clone();
            for _ in 0..=random.below(8) {
                text.push(random.scalar(block.clone()));
            }
        }
        17 => {
            let letters = [0x61..0x7b, 0x41..0x5b, 0x61..0x63, 0x4e00..0x5000];
            let block = letters[random.below(letters.len())].clone();
            for _ in 0..random.below(40) {
                text.push(random.scalar(block.clone()));
            }
        }
        18 => {
            let kinds = [WORDS, SPACES, CONTRACTIONS, PUNCTUATION, NUMBERS, LETTERS];
            let kind = kinds[random.below(kinds.len())];
            let unit = random.pick(kind);
            text.push_str(&unit.repeat(random.below(20)));
        }
        _ => {
            let c = random.scalar(0..0x250);
            text.extend(std::iter::repeat_n(c, random.below(150)));
        }
    }
}
