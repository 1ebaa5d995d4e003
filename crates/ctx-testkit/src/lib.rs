//! Case builder, fixtures and generators for the tests of all crates.

mod case;

pub use case::{Case, Finished};
