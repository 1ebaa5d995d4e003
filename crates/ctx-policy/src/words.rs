//! The settings that are one word out of a few.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a compaction may prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[cfg_attr(feature = "clap", value(rename_all = "snake_case"))]
pub enum Mode {
    /// Sums up the old part, prunes nothing
    SummaryOnly,
    /// Sums up the old part and prunes as `prune.when` says
    SummaryPlusPrune,
    /// Prunes; nothing is summed up
    PruneOnly,
}

/// When pruning takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Not at all.
    Never,
    /// Before the history is split: the summary is of what is left.
    Before,
    /// When the summary failed, or the result is still over its target.
    Fallback,
    /// In the request that goes to stdout, never in a stored session.
    Sent,
}

/// Whether old tool results give way to a fixed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clear {
    /// Never removed, only trimmed.
    Never,
    /// When the context is still over its limit after trimming.
    IfNeeded,
    /// All that are not protected.
    Always,
}

/// How the old part is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Method {
    /// Quotes what is most likely to be needed, offline
    Extractive,
    /// Counts and quotes, offline
    Rule,
    /// Asks a language model
    Llm,
    /// Leaves it out without a summary
    #[cfg_attr(feature = "clap", value(skip))]
    None,
}

impl Method {
    /// The word in policies and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extractive => "extractive",
            Self::Rule => "rule",
            Self::Llm => "llm",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is tried if the summary failed or the result is too large. As the value of a flag, only
/// methods that can replace a model's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Fallback {
    /// The same summary, half as long.
    #[cfg_attr(feature = "clap", value(skip))]
    Smaller,
    /// Take the extractive summary, and say so
    Extractive,
    /// Take the rule summary, and say so
    Rule,
    /// Pruning of what is kept.
    #[cfg_attr(feature = "clap", value(skip))]
    Prune,
    /// Fail, and write nothing
    Fail,
}
