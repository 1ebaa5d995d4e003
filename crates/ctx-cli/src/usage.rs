//! Converts clap's usage errors into failures that say in one line what is wrong and what to do.
//!
//! Clap's own tips are not used, because they suggest the most similar name even if it means
//! something else, or suggest that a flag is a file. If the user typed a word from another tool,
//! this module suggests the equivalent in this tool, or else a name with nearly the same spelling.
//! If there is no clear match, nothing is suggested.

use std::borrow::Borrow;
use std::error::Error as _;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use crate::tool::whole_name;
use crate::{Failure, Page, Tool, help, shell_word};

/// Returns the subcommand that the user typed, if the tool has subcommands.
pub(crate) fn command_of(tool: &Tool, args: &[OsString]) -> Option<String> {
    let command = tool.full_command();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let mut typed = args.iter().filter_map(|arg| arg.to_str());
    typed.find(|arg| names.contains(arg)).map(str::to_owned)
}

/// Converts an error from clap into a failure.
pub(crate) fn failure(tool: &Tool, args: &[OsString], error: &clap::Error) -> Failure {
    if let Some(failure) = misread(tool, args) {
        return failure;
    }
    let usage = Usage::of(tool, args);
    let names = |kind| strings(error, kind);
    let first_of = |kind| strings(error, kind).into_iter().next().unwrap_or_default();
    let (first, value) = (first_of(ContextKind::InvalidArg), first_of(ContextKind::InvalidValue));
    let first = first.as_str();
    match error.kind() {
        ErrorKind::UnknownArgument if first.starts_with('-') => usage.unknown_flags(first, args),
        ErrorKind::UnknownArgument => usage.too_many(first),
        ErrorKind::TooManyValues => {
            let tip = usage.suggestion(ANY);
            Failure::new(format_args!("{first} takes no value")).hint(usage.hint(tip))
        }
        ErrorKind::InvalidSubcommand => {
            let typed = first_of(ContextKind::InvalidSubcommand);
            Usage::of(tool, &[]).unknown_command(&typed)
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::new("a command is missing").hint(usage.commands())
        }
        ErrorKind::InvalidValue if value.is_empty() => usage.without_value(first),
        ErrorKind::InvalidValue => {
            usage.wrong_value(first, &value, &names(ContextKind::ValidValue))
        }
        ErrorKind::ValueValidation => {
            let wanted = error.source().map(ToString::to_string).unwrap_or_default();
            // The standard library and clap describe numbers for programmers.
            let wanted = match wanted.as_str() {
                it if it.contains("digit found") => "expected a whole number",
                it if it.contains("non-zero") || it.contains(" in 1..") => "expected 1 or more",
                it => it,
            };
            Failure::new(format_args!("{} {value:?}: {wanted}", flag(first)))
        }
        ErrorKind::NoEquals => {
            let flag = flag(first);
            Failure::new(format_args!("{flag} takes its value after =")).hint(usage.see())
        }
        ErrorKind::ArgumentConflict => conflict(first, &names(ContextKind::PriorArg)),
        ErrorKind::MissingRequiredArgument => usage.missing(&names(ContextKind::InvalidArg)),
        _ => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            Failure::new(line.trim_start_matches("error: ")).hint(usage.see())
        }
    }
}

/// Returns the failure for a long name after a single hyphen, such as `-output`, which clap reads
/// as short names or as a short name with its value.
pub(crate) fn misread(tool: &Tool, args: &[OsString]) -> Option<Failure> {
    let is_long = |arg: &&str| arg.len() > 3 && arg.starts_with('-') && !arg.starts_with("--");
    let typed = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
    let mut typed = typed.filter(is_long).peekable();
    typed.peek()?;
    let usage = Usage::of(tool, args);
    let flag = typed.find(|arg| flag_named(&usage.command, &format!("-{arg}")).is_some())?;
    let tip = question(&[format!("-{flag}")]);
    Some(Failure::new(format_args!("there is no flag {flag}")).hint(usage.hint(tip)))
}

