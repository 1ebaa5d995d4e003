//! Computes the tables that the engine only reads.
//!
//! The vocabularies come out of the tiktoken-rs package, the Unicode classes out
//! of regex-syntax. The result is the same in each build: no clock, no random
//! number and no hash map's order gets into it.

// A build script stops the build by a panic, and speaks to cargo by its output.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../src/native/layout.rs"]
#[allow(dead_code, reason = "some of it is for the engine alone")]
#[allow(
    clippy::cast_possible_truncation,
    reason = "bit fields of wider numbers"
)]
mod layout;

mod hashed;
mod trie;
mod unicode;
mod vocabulary;

use std::path::{Path, PathBuf};

use layout::Layout;
use vocabulary::Vocabulary;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/native/layout.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    unicode::write(&out);
    let o200k = tiktoken_rs::o200k_base().expect("the vocabulary is part of the package");
    write_vocabulary(&out, "o200k", &o200k, Layout { bits: 18 });
    let cl100k = tiktoken_rs::cl100k_base().expect("the vocabulary is part of the package");
    write_vocabulary(&out, "cl100k", &cl100k, Layout { bits: 17 });
}

fn write_vocabulary(out: &Path, name: &str, engine: &tiktoken_rs::CoreBPE, layout: Layout) {
    let vocabulary = Vocabulary::of(engine, layout);
    let splits = vocabulary.splits();
    let nodes = trie::build(&vocabulary.tokens);
    let table = |kind: &str| out.join(format!("{name}.{kind}"));
    write_u64(&table("short"), &hashed::short(&vocabulary));
    write_u64(&table("long"), &hashed::long(&vocabulary));
    write_u32(&table("pairs"), &hashed::pairs(&vocabulary, &splits));
    write_u64(&table("parts"), &vocabulary.parts(&splits));
    write_u64(&table("nodes"), &nodes);
    write_u32(&table("starts"), &vocabulary.starts());
    std::fs::write(table("borders"), hashed::borders(&vocabulary, &splits)).unwrap();
    std::fs::write(table("filter"), hashed::pair_filter(&vocabulary, &splits)).unwrap();
    std::fs::write(table("bytes"), vocabulary.tokens.concat()).unwrap();
}

fn write_u64(path: &Path, numbers: &[u64]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    std::fs::write(path, bytes).unwrap();
}

fn write_u32(path: &Path, numbers: &[u32]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    std::fs::write(path, bytes).unwrap();
}
