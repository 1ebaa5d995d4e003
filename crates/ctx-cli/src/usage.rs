//! Usage errors in the form that all failures have: one line, what is wrong, what to do.
//!
//! Clap's own tips are not among them: it proposes the name that is least unlike, and else to
//! take a flag for a file.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use crate::guess::{question, similar, similar_flags, suggestion};
use crate::{Failure, Tool, shell_word};

/// The command of a tool that was typed, if it has commands.
pub(crate) fn command_of(tool: &Tool, args: &[OsString]) -> Option<String> {
    let command = tool.full_command();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let mut typed = args.iter().filter_map(|arg| arg.to_str());
    typed.find(|arg| names.contains(arg)).map(str::to_owned)
}

/// The failure for an error of clap.
pub(crate) fn failure(tool: &Tool, args: &[OsString], error: &clap::Error) -> Failure {
    let usage = Usage::of(tool, args);
    let names = |kind| strings(error, kind);
    let invalid = names(ContextKind::InvalidArg);
    let first = invalid.first().map_or("", String::as_str);
    let value = names(ContextKind::InvalidValue);
    let value = value.first().map_or("", String::as_str);
    match error.kind() {
        ErrorKind::UnknownArgument if first.starts_with('-') => usage.unknown_flag(first),
        ErrorKind::UnknownArgument => usage.too_many(first),
        ErrorKind::InvalidSubcommand => {
            let typed = names(ContextKind::InvalidSubcommand);
            usage.unknown_command(typed.first().map_or("", String::as_str))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::new("a command is missing").hint(usage.commands())
        }
        ErrorKind::InvalidValue if value.is_empty() => usage.without_value(first),
        ErrorKind::InvalidValue => usage.wrong_value(first, value, &names(ContextKind::ValidValue)),
        ErrorKind::ValueValidation => {
            let wanted = error.source().map(ToString::to_string).unwrap_or_default();
            Failure::new(format_args!("{} {value:?}: {wanted}", flag(first)))
        }
        ErrorKind::NoEquals => {
            let flag = flag(first);
            Failure::new(format_args!("{flag} takes its value behind =")).hint(usage.see())
        }
        ErrorKind::ArgumentConflict => conflict(first, &names(ContextKind::PriorArg)),
        ErrorKind::MissingRequiredArgument => usage.missing(&invalid),
        _ => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            Failure::new(line.trim_start_matches("error: ")).hint(usage.see())
        }
    }
}

/// A first operand that is no file but a command of another tool. Without this, the tool would only
/// report a missing file.
pub(crate) fn no_file(tool: &Tool, args: &[OsString]) -> Option<Failure> {
    let word = args.first()?.to_str()?;
    let is_word = |key: &str| key == word && !key.starts_with('-') && key != ANY;
    let page = tool.page();
    let (_, suggestion) = page.guesses().find(|(key, _)| is_word(key))?;
    if Path::new(word).symlink_metadata().is_ok() || tool.full_command().has_subcommands() {
        return None;
    }
    let hint = if suggestion.starts_with('-') {
        format!("did you mean {} {suggestion}?", tool.name)
    } else {
        suggestion.to_owned()
    };
    Some(Failure::new(format_args!("there is no file {word}")).hint(hint))
}

/// The key in a table of guesses for any operand that is too many.
const ANY: &str = "FILE";

/// A command line as the user typed it, with its command.
struct Usage<'t> {
    tool: &'t Tool,
    command: Command,
    /// The full name, such as `ctx-memory search`.
    name: String,
}

impl<'t> Usage<'t> {
    fn of(tool: &'t Tool, args: &[OsString]) -> Self {
        let mut command = tool.full_command();
        command.build();
        let mut name = tool.name.to_owned();
        if let Some(of_tool) = command_of(tool, args) {
            name = format!("{name} {of_tool}");
            if let Some(of_tool) = command.find_subcommand(of_tool) {
                command = of_tool.clone();
            }
        }
        Self { tool, command, name }
    }

    fn suggestion(&self, typed: &str) -> Option<String> {
        suggestion(&self.tool.page(), typed, &self.command)
    }

    fn see(&self) -> String {
        format!("see {} -h", self.name)
    }

    /// A tip; if it is a question, also where to see the flags.
    fn hint(&self, tip: Option<String>) -> String {
        match tip {
            Some(tip) if tip.ends_with('?') => format!("{tip} ({} -h)", self.name),
            Some(tip) => tip,
            None => self.see(),
        }
    }

    fn unknown_flag(&self, typed: &str) -> Failure {
        let typed = typed.split('=').next().unwrap_or(typed);
        let tip = self.suggestion(typed);
        let tip = tip.or_else(|| {
            let is_long = typed.starts_with("--");
            is_long.then(|| similar_flags(typed, &self.command)).flatten()
        });
        Failure::new(format_args!("there is no flag {typed}")).hint(self.hint(tip))
    }