/// Returns a failure if the first argument is not a file but looks like the command of another
/// tool. Without this check, the tool would only report a missing file.
pub(crate) fn no_file(tool: &Tool, args: &[OsString]) -> Option<Failure> {
    let word = args.first()?.to_str()?;
    // Parsing the tool's page takes longer than parsing the flags, so do it only if there is no
    // file with this name.
    if word.starts_with('-') || word == ANY || Path::new(word).symlink_metadata().is_ok() {
        return None;
    }
    let page = tool.page();
    let (_, suggestion) = page.guesses().find(|(key, _)| *key == word)?;
    if tool.full_command().has_subcommands() {
        return None;
    }
    let hint = if suggestion.starts_with('-') {
        format!("did you mean {} {suggestion}?", tool.name)
    } else {
        suggestion.to_owned()
    };
    Some(Failure::new(format_args!("there is no file {word}")).hint(hint))
}

/// The word in [`Page::guesses`] that matches any superfluous operand.
const ANY: &str = "FILE";

/// The tool and the subcommand that the user called, for error messages.
struct Usage<'t> {
    tool: &'t Tool,
    command: Command,
    /// The full name of the subcommand, such as `ctx-memory search`.
    name: String,
}

impl<'t> Usage<'t> {
    fn of(tool: &'t Tool, args: &[OsString]) -> Self {
        let name = command_of(tool, args);
        let name = name.as_deref();
        Self { tool, command: help::built(tool, name), name: whole_name(tool, name) }
    }

    fn suggestion(&self, typed: &str) -> Option<String> {
        suggestion(&self.tool.page(), typed, &self.command)
    }

    /// Looks up the typed word in the tool's own page, and returns the answer found there, if any.
    fn guess(&self, typed: &str) -> Option<String> {
        let page = self.tool.page();
        page.guesses().find(|(key, _)| *key == typed).map(|(_, answer)| answer.to_owned())
    }

    /// Returns the names of the subcommands.
    fn command_names(&self) -> impl Iterator<Item = &str> {
        self.command.get_subcommands().map(Command::get_name).filter(|name| *name != "help")
    }

    fn see(&self) -> String {
        format!("see {} -h", self.name)
    }

    /// Returns the hint for a failure. If `tip` is a question, the hint also names the command that
    /// lists the flags.
    fn hint(&self, tip: Option<String>) -> String {
        match tip {
            Some(tip) if tip.ends_with('?') => format!("{tip} ({} -h)", self.name),
            Some(tip) => tip,
            None => self.see(),
        }
    }

