//! The interface between a tool and its process: operands, stdout, failures with hints, and the
//! exit status.
//!
//! A [`Tool`] has a name, a clap command and a `run` function. A binary only calls [`main`], which
//! handles what all tools have in common: the command line, colours, closed pipes, and the exit
//! status. This crate does not depend on any particular tool, and leaves reading sessions to the
//! library crates.

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
    FolderArgs, IN_DIRECTORY, Input, Operands, STDIN_NAME, Walk, cannot_read, input_name, inputs,
    is_like_an_id, is_stdin, metadata, open_file,
};
pub use io::{Io, Paint, Verbosity, json_failure, json_line, json_name};
pub use listing::{Cell, Listing, Portion, aligned, bar, cut_to_width, labelled};
pub use numbers::{percent, short_bytes, short_count, short_time};
pub use parallel::{Statuses, in_parallel, jobs_of, of_each, report_failures, with_threads};
pub use process::main;
pub use progress::Progress;
pub use tool::{Binary, Page, Tool};
pub use usage::question;

/// The result of a tool's `run`.
pub type Outcome = Result<ExitStatus>;
