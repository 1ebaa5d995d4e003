//! What is wrong with a log: where its agent reads something else than was written.
//!
//! A log's lines hang on each other, and on what its agent makes of them. So only the
//! dialect can tell; it says what it finds as [`Flaw`]s, and with what a copy is repaired.

use crate::problems;

/// What a flaw does to the session when its agent loads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The agent loads nothing of the file, or its API refuses what it sends.
    Refused,
    /// Messages that belong in the context are not sent.
    Lost,
    /// The context is another one than the line was to make.
    Ignored,
    /// Nothing yet: a call at the end may still get its result.
    Waits,
    /// Nothing: the agent helps itself.
    Harmless,
}

impl Effect {
    /// Whether it has to be repaired before the session can go on as it was meant.
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Refused | Self::Lost)
    }
}

/// One thing that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The number of the record that it is about, from 0.
    pub record: usize,
    /// A word for programs.
    pub rule: &'static str,
    /// What it does.
    pub effect: Effect,
    /// What is wrong, and what the agent does with it.
    pub message: String,
    /// The id of the tool call, where it is about one.
    pub id: Option<String>,
    /// What repairs a copy; `None` where nothing can.
    pub remedy: Option<Remedy>,
}

/// What repairs a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A line goes before the record.
    Before(String),
    /// A copy of another record goes before it.
    CopyBefore(usize),
    /// The member `key` gets the value that `of` has in record `to`.
    Link {
        /// The member that names the parent.
        key: &'static str,
        /// The record that is to be the parent.
        to: usize,
        /// The member that is named.
        of: &'static str,
    },
    /// The dialect changes the line itself. The numbers are its own.
    Change(Vec<usize>),
}

impl Flaw {
    /// One without an id and without a remedy.
    pub fn new(record: usize, rule: &'static str, effect: Effect, message: String) -> Self {
        debug_assert!(problems::rule(rule).is_some(), "a rule that is not listed");
        Self {
            record,
            rule,
            effect,
            message,
            id: None,
            remedy: None,
        }
    }

    /// A conversation that begins here although others, of so many `lines`, begin before:
    /// the user may have gone back to the beginning.
    pub(crate) fn second_root(record: usize, lines: &str) -> Self {
        let what = format!("the conversation begins here, and {lines} before are on another path");
        Self::new(record, "second-root", Effect::Harmless, what)
    }

    /// The same with what repairs it.
    #[must_use]
    pub fn repaired_by(self, remedy: Remedy) -> Self {
        Self {
            remedy: Some(remedy),
            ..self
        }
    }
}