    /// Returns the failure for the first unknown flag and for all later ones with long names, so
    /// that they can be fixed together.
    fn unknown_flags(&self, first: &str, args: &[OsString]) -> Failure {
        let name = |typed: &str| typed.split('=').next().unwrap_or(typed).to_owned();
        let first = name(first);
        let typed = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str());
        let others = typed.map(name).filter(|flag| flag.starts_with("--") && *flag != first);
        let mut hint = self.unknown_flag(&first);
        for flag in others.filter(|flag| flag_named(&self.command, flag).is_none()) {
            hint = format!("{hint}; there is no flag {flag}; {}", self.unknown_flag(&flag));
        }
        Failure::new(format_args!("there is no flag {first}")).hint(hint)
    }

    /// Returns the hint for an unknown flag.
    fn unknown_flag(&self, typed: &str) -> String {
        let similar = || similar_flags(typed, &self.command).filter(|_| typed.starts_with("--"));
        self.hint(self.suggestion(typed).or_else(similar))
    }

    /// Returns the failure for a superfluous operand.
    fn too_many(&self, typed: &str) -> Failure {
        let word = shell_word(typed);
        let tip = self.suggestion(typed).or_else(|| self.as_value(typed));
        let tip = tip.or_else(|| self.suggestion(ANY));
        let taken: Vec<String> = self.command.get_positionals().map(operand).collect();
        let operands = if taken.is_empty() { "no files".to_owned() } else { taken.join(" and ") };
        let what = format!("unexpected operand {word}: the tool takes {operands}");
        Failure::new(what).hint(self.hint(tip))
    }

    /// Suggests the flag that accepts the typed word as its value.
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
        let tip = self.guess(typed).map(|answer| {
            let word = answer.split(' ').next().unwrap_or(&answer);
            let is_command = word.starts_with("ctx") || self.command_names().any(|it| it == word);
            if is_command { format!("did you mean {answer}?") } else { answer }
        });
        let tip = tip.or_else(|| question(&similar(typed, self.command_names())));
        let hint = tip.map_or_else(|| self.commands(), |tip| self.hint(Some(tip)));
        Failure::new(format_args!("there is no command {}", shell_word(typed))).hint(hint)
    }

    /// Returns the hint that lists the subcommands.
    fn commands(&self) -> String {
        let names: Vec<&str> = self.command_names().collect();
        self.hint(Some(format!("use one of {}", names.join(", "))))
    }

    fn without_value(&self, argument: &str) -> Failure {
        let flag = flag(argument);
        if !flag.starts_with('-') {
            return Failure::new(format_args!("{flag} is empty")).hint("- stands for stdin");
        }
        let values =
            flag_named(&self.command, flag).map(Arg::get_possible_values).unwrap_or_default();
        let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        let hint = match values.as_slice() {
            [] => self.see(),
            values => format!("use one of {}", values.join(", ")),
        };
        Failure::new(format_args!("{flag} needs a value")).hint(hint)
    }

    fn wrong_value(&self, argument: &str, value: &str, valid: &[String]) -> Failure {
        let flag = flag(argument);
        let tip = self.guess(&format!("{flag} {value}")).map(|answer| {
            // The answer is either a value, possibly followed by more text, or a sentence of
            // advice.
            let word = answer.split([',', ' ']).next().unwrap_or(&answer);
            let is_value = valid.iter().any(|value| value == word);
            if is_value { format!("did you mean {answer}?") } else { answer }
        });
        let tip = tip.or_else(|| question(&similar(value, valid.iter().map(String::as_str))));
        let valid = format!("use one of {}", valid.join(", "));
        let hint = tip.map_or_else(|| valid.clone(), |tip| format!("{tip} ({valid})"));
        Failure::new(format_args!("{flag} cannot be {value:?}")).hint(hint)
    }

    fn missing(&self, missing: &[String]) -> Failure {
        // Without clap's brackets: `<FILE>` is FILE, `<--a <X>|--b>` is "--a X or --b".
        let plain =
            |it: &String| it.replace(['<', '>'], "").replace("...", "").replace('|', " or ");
        let what: Vec<String> = missing.iter().map(plain).collect();
        let usage = self.command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim();
        let first = missing.first().map_or("", String::as_str);
        let hint = self
            .guess(first)
            .or_else(|| first.starts_with("--").then(|| format!("add {}", what.join(" and "))));
        let hint = hint.unwrap_or_else(|| format!("usage: {usage}"));
        let verb = if what.len() > 1 { "are" } else { "is" };
        Failure::new(format_args!("{} {verb} missing", what.join(" and "))).hint(hint)
    }
}

/// Returns the failure for two or more flags that cannot be used together.
fn conflict(argument: &str, prior: &[String]) -> Failure {
    let (one, others) = (flag(argument), prior.iter().map(|it| flag(it)));
    let others: Vec<&str> = others.filter(|other| *other != one).collect();
    if others.is_empty() {
        return Failure::new(format_args!("{one} is given twice")).hint("give it once");
    }
    let others = others.join(" and ");
    Failure::new(format_args!("{one} cannot be used with {others}")).hint("leave one of them out")
}

/// Returns the strings of the given kind from a clap error's context.
fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    }
}

/// Removes the value's name, so `--budget <N>` becomes `--budget`, and `[FILE]...` becomes `FILE`.
fn flag(argument: &str) -> &str {
    let name = argument.trim_start_matches(['<', '[']);
    name.split([' ', '=', '[', ']', '>']).next().unwrap_or(name)
}

/// Describes an operand for a message, such as `one FILE`.
fn operand(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    names.iter().map(|name| format!("one {name}")).collect::<Vec<_>>().join(" and ")
}

/// Guesses for all tools that have the suggested flag. The tool's own [`Page::guesses`] take
/// precedence.
const COMMON: &str = include_str!("guesses.toml");

/// The maximum number of names in a suggestion.
const PROPOSED: usize = 4;

/// The minimum similarity for a word to count as a misspelling of a name. Equal words have a
/// similarity of 1.
const ALIKE: f64 = 0.75;

/// Returns the first usable guess for the typed word: a sentence, or a flag that the command has.
fn suggestion(own: &Page, typed: &str, command: &Command) -> Option<String> {
    let common = Page::parse(COMMON);
    let applies = |answer: &str| !answer.starts_with('-') || has(command, answer);
    let mut rows = own.guesses().chain(common.guesses());
    let (_, answer) = rows.find(|(key, answer)| *key == typed && applies(answer))?;
    let is_flag = answer.starts_with('-');
    // A sentence of advice is returned unchanged.
    Some(if is_flag { format!("did you mean {answer}?") } else { answer.to_owned() })
}

