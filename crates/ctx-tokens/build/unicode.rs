//! The character classes that the encodings' patterns distinguish.

use std::path::Path;

use regex_syntax::hir::{Class, HirKind};

/// The members of each class except the last one, which contains all other characters. The classes
/// are in the same order as the bits in `src/native/class.rs`. `\r` and `\n` are not in the
/// whitespace class, but in a class of their own.
const CLASSES: [&str; 7] = [
    r"[\p{Lu}\p{Lt}]",
    r"\p{Ll}",
    r"[\p{Lm}\p{Lo}]",
    r"\p{M}",
    r"\p{N}",
    r"[\s&&[^\r\n]]",
    r"[\r\n]",
];

/// The bit for all characters that are not in any of the [`CLASSES`].
const OTHER: u8 = 1 << 7;

/// The number of characters that share an entry in `class.blocks`.
const BLOCK: usize = 256;

/// Writes two tables: `class.blocks` contains the number of a block for every 256 characters, and
/// `class.bits` contains the classes of the 256 characters in each block.
pub(crate) fn write(out: &Path) {
    let mut bits = vec![OTHER; 0x11_0000];
    for (number, class) in CLASSES.iter().enumerate() {
        for range in ranges(class) {
            for bit in &mut bits[range] {
                assert_eq!(*bit, OTHER, "classes do not overlap");
                *bit = 1 << number;
            }
        }
    }
    let mut distinct: Vec<&[u8]> = Vec::new();
    let mut blocks = Vec::new();
    for block in bits.chunks(BLOCK) {
        let known = distinct.iter().position(|other| *other == block);
        let number = known.unwrap_or_else(|| {
            distinct.push(block);
            distinct.len() - 1
        });
        blocks.push(u8::try_from(number).expect("at most 256 distinct blocks"));
    }
    std::fs::write(out.join("class.blocks"), blocks).unwrap();
    std::fs::write(out.join("class.bits"), distinct.concat()).unwrap();
}

/// The characters in a class according to the Unicode tables in regex-syntax.
fn ranges(class: &str) -> Vec<std::ops::Range<usize>> {
    let hir = regex_syntax::parse(class).expect("a class");
    let HirKind::Class(Class::Unicode(class)) = hir.into_kind() else {
        panic!("not a class of characters");
    };
    class.iter().map(|range| range.start() as usize..range.end() as usize + 1).collect()
}
