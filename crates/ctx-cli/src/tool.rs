//! A tool as the table of tools knows it.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command};
use serde::Deserialize;

use crate::{CommonArgs, Io, Outcome, Typed, help};

/// The parts of a binary.
#[derive(Clone, Copy)]
pub struct Binary {
    /// What it does.
    pub tool: &'static Tool,
    /// Its manual page, in roff.
    pub manual: &'static str,
    /// Gives the arguments of a command their values, for a line that is being typed.
    pub completed: fn(Command, &Typed) -> Command,
}

/// One tool: the source of its binary, its man page, its completions and its tests.
#[derive(Clone, Copy)]
pub struct Tool {
    /// `ctx-count`.
    pub name: &'static str,
    /// Its command line; the doc comments of its `Args` are the help.
    pub command: fn() -> Command,
    /// What it does.
    pub run: fn(&ArgMatches, &mut Io) -> Outcome,
    /// The long names of the flags that most people need, separated by spaces. `-h` shows only
    /// these, and everywhere they come first, in this order. The flags of all commands are here.
    pub first: &'static str,
    /// The [`Page`], in TOML.
    pub page: &'static str,
}

/// What a manual says beyond the flags. It is only read for help, manuals and usage errors.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    guesses: Vec<(String, String)>,
    /// Statuses in addition to the common table, or what they mean here.
    pub exit_status: Vec<(u8, String)>,
    /// Variables and what they set.
    pub environment: Vec<(String, String)>,
    /// Files that the tool reads or writes.
    pub files: Vec<(String, String)>,
    /// Commands and what each does; `--help` ends with the first of them.
    pub examples: Vec<(String, String)>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        toml::from_str(text).expect("a page is valid TOML: a test reads each")
    }

    /// Words from other tools, each with an answer. A word is a flag, a flag with its value, the
    /// first operand, or `FILE` for any superfluous operand. The answer is flags to use instead, or
    /// a sentence of advice.
    pub fn guesses(&self) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.guesses.iter();
        rows.flat_map(|(typed, answer)| typed.split(", ").map(move |one| (one, answer.as_str())))
    }
}

impl Tool {
    /// The content of the manual besides the flags.
    pub fn page(&self) -> Page {
        Page::parse(self.page)
    }

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

    use super::Tool;
    use crate::ExitStatus;

    #[test]
    fn the_description_is_the_tools_own() {
        let tool = Tool {
            name: "ctx-test",
            command: || Command::new("x").about("Do it").long_about("Do it\n\nLong"),
            run: |_, _| Ok(ExitStatus::Done),
            first: "",
            page: "",
        };
        let command = tool.full_command();
        let about = command.get_about().map(ToString::to_string);
        let long_about = command.get_long_about().map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("Do it"));
        assert_eq!(long_about.as_deref(), Some("Do it\n\nLong"));
    }
}
