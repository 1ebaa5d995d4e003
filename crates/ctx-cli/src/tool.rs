//! A tool and its command: the flags, their order in help, and the page of the manual.

use clap::builder::Resettable;
use clap::{ArgMatches, Args as _, Command};
use serde::Deserialize;

use crate::common_args::CommonArgs;
use crate::{ExitStatus, Failure, Io, Outcome};

/// The maximum length of a line, even on wider terminals.
pub(crate) const WIDTH: usize = 100;

/// The parts of a binary.
#[derive(Clone, Copy)]
pub struct Binary {
    /// The tool.
    pub tool: &'static Tool,
    /// The manual page of the tool, in roff.
    pub manual: &'static str,
    /// Answers a flag that several tools have, and returns true; the tool then does not run.
    pub answered: fn(&ArgMatches, &mut Io) -> Result<bool, Failure>,
    /// Adds completers to the arguments of a command; the matches are those of the line so far.
    pub completed: fn(Command, &ArgMatches) -> Command,
}

/// One tool: the source of its binary, its man page, its completions and its tests.
#[derive(Clone, Copy)]
pub struct Tool {
    /// The name, such as `ctx-count`.
    pub name: &'static str,
    /// Returns the command; the doc comments of its `Args` are the help.
    pub command: fn() -> Command,
    /// Runs the tool.
    pub run: fn(&ArgMatches, &mut Io) -> Outcome,
    /// The long names of the flags that most people need, separated by spaces. `-h` shows only
    /// these, and they come first everywhere, in this order. They include the flags of all
    /// commands.
    pub first: &'static str,
    /// The [`Page`], in TOML.
    pub page: &'static str,
}

/// The content of a manual besides the flags. It is only read for help, manuals and usage errors.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    guesses: Vec<(String, String)>,
    /// Exit statuses with a special meaning in this tool.
    pub exit_status: Vec<(u8, String)>,
    /// Variables and what they set.
    pub environment: Vec<(String, String)>,
    /// Files that the tool reads or writes.
    pub files: Vec<(String, String)>,
    /// Commands and what each does; `--help` ends with the first ones.
    pub examples: Vec<(String, String)>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        toml::from_str(text).expect("a page is valid TOML: a test reads each")
    }

    /// Returns the exit statuses of the tool with their meanings. A tool that never answers "no"
    /// has no 1.
    pub fn statuses(&self) -> impl Iterator<Item = (u8, &str)> {
        ExitStatus::TABLE.into_iter().filter_map(|(status, meaning)| {
            let here = self.exit_status.iter().find(|(code, _)| *code == status.code());
            let meaning = match here {
                Some((_, here)) => here,
                None if status == ExitStatus::No => return None,
                None => meaning,
            };
            Some((status.code(), meaning))
        })
    }

    /// Returns words that users of other tools type, each with an answer. A word is a flag, a flag
    /// with its value, the first operand, or `FILE` for any superfluous operand. The answer is the
    /// flags to use instead, or a sentence of advice.
    pub fn guesses(&self) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.guesses.iter();
        rows.flat_map(|(typed, answer)| typed.split(", ").map(move |one| (one, answer.as_str())))
    }
}

impl Tool {
    /// Returns the content of the manual besides the flags.
    pub fn page(&self) -> Page {
        Page::parse(self.page)
    }

    /// Returns the command with everything that all tools share: version, order of flags, `-q`,
    /// `-v` and `--color`.
    pub fn full_command(&self) -> Command {
        let own = (self.command)();
        let (about, long_about) = (own.get_about().cloned(), own.get_long_about().cloned());
        let command = CommonArgs::augment_args(own)
            // The added flags replace the description.
            .about(about.unwrap_or_default())
            .long_about(Resettable::from(long_about))
            .name(self.name)
            .version(env!("CARGO_PKG_VERSION"))
            .max_term_width(WIDTH)
            .args_override_self(true);
        let command = in_order(command, self, None);
        command.mut_subcommands(|of_tool| {
            let name = of_tool.get_name().to_owned();
            let of_tool = of_tool.args_override_self(true);
            in_order(of_tool, self, Some(&name))
        })
    }
}

/// Returns the command for `-h` and the manual. The flags that most people need come first, and
/// `-h` shows only these.
pub(crate) fn in_order(command: Command, tool: &Tool, name: Option<&str>) -> Command {
    let first: Vec<&str> = tool.first.split_whitespace().collect();
    let mut behind = first.len();
    let command = command.mut_args(|arg| {
        let Some(long) = arg.get_long() else { return arg };
        if let Some(place) = first.iter().position(|it| *it == long) {
            return arg.display_order(place).help_heading(None::<&str>);
        }
        behind += 1;
        // Every `-h` shows these two.
        let is_common = matches!(long, "quiet" | "verbose");
        arg.display_order(behind).hide_short_help(!is_common)
    });
    let whole = whole_name(tool, name);
    let footer = format!("All flags: {whole} --help; the manual: {0} --man, or man {0}", tool.name);
    let command = command.after_help(footer);
    // Clap's own long help is never printed, but must not look like the short one.
    command.after_long_help("")
}

/// Returns the name of the tool, or of one of its commands.
pub(crate) fn whole_name(tool: &Tool, name: Option<&str>) -> String {
    name.map_or(tool.name.to_owned(), |name| format!("{} {name}", tool.name))
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
