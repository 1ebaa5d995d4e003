//! The engine for OpenAI's encodings.
//!
//! Text is split into [`pieces`]. If a piece is a token of the [`vocabulary`], it counts as one
//! token. Any other piece is encoded by [merging](merge) its bytes. All tables are read-only data
//! in the program.

#![allow(
    clippy::inline_always,
    reason = "measured: without it, the compiler does not inline parts of the inner loop"
)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "bit fields are read from wider numbers; every index into a table is below 2^21"
)]

mod class;
#[allow(dead_code, reason = "some items are only for the build script")]
mod layout;
mod memo;
mod merge;
mod pieces;
mod tokenizer;
mod vocabulary;

pub use tokenizer::{Tokenizer, UnknownToken};
