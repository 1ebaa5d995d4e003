//! Text to token count: encodings, and the models that use them.
//!
//! A leaf: it knows no messages and no files. Whoever counts asks an
//! [`Encoding`] for its [`TokenCounter`], and the [`Model`] table says which
//! encoding and which window a model has.
//!
//! ```
//! use ctx_tokens::{Encoding, model};
//!
//! let gpt = model("gpt-4.1-mini").expect("in the table");
//! assert_eq!(gpt.encoding, Encoding::O200kBase);
//! assert_eq!(gpt.encoding.counter().count("hello world"), 2);
//! ```
//!
//! The engine inside is tiktoken-rs. Its tables take 0.2 to 0.4 s to build, so
//! [`Encoding::counter`] does not build them: the first text does. `chars4`
//! has no tables.

mod chars4;
mod counter;
mod encoding;
mod models;
mod native;
mod tiktoken;

pub use counter::TokenCounter;
pub use encoding::{Encoding, UnknownEncoding};
pub use models::{MODELS, Model, model};
pub use native::{Tokenizer, UnknownToken};
