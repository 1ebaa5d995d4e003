//! The engine for OpenAI's encodings.
//!
//! A text is split into [`pieces`]. A piece that is a token of the [`vocabulary`] counts as one;
//! any other piece is [merged](merge) from its bytes. All tables are read-only data of the program.

#![allow(
    clippy::inline_always,
    reason = "measured: the inner loop is one function, and the compiler left parts of it out"
)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "bit fields are read from wider numbers; every index into a table is below 2^21"
)]

mod class;
#[allow(dead_code, reason = "some of it is for the build script alone")]
mod layout;
mod memo;
mod merge;
mod pieces;
mod tokenizer;
mod vocabulary;

pub use tokenizer::{Tokenizer, UnknownToken};
