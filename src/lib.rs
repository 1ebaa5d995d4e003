//! The tools: one module each, and the table that lists them.
//!
//! Man pages, completions and the tests of conventions walk [`TOOLS`]; each
//! binary names its own tool instead, so that it links only what it uses.

pub mod args;
pub mod completing;
pub mod in_place;
pub mod offload;
pub mod output;
pub mod passes;
pub mod session;
pub mod store;
pub mod tools;
pub mod trash;

use std::process::ExitCode;

use ctx_cli::{Binary, Tool};

/// All that a binary does: `tool`, whose manual page is `manual`.
pub fn main(tool: &'static Tool, manual: &'static str) -> ExitCode {
    ctx_cli::main(&Binary { tool, manual, completed: completing::of })
}

/// Every tool, in the order of the alphabet.
#[rustfmt::skip]
pub const TOOLS: &[&Tool] = &[
    &tools::check::TOOL,
    &tools::compact::TOOL,
    &tools::convert::TOOL,
    &tools::count::TOOL,
    &tools::extract::TOOL,
    &tools::gc::TOOL,
    &tools::ls::TOOL,
    &tools::offload::TOOL,
    &tools::prune::TOOL,
    &tools::rollback::TOOL,
    &tools::score::TOOL,
    &tools::snapshot::TOOL,
    &tools::split::TOOL,
    &tools::stats::TOOL,
    &tools::summarize::TOOL,
];
