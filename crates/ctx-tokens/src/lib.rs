#![doc = include_str!("../README.md")]

mod counter;
mod encoding;
mod models;
mod native;

pub use counter::TokenCounter;
pub use encoding::{Encoding, UnknownEncoding};
pub use models::{Model, full_name, model};
pub use native::{Tokenizer, UnknownToken};
