//! The definition of a tool: its command, the order of its flags in the help, and its manual page.

use clap::builder::Resettable;
use clap::{ArgMatches, Args as _, Command};
use serde::{Deserialize, Serialize};

use crate::{CommonArgs, ExitStatus, Failure, Io, Outcome};

/// The maximum length of a help line, even on wider terminals.
pub(crate) const WIDTH: usize = 100;

/// A binary: the tool that it runs, and the functions that all tools share.
#[derive(Clone, Copy)]
pub struct Binary {
    /// The tool that the binary runs.
    pub tool: &'static Tool,
    /// The roff source of the tool's manual page.
    pub manual: &'static str,
    /// Handles flags that several tools share, such as `--list-models`. Returns true if the tool
    /// itself must not be run.
    pub answered: fn(&ArgMatches, &mut Io) -> Result<bool, Failure>,
    /// Adds completers to a command's arguments. The `ArgMatches` come from the command line typed
    /// so far.
    pub completed: fn(Command, &ArgMatches) -> Command,
}

/// The definition of a tool, used to build its binary, man page and completions, and in some tests.
#[derive(Clone, Copy)]
pub struct Tool {
    /// The name, such as `ctx-count`.
    pub name: &'static str,
    /// Returns the clap command. The help texts are the doc comments of the tool's `Args`.
    pub command: fn() -> Command,
    /// Runs the tool.
    pub run: fn(&ArgMatches, &mut Io) -> Outcome,
    /// The [`Page`], in TOML.
    pub page: &'static str,
}

/// The parts of a manual page that are not about flags. A page is parsed only for help, manuals and
/// usage errors.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// The long names of the flags that most people need, separated by spaces. `-h` shows only
    /// these flags, `--quiet` and `--verbose`, and every other list of flags begins with these
    /// flags, in this order. If the tool has subcommands, the list is for all subcommands.
    pub first: String,
    guesses: Vec<(String, String)>,
    /// The exit statuses with a special meaning in this tool.
    pub exit_status: Vec<(u8, String)>,
    /// The environment variables, each with a description of what it sets.
    pub environment: Vec<(String, String)>,
    /// The files that the tool reads or writes, each with a description of its content.
    pub files: Vec<(String, String)>,
    /// Example commands, each with a description. `--help` ends with the first few examples.
    pub examples: Vec<(String, String)>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        toml::from_str(text).expect("a test checks that each page is valid TOML")
    }

    /// Returns the exit statuses of the tool with their meanings. Status 1 is left out if the tool
    /// never answers "no".
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

    /// Returns words that users may know from other tools, each with the answer to print. A word is
    /// a flag, a flag with its value, the first operand, or `FILE` for any superfluous operand. An
    /// answer is either the flags to use instead or a sentence of advice.
    pub fn guesses(&self) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.guesses.iter();
        rows.flat_map(|(typed, answer)| typed.split(", ").map(move |one| (one, answer.as_str())))
    }
}

impl Tool {
    /// Creates the definition of the tool `name`.
    pub const fn new(
        name: &'static str,
        command: fn() -> Command,
        run: fn(&ArgMatches, &mut Io) -> Outcome,
        page: &'static str,
    ) -> Self {
        Self { name, command, run, page }
    }

    /// Returns [`Page::first`]. Every run needs it, so the rest of the page is not parsed.
    pub fn first(&self) -> impl Iterator<Item = &'static str> {
        let line = self.page.lines().find_map(|line| line.strip_prefix("first = "));
        line.unwrap_or_default().trim_matches('"').split_whitespace()
    }

    /// Returns the parts of the manual page that are not about flags.
    pub fn page(&self) -> Page {
        Page::parse(self.page)
    }

    /// Returns the clap command with everything that all tools have in common: the version, the
    /// order of flags, and flags such as `-q`, `-v` and `--color`.
    pub fn full_command(&self) -> Command {
        let own = (self.command)();
        let (about, long_about) = (own.get_about().cloned(), own.get_long_about().cloned());
        let command = CommonArgs::augment_args(own)
            // `augment_args` replaced the description, so restore it.
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

/// Returns the clap command with its flags in the order of `-h` and the manual. The flags that most
/// people need come first, and `-h` shows only these, `--quiet` and `--verbose`.
pub(crate) fn in_order(command: Command, tool: &Tool, name: Option<&str>) -> Command {
    let first: Vec<&str> = tool.first().collect();
    let mut behind = first.len();
    let command = command.mut_args(|arg| {
        let Some(long) = arg.get_long() else { return arg };
        let place = first.iter().position(|it| *it == long);
        // Every tool shows `--quiet` and `--verbose` in its `-h` output.
        let is_common = matches!(long, "quiet" | "verbose");
        // A negative number is refused as a number, not as an unknown flag.
        let takes_value = arg.get_action().takes_values();
        let arg = if takes_value { arg.allow_negative_numbers(true) } else { arg };
        if let Some(place) = place {
            return arg.display_order(place).help_heading(None::<&str>);
        }
        behind += 1;
        arg.display_order(behind).hide_short_help(!is_common)
    });
    let whole = whole_name(tool, name);
    let footer = format!("All flags: {whole} --help; the manual: {0} --man, or man {0}", tool.name);
    let command = command.after_help(footer);
    // Clap's own long help is never printed, but it must not contain the footer, by which
    // `help::print` recognizes the short help.
    command.after_long_help("")
}

/// Returns the full name of the tool or one of its subcommands.
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
        let command = || Command::new("x").about("Do it").long_about("Do it\n\nLong");
        let tool = Tool::new("ctx-test", command, |_, _| Ok(ExitStatus::Done), "");
        let command = tool.full_command();
        let about = command.get_about().map(ToString::to_string);
        let long_about = command.get_long_about().map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("Do it"));
        assert_eq!(long_about.as_deref(), Some("Do it\n\nLong"));
    }
}
