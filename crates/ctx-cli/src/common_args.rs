//! The flags that every tool has.

use clap::{Args, ValueEnum};

/// Flags that every tool has.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub struct CommonArgs {
    /// Print errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more on stderr (can be repeated)
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    pub color: Colour,
    /// When to show the progress of a long run
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    pub progress: ShowProgress,
    /// Show the manual page, or print its roff source to a pipe
    #[arg(long, hide_short_help = true)]
    pub man: bool,
    /// Print the completion script for SHELL
    #[arg(long, value_enum, value_name = "SHELL", hide_short_help = true)]
    pub completions: Option<Shell>,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// When progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ShowProgress {
    /// On a terminal, for runs longer than a second
    #[default]
    Auto,
    /// Never
    Never,
}

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

impl Colour {
    /// Returns true if output to a stream should be coloured. `terminal` is true if the stream is a
    /// terminal.
    pub(crate) fn is_shown(self, terminal: bool) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if is_set("NO_COLOR") => false,
            Self::Auto if is_set("CLICOLOR_FORCE") => true,
            Self::Auto => terminal && is_capable(),
        }
    }
}

/// Returns true if the terminal supports more than plain text.
pub(crate) fn is_capable() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
