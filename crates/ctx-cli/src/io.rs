//! The output of a running tool: data on stdout, as text or as JSON, and messages on stderr.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::failure::without_codes;
use crate::{CommonArgs, ExitStatus, Failure, Progress, Result, STDIN_NAME, printable};

/// The kinds of messages that a tool prints on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Errors and warnings.
    Normal,
    /// Errors, warnings and notes.
    Verbose,
    /// Errors, warnings, notes and details.
    Debug,
}

/// A tool's stdout and stderr. Only data goes to stdout.
pub struct Io {
    tool: &'static str,
    /// The verbosity set by `-q` and `-v`.
    pub verbosity: Verbosity,
    /// Whether stdout and stderr are coloured, in that order.
    colour: [bool; 2],
    /// A description of the permanent change that the tool has made, or `None` if nothing has
    /// changed.
    committed: Option<String>,
    out: io::BufWriter<Box<dyn Write + Send>>,
}

/// The size of the stdout buffer in bytes. The buffer is large, so that few system calls are
/// needed.
const STDOUT_BUFFER: usize = 128 * 1024;

impl Io {
    /// Returns the stdout and stderr of this process.
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
                common.color.is_shown(io::stdout().is_terminal()),
                common.color.is_shown(io::stderr().is_terminal()),
            ],
            committed: None,
            out: io::BufWriter::with_capacity(
                STDOUT_BUFFER,
                Progress::current().between_draws(raw_stdout()),
            ),
        }
    }

    /// Returns `text` in the given colour, or unchanged if no colour is given or stdout is not
    /// coloured.
    pub fn paint(&self, paint: impl Into<Option<Paint>>, text: &str) -> String {
        match paint.into() {
            Some(paint) => painted(self.colour[0], paint, text),
            None => text.to_owned(),
        }
    }

    /// Returns the width of the terminal that stdout is connected to, or `None` if stdout is not a
    /// terminal.
    pub fn columns(&self) -> Option<usize> {
        let stdout = io::stdout();
        let size = rustix::termios::tcgetwinsize(&stdout).ok()?;
        let columns = usize::from(size.ws_col);
        (stdout.is_terminal() && columns > 0).then_some(columns)
    }

    /// Records a permanent change, such as "snapshot 7 is taken". If the tool fails afterwards, the
    /// error message mentions the change, and the exit status is 5, because 2 would mean that
    /// nothing changed.
    pub fn committed(&mut self, what: impl fmt::Display) {
        self.committed = Some(what.to_string());
    }

    /// Adds the recorded permanent change, if there is one, to the tool's failure.
    pub(crate) fn failed(&self, failure: Failure) -> Failure {
        match &self.committed {
            Some(what) => failure.after(what),
            None => failure,
        }
    }

    /// Returns a buffered stdout, which is flushed when the tool ends.
    pub fn out(&mut self) -> &mut (dyn Write + Send) {
        &mut self.out
    }

    /// Writes data to stdout; a closed pipe ends the tool silently.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    /// Writes text to stdout.
    pub fn print(&mut self, text: impl AsRef<str>) -> Result<()> {
        self.write(text.as_ref().as_bytes())
    }

    /// Writes text from a session to stdout. On a terminal, control characters are escaped.
    pub fn text(&mut self, bytes: &[u8]) -> Result<()> {
        if self.columns().is_none() {
            return self.write(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.print(text.lines().map(|line| printable(line) + "\n").collect::<String>())
    }

    /// Writes a value to stdout as one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        self.print(json_line(value))
    }

    /// Flushes stdout when the tool ends. If some inputs failed and others were changed, a failed
    /// write is reported but does not change the exit status, because that status tells the user to
    /// repeat the run, which matters more.
    pub(crate) fn end(&mut self, status: ExitStatus) -> Result<ExitStatus> {
        match self.flush() {
            Err(failure) if status == ExitStatus::Partial && self.committed.is_some() => {
                self.report(&failure);
                Ok(status)
            }
            flushed => flushed.map(|()| status),
        }
    }

    /// Flushes stdout.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| Failure::stdout(&error))
    }

    /// Prints a warning, unless `-q` is given. The tool continues.
    pub fn warn(&mut self, what: impl fmt::Display) {
        let kind = painted(self.colour[1], Paint::Yellow, "warning:") + " ";
        self.say(Verbosity::Normal, &kind, what);
    }

    /// Prints what the user should do next, unless `-q` is given.
    pub fn advise(&mut self, what: impl fmt::Display) {
        self.say(Verbosity::Normal, "", what);
    }

    /// Prints a note if `-v` is given.
    pub fn note(&mut self, what: impl fmt::Display) {
        self.say(Verbosity::Verbose, "", what);
    }

    /// Prints a detail if `-vv` is given.
    pub fn detail(&mut self, what: impl fmt::Display) {
        self.say(Verbosity::Debug, "", what);
    }

    /// Reports the failure of one input. The tool continues with the next input.
    pub fn report(&mut self, failure: &Failure) {
        if !failure.is_silent() {
            let tool = painted(self.colour[1], Paint::Red, &format!("{}:", self.tool));
            Self::say_whole(&format!("{tool} {failure}\n"));
        }
    }

    fn say(&mut self, least: Verbosity, kind: &str, what: impl fmt::Display) {
        if self.verbosity >= least {
            let what = printable(&without_codes(&what.to_string()));
            Self::say_whole(&format!("{}: {kind}{what}\n", self.tool));
        }
    }

    /// Writes a message with a single call, so that it is not mixed with the messages of other
    /// processes.
    fn say_whole(message: &str) {
        // If stderr is closed, there is nowhere to report the error.
        let write = || io::stderr().write_all(message.as_bytes());
        let _ = Progress::current().aside(write);
    }
}

