//! What was decided about a record, and why.

use ctx_transcript::Handle;
use serde::{Deserialize, Serialize};

use super::policy::Policy;
use super::replace::ShorterArguments;

/// What happens to a record.
#[derive(Clone, Debug)]
pub enum Verdict<'v> {
    /// It stays as it is.
    Keep,
    /// It goes, by this rule: it is before the window, or says nothing.
    Drop(Rule),
    /// Some of it changes.
    Change(Changes<'v>),
}

/// What changes in a message.
#[derive(Clone, Debug)]
pub struct Changes<'v> {
    pub(super) policy: &'v Policy,
    /// What takes the place of each of its results.
    pub(super) results: Vec<Option<NewText>>,
    /// Which of its calls get shorter arguments.
    pub(super) arguments: Vec<&'v CallArguments>,
    /// Whether its reasoning goes.
    pub(super) reasoning: bool,
}

/// What takes the place of a result's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NewText {
    /// A note with the handle of the original.
    Note(String),
    /// The text without noise or trimmed, as the policy has it, with this handle.
    Reduced(Handle),
}

/// The arguments of one of a message's calls, made shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallArguments {
    /// How many calls stand before it.
    pub(super) call: u32,
    pub(super) shorter: ShorterArguments,
}

/// The rules, as policies, flags and reports name them. Those that are skipped by
/// policies and flags are asked for by what they need to know: a limit, a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Rule {
    /// Long results are trimmed
    #[serde(skip)]
    #[cfg_attr(feature = "clap", value(skip))]
    Trim,
    /// Old results are cleared
    #[serde(skip)]
    #[cfg_attr(feature = "clap", value(skip))]
    Clear,
    /// Results of reading a file that was read or written again later
    Superseded,
    /// Results that a later result of the same tool repeats
    Duplicates,
    /// Terminal escapes and base64 inside results
    Noise,
    /// Reasoning before the latest turn, and messages that are empty without it
    Reasoning,
    /// Long strings inside call arguments are shortened
    #[serde(skip)]
    #[cfg_attr(feature = "clap", value(skip))]
    Arguments,
    /// Replies that say nothing and call nothing
    Empty,
    /// Records before a window of messages go
    #[serde(skip)]
    #[cfg_attr(feature = "clap", value(skip))]
    Window,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Trim,
        Self::Clear,
        Self::Superseded,
        Self::Duplicates,
        Self::Noise,
        Self::Reasoning,
        Self::Arguments,
        Self::Empty,
        Self::Window,
    ];

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trim => "trim",
            Self::Clear => "clear",
            Self::Superseded => "superseded",
            Self::Duplicates => "duplicates",
            Self::Noise => "noise",
            Self::Reasoning => "reasoning",
            Self::Arguments => "arguments",
            Self::Empty => "empty",
            Self::Window => "window",
        }
    }
}

impl Rule {
    /// What it frees when so many tokens go.
    pub(super) fn freed_all(self, tokens: u32) -> Freed {
        Freed {
            rule: self,
            before: tokens.into(),
            after: 0,
        }
    }
}

/// What one change frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// The rule that asked for it.
    pub rule: Rule,
    /// Tokens before.
    pub before: u64,
    /// Tokens after.
    pub after: u64,
}

/// Why a note takes the place of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It is old.
    Old,
    /// It shows a file that was read again later.
    ReadAgain,
    /// It shows a file that was written later.
    Written,
    /// A later result is the same.
    Repeated,
}

impl Reason {
    pub(super) fn rule(self) -> Rule {
        match self {
            Self::Old => Rule::Clear,
            Self::ReadAgain | Self::Written => Rule::Superseded,
            Self::Repeated => Rule::Duplicates,
        }
    }
}
