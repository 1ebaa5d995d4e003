//! Case builder, fixtures and generators for the tests of all crates.

mod case;
mod generate;

pub use case::{Case, Finished};
pub use generate::{any_jsonl, chat_session};
