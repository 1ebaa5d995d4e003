//! The output of a running tool: stdout for data, stderr for notes.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};

use crate::completing::Shell;
use crate::{ExitStatus, Failure, Progress, ShowProgress, printable};

/// Flags that every tool has.
#[derive(Args, Clone, Debug, Default)]
pub struct CommonArgs {
    /// Print errors only
    #[arg(short, long, global = true, help_heading = "Messages")]
    pub quiet: bool,
    /// Print more on stderr (can be repeated)
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Messages")]
    pub verbose: u8,
    /// When to use colours
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        global = true,
        help_heading = "Messages"
    )]
    pub color: Colour,
    /// When to show how far a long run is
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        global = true,
        help_heading = "Messages"
    )]
    pub progress: ShowProgress,
    /// Show the manual page; into a pipe it goes as roff, for man/man1
    #[arg(long, hide_short_help = true, help_heading = "Messages")]
    pub man: bool,
    /// Print the script by which SHELL completes
    #[arg(
        long,
        value_enum,
        value_name = "SHELL",
        hide_short_help = true,
        help_heading = "Messages"
    )]
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

/// The amount of notes on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Errors and warnings.
    Normal,
    /// And notes.
    Verbose,
    /// And details.
    Debug,
}

/// Stdout and stderr of a tool. Stdout takes data only.
pub struct Io {
    tool: &'static str,
    verbosity: Verbosity,
    /// Whether stdout and stderr show colours.
    colour: [bool; 2],
    /// The change that stays even if the tool fails afterwards.
    committed: Option<String>,
    out: io::BufWriter<Box<dyn Write + Send>>,
}

/// The size in bytes: large enough that a pipe needs few system calls.
const STDOUT_BUFFER: usize = 128 * 1024;

impl Io {
    /// The process's own stdout and stderr.
    pub fn of_process(tool: &'static str, common: &CommonArgs) -> Self {
        let verbosity = match (common.quiet, common.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debug,
        };
        Self {
            tool,
            verbosity,
            colour: [
                wants_colour(common.color, io::stdout().is_terminal()),
                wants_colour(common.color, io::stderr().is_terminal()),
            ],
            committed: None,
            out: io::BufWriter::with_capacity(
                STDOUT_BUFFER,
                Progress::current().between_draws(raw_stdout()),
            ),
        }
    }

    /// `text` for stdout in a colour, where stdout takes any.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.colour[0], paint, text)
    }

    /// The width of the terminal that stdout is; `None` if it is not a terminal.
    pub fn columns(&self) -> Option<usize> {
        let stdout = io::stdout();
        let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
        let columns = usize::from(size.ws_col);
        (stdout.is_terminal() && columns > 0).then_some(columns)
    }

    /// How much to report.
    pub fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Records a change that stays, such as "snapshot 7 is taken". If the tool fails afterwards,
    /// the exit status and the message include it.
    pub fn committed(&mut self, what: impl fmt::Display) {
        self.committed = Some(what.to_string());
    }

    /// A failure of the tool, ready to be reported.
    pub(crate) fn failed(&self, failure: Failure) -> Failure {
        match &self.committed {
            Some(what) => failure.after(what),
            None => failure,
        }
    }

    /// Buffered stdout, for data; flushed when the tool ends.
    pub fn out(&mut self) -> &mut (dyn Write + Send) {
        &mut self.out
    }

    /// Writes data to stdout; a closed pipe ends the tool in silence.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    /// Flushes stdout when the tool ends. A partly done run must be repeated, which matters more
    /// than a failed write.
    pub(crate) fn end(&mut self, status: ExitStatus) -> Result<ExitStatus, Failure> {
        match self.flush() {
            Err(failure) if status == ExitStatus::Partial && self.committed.is_some() => {
                self.report(&failure);
                Ok(status)
            }
            flushed => flushed.map(|()| status),
        }
    }

    /// Flushes stdout.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| Failure::stdout(&error))
    }

    /// Prints a warning; the tool continues. `-q` silences it.
    pub fn warn(&mut self, what: impl fmt::Display) {
        if self.verbosity >= Verbosity::Normal {
            let kind = painted(self.colour[1], Paint::Yellow, "warning:");
            self.say(&format!("{kind} "), &what.to_string());
        }
    }

    /// Says something under `-v`.
    pub fn note(&mut self, what: impl fmt::Display) {
        if self.verbosity >= Verbosity::Verbose {
            self.say("", &what.to_string());
        }
    }

    /// Says something under `-vv`.
    pub fn detail(&mut self, what: impl fmt::Display) {
        if self.verbosity >= Verbosity::Debug {
            self.say("", &what.to_string());
        }
    }

    /// Reports the failure of one input; the tool continues with the next one.
    pub fn report(&mut self, failure: &Failure) {
        if !failure.is_silent() {
            let tool = painted(self.colour[1], Paint::Red, &format!("{}:", self.tool));
            Self::say_whole(&format!("{tool} {failure}\n"));
        }
    }

    fn say(&mut self, kind: &str, what: &str) {
        Self::say_whole(&format!("{}: {kind}{}\n", self.tool, printable(what)));
    }

    /// One write per message: messages of several processes do not interleave.
    fn say_whole(message: &str) {
        // If stderr itself is closed, there is nowhere to report it.
        let write = || io::stderr().write_all(message.as_bytes());
        let _ = Progress::current().aside(write);
    }
}

/// Std's own stdout is line-buffered; a filter writes blocks.
fn raw_stdout() -> Box<dyn Write + Send> {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(fd) => Box::new(std::fs::File::from(fd)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// The colours in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Failures and removals.
    Red,
    /// Additions.
    Green,
    /// Warnings.
    Yellow,
    /// One of several kinds.
    Blue,
    /// Another one.
    Magenta,
    /// One more.
    Cyan,
    /// Headings and sums.
    Bold,
    /// Less important text.
    Dim,
}

fn painted(colour: bool, paint: Paint, text: &str) -> String {
    if !colour {
        return text.to_owned();
    }
    let code = match paint {
        Paint::Red => 31,
        Paint::Green => 32,
        Paint::Yellow => 33,
        Paint::Blue => 34,
        Paint::Magenta => 35,
        Paint::Cyan => 36,
        Paint::Bold => 1,
        Paint::Dim => 2,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

pub(crate) fn wants_colour(choice: Colour, terminal: bool) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match choice {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto if is_set("NO_COLOR") => false,
        Colour::Auto if is_set("CLICOLOR_FORCE") => true,
        Colour::Auto => terminal && is_capable(),
    }
}

/// Whether the terminal supports more than plain text.
pub(crate) fn is_capable() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
