//! A tool as the table of tools knows it.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command};

use crate::{CommonArgs, Io, Outcome, Typed};

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
    /// The examples that have `command` in them, as they stand at the end of `--help`.
    fn examples_help(&self, command: &str) -> String {
        let examples = self.examples.iter();
        let examples = examples.filter(|(example, _)| example.contains(command));
        let examples = examples.map(|(command, what)| format!("  # {what}\n  {command}\n"));
        "Examples:\n".to_owned() + &examples.collect::<Vec<_>>().concat()
    }
}

impl Tool {
    /// The command with what all tools share: version, examples, `-q`, `-v`, `--color`.
    pub fn full_command(&self) -> Command {
        let own = (self.command)();
        let (about, long_about) = (own.get_about().cloned(), own.get_long_about().cloned());
        let mut command = CommonArgs::augment_args(own)
            // The added flags bring their own description along.
            .about(about.unwrap_or_default())
            .long_about(Resettable::from(long_about))
            .name(self.name)
            .version(env!("CARGO_PKG_VERSION"))
            .args_override_self(true);
        if !self.page.examples.is_empty() {
            command = command.after_long_help(self.page.examples_help(self.name));
        }
        command.mut_subcommands(|of_tool| {
            let name = format!("{} {}", self.name, of_tool.get_name());
            of_tool
                .args_override_self(true)
                .after_long_help(self.page.examples_help(&name))
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
