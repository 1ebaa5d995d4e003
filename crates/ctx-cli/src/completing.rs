//! Shell completion: the scripts for the shells, and the answers to their requests.
//!
//! Each script calls its tool with what was typed so far and `CTX_COMPLETE`, the name of the
//! shell. The tool then answers through `clap_complete` instead of running; [`Binary::completed`]
//! provides the values.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Command, ValueEnum};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::Binary;

/// The variable in which the scripts name their shell.
const VARIABLE: &str = "CTX_COMPLETE";

/// The supported shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

impl Shell {
    /// Returns the script that makes the shell call the tool `name` from its `PATH`.
    pub fn script(self, name: &str) -> String {
        let script = match self {
            Self::Bash => include_str!("completing/bash.sh"),
            Self::Zsh => include_str!("completing/zsh.zsh"),
            Self::Fish => include_str!("completing/fish.fish"),
        };
        script.replace("TOOL", name)
    }
}

/// A command line that is being typed.
#[derive(Clone, Debug)]
pub struct Typed {
    words: Vec<OsString>,
    /// The index of the word to complete.
    index: usize,
}

impl Typed {
    /// Takes the words from the name of the tool on, and the index of the word to complete.
    pub fn new(words: Vec<OsString>, index: usize) -> Self {
        Self { words, index }
    }

    /// Returns the part of the word that was typed so far.
    pub fn current(&self) -> &OsStr {
        self.words.get(self.index).map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// Returns true if the user typed this flag.
    pub fn has(&self, long: &str) -> bool {
        let before = &self.words[..self.index.min(self.words.len())];
        before.iter().any(|word| *word == *format!("--{long}"))
    }

    /// Returns the value that the user gave to a flag; the last one counts.
    pub fn value_of(&self, long: &str, short: Option<char>) -> Option<OsString> {
        let before = &self.words[..self.index.min(self.words.len())];
        let names = [Some(format!("--{long}")), short.map(|it| format!("-{it}"))];
        let mut found = None;
        for (at, word) in before.iter().enumerate() {
            let word = word.to_string_lossy();
            for name in names.iter().flatten() {
                let rest = word.strip_prefix(name.as_str());
                found = match rest {
                    Some("") => before.get(at + 1).cloned().or(found),
                    // The value may directly follow a short flag.
                    Some(rest) if rest.starts_with('=') => Some(rest[1..].into()),
                    Some(rest) if !name.starts_with("--") => Some(rest.into()),
                    _ => found,
                };
            }
        }
        found
    }
}

/// Answers a shell that wants completions; `None` if no shell called the tool.
pub(crate) fn answer(binary: &Binary) -> Option<ExitCode> {
    let shell = std::env::var(VARIABLE).ok()?;
    let shell = Shell::from_str(&shell, false).ok()?;
    let mut args = std::env::args_os().skip(1);
    args.next().filter(|first| first == "--")?;
    let words: Vec<OsString> = args.collect();
    let index = std::env::var("_CLAP_COMPLETE_INDEX").ok().and_then(|index| index.parse().ok());
    // Fish passes only the line before the cursor.
    let index = index.filter(|_| shell != Shell::Fish);
    let typed = Typed::new(words.clone(), index.unwrap_or(words.len().saturating_sub(1)));
    let mut command = (binary.completed)(calmed(binary.tool.full_command(), &typed), &typed);
    let mut answer = Vec::new();
    let directory = std::env::current_dir().ok();
    let engine: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let written = engine.write_complete(&mut command, words, directory.as_deref(), &mut answer);
    // A failure cannot be reported, because the user is still typing the line.
    let printed = written.and_then(|()| io::stdout().write_all(&answer));
    Some(if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Hides flags before the first letter of a word, unless nothing else fits, because dozens of flags
/// would hide everything else.
fn calmed(command: Command, typed: &Typed) -> Command {
    if !typed.current().is_empty() {
        return command;
    }
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
    use super::{Shell, Typed};

    fn typed(words: &[&str], index: usize) -> Typed {
        Typed::new(words.iter().map(Into::into).collect(), index)
    }

    /// Earlier words decide which values fit.
    #[test]
    fn the_value_of_a_flag_is_found_however_it_was_typed() {
        for words in [
            ["ctx-x", "--store", "/s", ""],
            ["ctx-x", "--store=/s", "-q", ""],
            ["ctx-x", "-t", "/s", ""],
            ["ctx-x", "-t/s", "-q", ""],
            ["ctx-x", "-t=/s", "--store", ""],
        ] {
            let typed = typed(&words, 3);
            let found = typed.value_of("store", Some('t')).expect("it is there");
            assert_eq!(found, "/s", "{words:?}");
        }
        let later = typed(&["ctx-x", "", "--store", "/s"], 1);
        assert_eq!(later.value_of("store", None), None);
        assert_eq!(later.current(), "");
    }

    /// The last of two equal flags counts, as in the tool itself.
    #[test]
    fn the_last_of_a_flag_counts() {
        let typed = typed(&["ctx-x", "--store=/a", "--store", "/b", ""], 4);
        assert_eq!(typed.value_of("store", None).as_deref(), Some("/b".as_ref()));
    }

    /// A script names only its own tool.
    #[test]
    fn scripts_name_their_tool() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = shell.script("ctx-count");
            assert!(script.contains("ctx-count --") && !script.contains("TOOL"));
        }
    }
}
