//! A tool as the table of tools knows it.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command};

use crate::{CommonArgs, Io, Outcome, Typed, help};

/// What a binary is made of.
#[derive(Clone, Copy)]
pub struct Binary {
    /// What it does.
    pub tool: &'static Tool,
    /// Its manual page, in roff.
    pub manual: &'static str,
    /// Gives the arguments of a command their values, for a line that is being typed.
    pub completed: fn(Command, &Typed) -> Command,
}

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
    /// The flags that most people need, by their long names: `-h` shows these and no others,
    /// and everywhere they come first, in this order. Those of commands are among them.
    pub first: &'static [&'static str],
    /// What people type who know other tools, and what they mean. The key is a flag, a flag with
    /// its value, a word in the place of the first operand, or `FILE` for any operand that is
    /// too many. The meaning is flags, or a sentence that says what to do.
    pub guesses: &'static [(&'static str, &'static str)],
    /// Statuses beyond the common table, or their meaning here: `(1, "nothing was due")`.
    pub exit_status: &'static [(u8, &'static str)],
    /// Variables and what they set.
    pub environment: &'static [(&'static str, &'static str)],
    /// Files read or written.
    pub files: &'static [(&'static str, &'static str)],
    /// `(command, what it does)`; the first of them are also the end of `--help`.
    pub examples: &'static [(&'static str, &'static str)],
}

impl Tool {
    /// The command with what all tools share: version, the order of flags, `-q`, `-v`, `--color`.
    pub fn full_command(&self) -> Command {
        let own = (self.command)();
        let (about, long_about) = (own.get_about().cloned(), own.get_long_about().cloned());
        let command = CommonArgs::augment_args(own)
            // The added flags bring their own description along.
            .about(about.unwrap_or_default())
            .long_about(Resettable::from(long_about))
            .name(self.name)
            .version(env!("CARGO_PKG_VERSION"))
            .max_term_width(help::WIDTH)
            .args_override_self(true);
        let command = help::in_order(command, self, None);
        command.mut_subcommands(|of_tool| {
            let name = of_tool.get_name().to_owned();
            let of_tool = of_tool.args_override_self(true);
            help::in_order(of_tool, self, Some(&name))
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::{Page, Tool};
    use crate::ExitStatus;

    #[test]
    fn the_description_is_the_tools_own() {
        let tool = Tool {
            name: "ctx-test",
            command: || Command::new("x").about("Do it").long_about("Do it\n\nLong"),
            run: |_, _| Ok(ExitStatus::Done),
            page: Page {
                first: &[],
                guesses: &[],
                exit_status: &[],
                environment: &[],
                files: &[],
                examples: &[],
            },
        };
        let command = tool.full_command();
        let about = command.get_about().map(ToString::to_string);
        let long_about = command.get_long_about().map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("Do it"));
        assert_eq!(long_about.as_deref(), Some("Do it\n\nLong"));
    }
}
