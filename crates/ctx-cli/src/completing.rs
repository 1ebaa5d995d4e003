//! Shell completion: the scripts, and the answers to the shells' requests.
//!
//! Each script runs its tool with the words typed so far as arguments and with the name of the
//! shell in the environment variable `CTX_COMPLETE`. Instead of running, the tool then prints the
//! completions that `clap_complete` finds. [`Binary::completed`] provides the values to complete.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ArgMatches, Command, ValueEnum};
use clap_complete::env::Shells;

use crate::{Binary, Shell};

/// The environment variable that a completion script sets to the name of its shell.
const VARIABLE: &str = "CTX_COMPLETE";

impl Shell {
    /// Returns the completion script for the tool `name`. The shell finds the tool in its `PATH`.
    pub fn script(self, name: &str) -> String {
        let script = match self {
            Self::Bash => include_str!("completing/bash.sh"),
            Self::Zsh => include_str!("completing/zsh.zsh"),
            Self::Fish => include_str!("completing/fish.fish"),
        };
        script.replace("TOOL", name)
    }
}

/// Answers a shell's request for completions, or returns `None` if the shell made no request.
pub(crate) fn answer(binary: &Binary) -> Option<ExitCode> {
    let name = std::env::var(VARIABLE).ok()?;
    let (shell, engines) = (Shell::from_str(&name, false).ok()?, Shells::builtins());
    let mut args = std::env::args_os().skip(1);
    args.next().filter(|first| first == "--")?;
    let words: Vec<OsString> = args.collect();
    let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
    // Fish passes only the part of the command line before the cursor.
    let index = index.filter(|_| shell != Shell::Fish);
    let index = index.unwrap_or(words.len().saturating_sub(1)).min(words.len());
    let (before, current) = words.split_at(index);
    let mut command = binary.tool.full_command();
    let typed = parsed(command.clone(), before);
    if current.first().is_none_or(|word| word.is_empty()) {
        command = calmed(command);
    }
    let mut command = (binary.completed)(command, &typed);
    let mut answer = Vec::new();
    let directory = std::env::current_dir().ok();
    let engine = engines.completer(&name)?;
    let written = engine.write_complete(&mut command, words, directory.as_deref(), &mut answer);
    // An error cannot be reported, because the user is still typing the command line.
    let printed = written.and_then(|()| io::stdout().write_all(&answer));
    Some(if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Parses the words before the cursor, ignoring errors. If the words include a subcommand, returns
/// the arguments of the subcommand.
fn parsed(command: Command, words: &[OsString]) -> ArgMatches {
    let matches = command.ignore_errors(true).try_get_matches_from(words);
    let mut matches = matches.unwrap_or_default();
    matches.remove_subcommand().map_or(matches, |(_, of_command)| of_command)
}

/// Hides the flags while the current word is empty, because dozens of flags would crowd out the
/// values. Clap still offers hidden flags if nothing else matches.
fn calmed(command: Command) -> Command {
    let without_flags = |command: Command| {
        let command = command.disable_help_flag(true).disable_version_flag(true);
        command.mut_args(|arg| {
            let is_flag = !arg.is_positional();
            arg.hide(is_flag)
        })
    };
    without_flags(command).mut_subcommands(without_flags)
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::parsed;
    use crate::Shell;

    /// Returns the value of `--store`, even if the command line is still incomplete.
    fn store(words: &[&str]) -> Option<String> {
        let arg = Arg::new("store").long("store").short('t');
        let quiet = Arg::new("quiet").short('q').action(clap::ArgAction::SetTrue);
        let needed = Arg::new("file").required(true);
        let command = Command::new("ctx-x").args([arg, quiet, needed]).args_override_self(true);
        let words: Vec<_> = words.iter().map(Into::into).collect();
        parsed(command, &words).get_one("store").cloned()
    }

    /// The offered values depend on flags typed earlier, such as `--store /s` or `-t=/s`.
    #[test]
    fn the_value_of_a_flag_is_found_however_it_was_typed() {
        for words in [
            &["ctx-x", "--store", "/s"][..],
            &["ctx-x", "--store=/s", "-q"],
            &["ctx-x", "-t", "/s"],
            &["ctx-x", "-t/s", "-q"],
            &["ctx-x", "-t=/s", "--no-such"],
        ] {
            assert_eq!(store(words).as_deref(), Some("/s"), "{words:?}");
        }
        assert_eq!(store(&["ctx-x", "--store"]), None);
    }

    /// If a flag is repeated, completion uses its last value, just as the tool does when it runs.
    #[test]
    fn the_last_of_a_flag_counts() {
        assert_eq!(store(&["ctx-x", "--store=/a", "--store", "/b"]).as_deref(), Some("/b"));
    }

    /// A completion script mentions only its own tool.
    #[test]
    fn scripts_name_their_tool() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = shell.script("ctx-count");
            assert!(script.contains("ctx-count --") && !script.contains("TOOL"));
        }
    }
}
