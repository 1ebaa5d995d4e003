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
//! OpenAI's encodings are counted by an engine of its own, the [`Tokenizer`]: its
//! tables are read-only data of the program, so that a process counts its first
//! text at once. `chars4` has no tables.

mod chars4;
mod counter;
mod encoding;
mod models;
mod native;

pub use counter::TokenCounter;
pub use encoding::{Encoding, UnknownEncoding};
pub use models::{Model, full_name, model};
pub use native::{Tokenizer, UnknownToken};
