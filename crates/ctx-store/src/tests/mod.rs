//! Tests that involve several modules.

mod append;
mod bench;
mod exchange;
mod failed_runs;
mod late_lines;
pub(crate) mod moments;
mod offload;

pub(crate) use bench::{Agent, Bench, id};
