//! The border to the process: operands, stdout, failures and hints, exit status.
//!
//! A tool is a [`Tool`]: its name, its clap command, its `run`. [`main`] is all
//! that a binary calls; what every tool shares with the process (parsing,
//! colour, closed pipes, the exit status) happens there once. This crate knows
//! no tool, and what belongs to one subject of the library crates stays there.

mod completing;
mod escape;
mod failure;
pub mod help;
mod input;
mod io;
mod listing;
mod manual;
mod parallel;
mod process;
mod progress;
mod usage;

pub use completing::{Shell, Typed};
pub use escape::{github_message, github_property, printable, shell_word, xml};
pub use failure::{Failure, Result};
pub use input::{
    FolderArgs, Input, Operands, STDIN_NAME, Walk, input_name, inputs, is_stdin, metadata,
};
pub use io::{Colour, CommonArgs, Io, Paint, Verbosity, json_failure, json_line, json_name};
pub use listing::{
    Cell, Listing, Portion, aligned, bar, cut_to_width, labelled, percent, short_bytes,
    short_count, short_time,
};
pub use parallel::{Statuses, in_parallel, jobs_of, of_each, report_failures};
pub use process::{Binary, ExitStatus, Page, Tool, main};
pub use progress::{Progress, ShowProgress};
pub use usage::question;

/// The result of a tool's `run`.
pub type Outcome = Result<ExitStatus>;
