//! Flags for tests, as a tool takes them.

use clap::{Args, Parser};

#[derive(Parser)]
struct Tool<A: Args> {
    #[command(flatten)]
    asked: A,
}

/// What a tool is asked for that has been given these flags.
pub(crate) fn asked<A: Args>(flags: &[&str]) -> A {
    Tool::parse_from([&["t"], flags].concat()).asked
}
