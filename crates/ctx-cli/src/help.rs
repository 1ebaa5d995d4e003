//! The output of `-h` and `--help`.
//!
//! `-h` fits on one screen and shows the flags that most people need. `--help` fits on two screens:
//! it lists all flags in groups, one line per flag, and ends with examples. Only the manual
//! contains the long descriptions of flags. Clap would print the long descriptions for `--help`, so
//! this module renders `--help` from the short descriptions.

use std::fmt::Write as _;
use std::io;

use clap::builder::PossibleValue;
use clap::{Arg, Command};

use crate::Tool;
use crate::tool::{WIDTH, whole_name};

/// The number of lines that fit on two screens.
const SCREENS: usize = 90;

/// The maximum length in bytes of a list of possible values in the help.
const LONGEST_LIST: usize = 60;

/// Prints the short or long help for the tool or one of its commands, whichever clap rendered.
pub(crate) fn print(tool: &Tool, name: Option<&str>, rendered: &str) -> io::Result<()> {
    let is_short = rendered.contains("\nAll flags: ");
    let mut command = if is_short { short(tool, name) } else { long(tool, name) };
    command.print_help()
}

/// Returns the complete clap command of the tool or of one of its commands.
pub(crate) fn built(tool: &Tool, name: Option<&str>) -> Command {
    let mut command = tool.full_command();
    command.build();
    let of_tool = name.and_then(|name| command.find_subcommand(name)).cloned();
    of_tool.unwrap_or(command)
}

/// Returns a clap command whose short help is the output of `-h`.
pub fn short(tool: &Tool, name: Option<&str>) -> Command {
    built(tool, name).mut_args(one_line)
}

/// Returns a clap command whose short help is the output of `--help`.
pub fn long(tool: &Tool, name: Option<&str>) -> Command {
    let command = short(tool, name);
    let about = description(&command);
    let command = command.mut_args(|arg| arg.hide_short_help(false)).about(about);
    let mut without = command.clone().after_help("").term_width(WIDTH);
    let lines = without.render_help().to_string();
    let room = SCREENS.saturating_sub(lines.trim_end().lines().count());
    command.after_help(ending(tool, name, room))
}

/// Shortens a flag's help to one line. Environment variables are left out, because the manual has a
/// section about them. Long lists of possible values are left out, because the error message for an
/// invalid value contains the list.
fn one_line(arg: Arg) -> Arg {
    let values = arg.get_possible_values();
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    let list = names.join(", ");
    let is_shown = !names.is_empty() && names != ["true", "false"] && list.len() <= LONGEST_LIST;
    let is_shown = is_shown && !arg.is_hide_possible_values_set();
    let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    // The help text of the flag may end with the default value in brackets.
    let (what, default) = text.split_at(text.find(" [").unwrap_or(text.len()));
    let arg = if is_shown { arg.clone().help(format!("{what}: {list}{default}")) } else { arg };
    arg.hide_env(true).hide_possible_values(true)
}

/// Returns the summary line of a command and the first paragraph of its long description.
fn description(command: &Command) -> String {
    let text = |text: &clap::builder::StyledStr| text.to_string();
    let about = command.get_about().map(text).unwrap_or_default();
    let whole = command.get_long_about().map(text).unwrap_or_default();
    match whole.split("\n\n").nth(1) {
        Some(paragraph) => format!("{about}\n\n{paragraph}"),
        None => about,
    }
}

/// Returns as many examples as fit into `room` lines (at least two), followed by a reference to the
/// manual.
fn ending(tool: &Tool, name: Option<&str>, room: usize) -> String {
    let whole = whole_name(tool, name);
    // Two blank lines, the heading of the examples and the line about the manual take up four
    // lines.
    let most = (room.saturating_sub(4) / 2).max(2);
    let page = tool.page();
    let mut examples = String::new();
    for (command, what) in page.examples.iter().filter(|row| row.0.contains(&whole)).take(most) {
        let _ = write!(examples, "  # {what}\n  {command}\n");
    }
    format!("Examples:\n{examples}\nManual: {0} --man, or man {0}", tool.name)
}
