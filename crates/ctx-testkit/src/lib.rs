//! Case builder, servers, fixtures and generators for the tests of all crates.

mod case;
mod generate;
mod server;

pub use case::{Case, Finished};
pub use generate::{any_jsonl, chat_session};
pub use server::{Act, Server};