    /// An operand after the last one that is accepted.
    fn too_many(&self, typed: &str) -> Failure {
        let word = shell_word(typed);
        let tip = self.suggestion(typed).or_else(|| self.as_value(typed));
        let tip = tip.or_else(|| self.suggestion(ANY));
        let taken: Vec<String> = self.command.get_positionals().map(operand).collect();
        let what = match taken.as_slice() {
            [] => format!("it takes no file, and {word} is one"),
            taken => format!("it takes {}, and {word} is one too many", taken.join(" and ")),
        };
        Failure::new(what).hint(self.hint(tip))
    }

    /// A word that is a value of one of the flags.
    fn as_value(&self, typed: &str) -> Option<String> {
        let mut arguments = self.command.get_arguments().filter(|arg| !arg.is_positional());
        let takes = |arg: &&Arg| {
            let values = arg.get_possible_values();
            values.iter().any(|value| value.get_name() == typed)
        };
        let long = arguments.find(takes)?.get_long()?;
        question(&[format!("--{long} {typed}")])
    }

    fn unknown_command(&self, typed: &str) -> Failure {
        let names = self.command.get_subcommands().map(Command::get_name);
        let similar = similar(typed, names.filter(|name| *name != "help"));
        let similar: Vec<String> = similar.into_iter().map(str::to_owned).collect();
        let page = self.tool.page();
        let guess = page.guesses().find(|(key, _)| *key == typed);
        let tip = guess.map(|(_, suggestion)| format!("did you mean {suggestion}?"));
        let tip = tip.or_else(|| question(&similar));
        let hint = tip.map_or_else(|| self.commands(), |tip| self.hint(Some(tip)));
        Failure::new(format_args!("there is no command {}", shell_word(typed))).hint(hint)
    }

    /// The commands that there are.
    fn commands(&self) -> String {
        let names = self.command.get_subcommands().map(Command::get_name);
        let names: Vec<&str> = names.filter(|name| *name != "help").collect();
        self.hint(Some(format!("one of {}", names.join(", "))))
    }

    fn without_value(&self, argument: &str) -> Failure {
        let flag = flag(argument);
        let arguments = self.command.get_arguments();
        let named = format!("--{}", flag.trim_start_matches('-'));
        let mut named = arguments.filter(|arg| arg.get_long() == named.strip_prefix("--"));
        let values = named.next().map(Arg::get_possible_values).unwrap_or_default();
        let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        let hint = match values.as_slice() {
            [] => self.see(),
            values => format!("one of {}", values.join(", ")),
        };
        Failure::new(format_args!("{flag} needs a value")).hint(hint)
    }

    fn wrong_value(&self, argument: &str, value: &str, valid: &[String]) -> Failure {
        let flag = flag(argument);
        let typed = format!("{flag} {value}");
        let page = self.tool.page();
        let guess = page.guesses().find(|(key, _)| *key == typed);
        let tip = guess.map(|(_, suggestion)| {
            // A sentence has a word that is no value.
            let word = suggestion.split([',', ' ']).next().unwrap_or(suggestion);
            let is_value = valid.iter().any(|value| value == word);
            if is_value { format!("did you mean {suggestion}?") } else { suggestion.to_owned() }
        });
        let tip = tip.or_else(|| {
            let similar = similar(value, valid.iter().map(String::as_str));
            question(&similar.into_iter().map(str::to_owned).collect::<Vec<_>>())
        });
        let valid = format!("one of {}", valid.join(", "));
        let hint = tip.map_or_else(|| valid.clone(), |tip| format!("{tip} ({valid})"));
        Failure::new(format_args!("{flag} cannot be {value:?}")).hint(hint)
    }

    fn missing(&self, missing: &[String]) -> Failure {
        let what: Vec<String> = missing.iter().map(|it| plain(it)).collect();
        let usage = self.command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim();
        let hint = self.suggestion(missing.first().map_or("", String::as_str));
        let hint = hint.unwrap_or_else(|| format!("usage: {usage}"));
        let verb = if what.len() > 1 { "are" } else { "is" };
        Failure::new(format_args!("{} {verb} missing", what.join(" and "))).hint(hint)
    }
}

/// Flags that exclude each other.
fn conflict(argument: &str, prior: &[String]) -> Failure {
    let (one, others) = (flag(argument), prior.iter().map(|it| flag(it)));
    let others: Vec<&str> = others.filter(|other| *other != one).collect();
    if others.is_empty() {
        return Failure::new(format_args!("{one} is given twice")).hint("give it once");
    }
    let others = others.join(" and ");
    Failure::new(format_args!("{one} does not go with {others}")).hint("leave one of them out")
}

/// A list from the context of a clap error.
fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    }
}

/// `--budget <N>` without its value's name; `<FILE>` is FILE.
fn flag(argument: &str) -> &str {
    let flag = argument.split([' ', '=', '[']).next().unwrap_or(argument);
    flag.trim_matches(['<', '>', '.'])
}

/// The name of an operand.
fn operand(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let names = names.iter().map(|name| format!("one {name}"));
    names.collect::<Vec<_>>().join(" and ")
}

/// `<FILE>` is FILE, `<--a <X>|--b>` is "--a X or --b".
fn plain(argument: &str) -> String {
    let text = argument.replace(['<', '>'], "").replace("...", "");
    text.replace('|', " or ")
}