/// Returns stdout without the standard library's buffer, which would be flushed after every line.
fn raw_stdout() -> Box<dyn Write + Send> {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(fd) => Box::new(std::fs::File::from(fd)),
        Err(_) => Box::new(io::stdout()),
    }
}

/// Colours and styles. The values are their numbers in terminal escape sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Paint {
    /// The colour of failures and removals.
    Red = 31,
    /// The colour of additions.
    Green = 32,
    /// The colour of warnings.
    Yellow = 33,
    /// The colour of the first kind of item in a table or chart.
    Blue = 34,
    /// The colour of the second kind of item in a table or chart.
    Magenta = 35,
    /// The colour of the third kind of item in a table or chart.
    Cyan = 36,
    /// The style of headings and sums.
    Bold = 1,
    /// The style of less important text.
    Dim = 2,
}

fn painted(colour: bool, paint: Paint, text: &str) -> String {
    if colour { format!("\u{1b}[{}m{text}\u{1b}[0m", paint as u8) } else { text.to_owned() }
}

/// Returns a value as one line of JSON.
pub fn json_line(value: &impl Serialize) -> String {
    let line = serde_json::to_string(value).expect("keys are strings and numbers are finite");
    escaped(line) + "\n"
}

/// Makes an object for [`json_line`] from its members, which are printed in the given order. A member
/// may have attributes of serde, such as `#[serde(flatten)]`.
#[macro_export]
macro_rules! json_object {
    ($($(#[$attribute:meta])* $key:ident $(: $value:expr)?),* $(,)?) => {{
        #[allow(non_camel_case_types)] // Each member has a type parameter with its name.
        let object = {
            #[derive(serde::Serialize)]
            struct Object<$($key),*> {
                $($(#[$attribute])* $key: $key),*
            }
            Object { $($key $(: $value)?),* }
        };
        object
    }};
}

/// Escapes the control characters that are valid in JSON but have an effect on a terminal.
fn escaped(line: String) -> String {
    if !line.contains(char::is_control) {
        return line;
    }
    let controls: BTreeSet<char> = line.chars().filter(|c| c.is_control()).collect();
    let escape = |line: String, c| line.replace(c, &format!("\\u{:04x}", u32::from(c)));
    controls.into_iter().fold(line, escape)
}

/// Returns a line of JSON that reports an error in an input, or in one of its lines.
pub fn json_failure(name: &str, line: Option<u64>, failure: &Failure) -> String {
    json_line(&json_object! {
        name: json_name(name),
        #[serde(flatten)]
        line: line.map(|line| json_object! { line }),
        error: failure.to_string(),
    })
}

/// Returns the name of an input for JSON output, or `None` for stdin.
pub fn json_name(name: &str) -> Option<&str> {
    Some(name).filter(|name| *name != STDIN_NAME)
}

#[cfg(test)]
mod tests {
    use super::{json_line, json_name};
    use crate::STDIN_NAME;

    #[test]
    fn no_control_character_leaves_as_it_is() {
        let line = json_line(&"\u{7f}\u{9b}2J\né");
        assert_eq!(line, "\"\\u007f\\u009b2J\\né\"\n");
    }

    #[test]
    fn members_keep_their_order() {
        let (b, none) = (1, None::<u8>);
        let json = json_line(&json_object! {
            b,
            #[serde(flatten)]
            inner: json_object! { c: "2", #[serde(rename = "type")] kind: none },
            #[serde(flatten)]
            left_out: none.map(|d| json_object! { d }),
            a: [true],
        });
        assert_eq!(json, "{\"b\":1,\"c\":\"2\",\"type\":null,\"a\":[true]}\n");
    }

    #[test]
    fn stdin_has_no_name() {
        assert_eq!(json_name(STDIN_NAME), None);
        assert_eq!(json_name("a.jsonl"), Some("a.jsonl"));
    }
}
