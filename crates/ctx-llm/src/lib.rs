//! One question to a language model, one answer: OpenAI-compatible chat
//! completions and Anthropic messages.
//!
//! The client is made for a summary at the end of a pipe: no streaming, no
//! tools, few tries, a typed error when it did not work. It has no default
//! address, and its key appears in no message.

mod chosen;
mod client;
mod endpoint;
mod error;
mod key;
mod question;
mod resolve;
mod retry;
mod said;
mod tape;
mod usage;
mod vendor;
mod window;
mod wire;

pub use chosen::{ChosenKey, KeyFileError};
pub use client::{Client, Settings};
pub use endpoint::{Api, Endpoint, EndpointError};
pub use error::{LlmError, TapeError};
pub use key::{Key, KeyInClear};
pub use question::{Completion, Question};
pub use retry::{Clock, Tries};
pub use said::is_refusal;
pub use tape::Tape;
pub use ureq::Proxy;
pub use usage::Usage;
pub use vendor::Vendor;
