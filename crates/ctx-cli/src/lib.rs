//! The border to the process: operands, stdout, failures and hints, exit status.
//!
//! A tool is a [`Tool`]: its name, its clap command, its `run`. [`main`] is all
//! that a binary calls; what every tool shares with the process (parsing,
//! colour, closed pipes, the exit status) happens there once. This crate knows
//! no tool, and what belongs to one subject of the library crates stays there.

mod failure;
mod input;
mod io;
mod process;
mod status;
mod tool;

pub use failure::{Failure, printable};
pub use input::{Input, STDIN_NAME, input_name, inputs, is_stdin, metadata};
pub use io::{Colour, CommonArgs, Io, Paint, Verbosity};
pub use process::main;
pub use status::ExitStatus;
pub use tool::{Page, Tool};

/// What a tool's `run` returns.
pub type Outcome = Result<ExitStatus, Failure>;
