#![doc = include_str!("../README.md")]

mod encoding;
mod models;
mod native;

pub use encoding::{Encoding, TokenCounter, UnknownEncoding};
pub use models::{Model, full_name, model};
pub use native::{Tokenizer, UnknownToken};
