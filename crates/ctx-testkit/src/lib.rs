//! Helpers for the tests of all crates: calls of tools, servers, agents and generators.

mod case;
mod fire;
mod generate;
mod legal;
mod linear;
mod pattern;
mod secrets;
mod server;
mod terminal;

pub use case::{Case, Finished};
pub use fire::{
    Agent, CHAT, COPILOT, EXCHANGE, Format, KIMI, OPENCODE, Order, QWEN, lost, numbered, numbers,
    replace_by_rename, replace_in_place, under_fire, under_watch,
};
pub use generate::{any_jsonl, chat_session};
pub use legal::{Api, legal_session, refusal};
pub use linear::assert_linear;
pub use pattern::texts_of;
pub use secrets::{Planted, positions, secrets};
pub use server::{Act, Server};
pub use terminal::Terminal;