/// Returns true if the first flag in `suggestion` is one of the command's visible flags.
fn has(command: &Command, suggestion: &str) -> bool {
    let flag = suggestion.split([' ', '=', ',']).next().unwrap_or(suggestion);
    flag_named(command, flag).is_some_and(|arg| !arg.is_hide_set())
}

/// Returns the command's flag that is typed as `flag`, such as `--dry-run`, `-n` or `-nq`.
fn flag_named<'c>(command: &'c Command, flag: &str) -> Option<&'c Arg> {
    let mut arguments = command.get_arguments();
    match (flag.strip_prefix("--"), flag.strip_prefix('-')) {
        (Some(long), _) => arguments.find(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long() == Some(long) || aliases.contains(&long)
        }),
        (None, short) => {
            let short = short?.chars().next()?;
            arguments.find(|arg| arg.get_short() == Some(short))
        }
    }
}

/// Suggests the flags that begin with the typed word, or else flags with a similar spelling.
fn similar_flags(typed: &str, command: &Command) -> Option<String> {
    let arguments = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let longs = arguments.filter_map(|arg| arg.get_long());
    let similar = similar(typed.trim_start_matches('-'), longs);
    question(&similar.iter().map(|name| format!("--{name}")).collect::<Vec<_>>())
}

/// Returns the question "did you mean a, b or c?", or `None` if `names` is empty.
pub fn question<S: Borrow<str> + Display>(names: &[S]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// Returns the names that begin with the typed word, or else the names that are spelled most like
/// it.
fn similar<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let names: Vec<&str> = names.collect();
    let begun: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(typed)).collect();
    if typed.len() > 1 && (1..=PROPOSED).contains(&begun.len()) {
        return begun;
    }
    let mut alike: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(typed, name), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let best = alike.first().map(|(alike, _)| *alike);
    let best = alike.iter().filter(|(alike, _)| Some(*alike) == best);
    best.map(|(_, name)| *name).take(PROPOSED).collect()
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Command};

    use super::{COMMON, similar, similar_flags, suggestion};
    use crate::Page;

    fn command(longs: &[&'static str]) -> Command {
        let args = longs.iter().map(|long| {
            let short = if *long == "dry-run" { Some('n') } else { None };
            Arg::new(*long).long(*long).short(short).action(ArgAction::SetTrue)
        });
        Command::new("ctx-sample").args(args)
    }

    /// A tool's own answers take precedence, and no answer mentions a flag that the tool does not
    /// have.
    #[test]
    fn what_is_meant_is_a_flag_of_the_tool_or_a_sentence() {
        let command = command(&["dry-run", "json", "budget"]);
        let own = Page::parse(
            r#"guesses = [["--max-tokens", "--budget"], ["-f", "--nowhere"], ["-l", "-n"]]"#,
        );
        let suggestion = |typed| suggestion(&own, typed, &command);
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(suggestion("--max-tokens"), said("did you mean --budget?"));
        assert_eq!(suggestion("--simulate"), said("did you mean --dry-run?"));
        assert_eq!(suggestion("-f"), said("did you mean --json?"));
        assert_eq!(suggestion("-l"), said("did you mean -n?"));
        assert_eq!(suggestion("-m"), None);
        assert_eq!(suggestion("--file"), said("name files without a flag"));
    }

    /// There is a suggestion for a misspelled flag, but none for a different word of the same
    /// length.
    #[test]
    fn only_what_is_spelled_alike_is_proposed() {
        let names = ["window", "store", "method", "max-tokens", "max-messages", "purge"];
        let similar = |typed| similar(typed, names.into_iter());
        assert_eq!(similar("methd"), ["method"]);
        assert_eq!(similar("max"), ["max-tokens", "max-messages"]);
        for typed in ["undo", "tokens", "prune", "s", "threshold"] {
            assert_eq!(similar(typed), Vec::<&str>::new(), "{typed}");
        }
        assert_eq!(
            similar_flags("--max", &command(&names)).as_deref(),
            Some("did you mean --max-tokens or --max-messages?")
        );
    }

    #[test]
    fn the_common_table_has_each_pair_once() {
        let common = Page::parse(COMMON);
        let rows: Vec<_> = common.guesses().collect();
        for (index, row) in rows.iter().enumerate() {
            assert!(!rows[..index].contains(row), "{row:?}");
        }
    }
}
