//! The boundary to the process: operands, stdout, failures and hints, exit status.
//!
//! A tool is a [`Tool`]: its name, its clap command, its `run`. A binary only calls [`main`], which
//! does what all tools share: parsing, colour, closed pipes, the exit status. This crate does not
//! know any tool, and subjects of the library crates stay there.

mod common_args;
mod completing;
mod escape;
mod exit_status;
mod failure;
pub mod help;
mod input;
mod io;
mod listing;
mod manual;
mod numbers;
mod parallel;
mod process;
mod progress;
mod tool;
mod usage;

pub use common_args::{Colour, CommonArgs, Shell, ShowProgress};
pub use escape::{github_message, github_property, printable, shell_word, xml};
pub use exit_status::ExitStatus;
pub use failure::{Failure, Result};
pub use input::{
    FolderArgs, Input, Operands, STDIN_NAME, Walk, input_name, inputs, is_stdin, metadata,
};
pub use io::{Io, Paint, Verbosity, json_failure, json_line, json_name};
pub use listing::{Cell, Listing, Portion, aligned, bar, cut_to_width, labelled};
pub use numbers::{percent, short_bytes, short_count, short_time};
pub use parallel::{Statuses, in_parallel, jobs_of, of_each, report_failures};
pub use process::main;
pub use progress::Progress;
pub use tool::{Binary, Page, Tool};
pub use usage::question;

/// The result of a tool's `run`.
pub type Outcome = Result<ExitStatus>;
