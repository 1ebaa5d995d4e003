//! Computes the vocabulary tables and Unicode tables that the engine reads.
//!
//! The vocabularies are taken from the tiktoken-rs package, and the Unicode classes from
//! regex-syntax. The tables are the same in each build, because they do not depend on the time,
//! random numbers, or the order of a hash map.

// A build script may fail with a panic, and it communicates with cargo by printing.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../src/native/layout.rs"]
#[allow(dead_code, reason = "some items are only for the engine")]
#[allow(clippy::cast_possible_truncation, reason = "bit fields are read from wider numbers")]
mod layout;

mod borders;
mod pairs;
mod trie;
mod unicode;
mod vocabulary;

use std::path::{Path, PathBuf};

use tiktoken_rs::{cl100k_base, o200k_base, p50k_base};
use vocabulary::Vocabulary;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/native/layout.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    unicode::write(&out);
    let encodings = [("o200k", o200k_base()), ("cl100k", cl100k_base()), ("p50k", p50k_base())];
    for (name, engine) in encodings {
        let engine = engine.expect("the vocabulary is part of the package");
        write_tables(&out, name, &Vocabulary::of(&engine));
    }
}

fn write_tables(out: &Path, name: &str, vocabulary: &Vocabulary) {
    let write = |table: &str, bytes: Vec<u8>| {
        std::fs::write(out.join(format!("{name}.{table}")), bytes).unwrap();
    };
    let nodes = trie::build(&vocabulary.tokens);
    write("nodes", nodes.into_iter().flat_map(u32::to_le_bytes).collect());
    let parts = vocabulary.parts();
    write("parts", parts.into_iter().flat_map(u64::to_le_bytes).collect());
    let (pairs, seeds) = pairs::table(&vocabulary.merges);
    let three_bytes = |entry: u32| entry.to_le_bytes().into_iter().take(3);
    write("pairs", pairs.into_iter().flat_map(three_bytes).collect());
    write("seeds", seeds.into_iter().flat_map(u16::to_le_bytes).collect());
    write("bytes", borders::of_single_bytes(vocabulary));
    write("borders", borders::filter(vocabulary));
}
