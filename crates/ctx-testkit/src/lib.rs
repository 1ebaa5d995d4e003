//! Case builder, servers, fixtures and generators for the tests of all crates.

mod case;
mod server;

pub use case::{Case, Finished};
pub use server::{Act, Server};
