//! A client that asks a language model one question at a time, over OpenAI's chat completions API
//! (which many servers offer) or Anthropic's messages API.
//!
//! The client is made for summaries at the end of a pipeline, so it supports neither streaming nor
//! tool calls. There is no default address, and the key never appears in a message.

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
