//! The failure of a tool: where it occurred, what is wrong, a hint, and the exit status.

use std::fmt;
use std::io;

use crate::{ExitStatus, printable};

/// A result whose error is shown to the user.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// A failure, reported to the user as `ctx-NAME: FILE:LINE: what is wrong; what to do`.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Failure {
    /// The exit status of the failure.
    pub status: ExitStatus,
    /// The name of the file as the user gave it, or `<stdin>`.
    file: Option<String>,
    /// The 1-based line number.
    line: Option<u64>,
    what: String,
    hint: Option<String>,
}

impl Failure {
    /// Creates a failure with exit status 2, for a usage error, bad input or an I/O error.
    pub fn new(what: impl fmt::Display) -> Self {
        Self { what: without_codes(&what.to_string()), ..Self::default() }
    }

    /// Creates the failure for an input that cannot be read.
    pub fn unread(error: impl fmt::Display) -> Self {
        Self::new(format_args!("cannot read: {error}"))
    }

    /// Creates the failure for a failed write to stdout. A closed pipe ends the tool silently with
    /// exit status 0.
    pub fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::new("broken pipe").status(ExitStatus::Done)
        } else {
            Self::new(format_args!("cannot write to stdout: {error}"))
        }
    }

    /// Sets the exit status, which is 2 by default.
    pub fn status(mut self, status: ExitStatus) -> Self {
        self.status = status;
        self
    }

    /// Marks a failure that occurred after a permanent change. `what` describes the change. Exit
    /// status 2 is changed to 5, because status 2 means that nothing changed.
    pub fn after(mut self, what: impl fmt::Display) -> Self {
        if self.status == ExitStatus::Failed {
            self.status = ExitStatus::Uncertain;
            let hint = self.hint.map_or_else(String::new, |hint| hint + "; ");
            self.hint = Some(format!("{hint}{what}"));
        }
        self
    }

    /// Sets the file where the problem was found, and the line number, if known.
    pub fn at(mut self, file: impl Into<String>, line: Option<u64>) -> Self {
        self.file = Some(file.into());
        self.line = line;
        self
    }

    /// Sets the part of the message that tells the user what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns true if there is nothing to report, because the reader of stdout exited.
    pub fn is_silent(&self) -> bool {
        self.status == ExitStatus::Done
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(&printable(file))?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&printable(&self.what))?;
        match &self.hint {
            Some(hint) => write!(f, "; {}", printable(hint)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}

/// Converts an error from clap, so that a tool can read its arguments with `?`.
impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::new(error)
    }
}

/// Removes the number of an error, which the operating system's own words already explain.
pub(crate) fn without_codes(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once(')').map_or(part, |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::Failure;
    use crate::ExitStatus;

    fn broken_pipe() -> Failure {
        Failure::stdout(&std::io::ErrorKind::BrokenPipe.into())
    }

    #[test]
    fn place_then_what_then_hint() {
        let failure = Failure::new("not a message").at("a.jsonl", Some(7)).hint("see --invalid");
        assert_eq!(failure.to_string(), "a.jsonl:7: not a message; see --invalid");
        assert_eq!(failure.status, ExitStatus::Failed);
    }

    #[test]
    fn after_a_change_only_what_would_deny_it_is_another_status() {
        let full = Failure::new("cannot write").hint("make room").after("it is saved");
        assert_eq!(full.status, ExitStatus::Uncertain);
        assert_eq!(full.to_string(), "cannot write; make room; it is saved");
        let gone = broken_pipe().after("it is saved");
        assert!(gone.is_silent());
        let busy = Failure::new("busy").status(ExitStatus::Busy).after("it is saved");
        assert_eq!(busy.status, ExitStatus::Busy);
    }

    #[test]
    fn control_characters_are_escaped() {
        let failure = Failure::new("no such id \u{1b}]0;owned\u{7}").at("a\nb", None);
        assert_eq!(failure.to_string(), "a\\nb: no such id \\u{1b}]0;owned\\u{7}");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert_eq!(broken_pipe().status, ExitStatus::Done);
        assert!(broken_pipe().is_silent());
    }
}
