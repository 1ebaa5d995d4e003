//! A client that asks a language model one question at a time, over the chat completions API of
//! OpenAI, which many servers offer, or the messages API of Anthropic.
//!
//! The client writes summaries at the end of a pipe, so it needs neither streaming nor tool calls.
//! There is no default address, and no message shows the key.

mod client;
mod endpoint;
mod error;
mod retry;
mod tape;
mod wire;

pub use client::{Client, Settings};
pub use endpoint::{Api, ChosenKey, Endpoint, EndpointError, Key, KeyFileError, KeyInClear};
pub use error::{LlmError, TapeError};
pub use retry::{Clock, RetryPolicy};
pub use tape::Tape;
pub use ureq::Proxy;
pub use wire::{Completion, Question, Usage, is_refusal};
