//! A tool as the table of tools knows it.

use clap::{ArgMatches, Args, Command};

use crate::{CommonArgs, Io, Outcome};

/// One tool: what its binary, its man page, its completions and its tests are made of.
#[derive(Clone, Copy)]
pub struct Tool {
    /// `ctx-count`.
    pub name: &'static str,
    /// Its command line; the doc comments of its `Args` are the help.
    pub command: fn() -> Command,
    /// What it does.
    pub run: fn(&ArgMatches, &mut Io) -> Outcome,
    /// What its manual says beyond the flags.
    pub page: Page,
}

/// The parts of a manual that clap does not know.
#[derive(Clone, Copy)]
pub struct Page {
    /// Statuses beyond the common table, or their meaning here: `(1, "nothing was due")`.
    pub exit_status: &'static [(u8, &'static str)],
    /// Variables and what they set.
    pub environment: &'static [(&'static str, &'static str)],
    /// Files read or written.
    pub files: &'static [(&'static str, &'static str)],
    /// `(command, what it does)`; also the end of `--help`.
    pub examples: &'static [(&'static str, &'static str)],
}

impl Page {
    /// The examples as they stand at the end of `--help`.
    pub fn examples_help(&self) -> String {
        let mut text = String::from("Examples:\n");
        for (command, what) in self.examples {
            text.push_str("  # ");
            text.push_str(what);
            text.push_str("\n  ");
            text.push_str(command);
            text.push('\n');
        }
        text
    }
}

impl Tool {
    /// The command with what all tools share: version, examples, `-q`, `-v`, `--color`.
    pub fn full_command(&self) -> Command {
        let mut command = CommonArgs::augment_args((self.command)())
            .name(self.name)
            .version(env!("CARGO_PKG_VERSION"))
            .args_override_self(true)
            .infer_long_args(false);
        if !self.page.examples.is_empty() {
            command = command.after_long_help(self.page.examples_help());
        }
        command
    }
}
