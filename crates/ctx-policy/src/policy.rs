//! A policy as plain data: the settings that determine when and how a session is compacted.
//!
//! `presets/built-in.toml` explains each setting. The fields have the same names as the settings.

#![allow(missing_docs, reason = "presets/built-in.toml documents each setting")]

use std::collections::BTreeMap;

use ctx_format::SummaryRole;
use ctx_tokens::Encoding;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{Display, IntoStaticStr};

use crate::Glob;
use crate::duration::FixedSpan;
use crate::share::{Bounds, Share};
use crate::trigger::Triggers;
use crate::value::Reader;

/// A complete policy, in which every setting has a value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Policy {
    pub name: String,
    pub enabled: bool,
    pub mode: Mode,
    pub encoding: Option<Encoding>,
    pub trigger: Triggers,
    pub keep: Keep,
    pub target: Target,
    pub offload: Offload,
    pub prune: Prune,
    pub summary: Summary,
    pub retention: Retention,
    pub environment: BTreeMap<String, String>,
    pub bounds: BTreeMap<String, Bounds>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Target {
    pub tokens: Option<u64>,
    pub share: Option<Share>,
    pub max_history_share: Option<Share>,
    pub reserve: Option<u64>,
    pub overhead: u64,
    pub min_gain: Option<Share>,
    pub max_attempts: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Offload {
    pub min_tokens: Option<u64>,
    pub enough_tokens: Option<u64>,
    pub reference: String,
    pub unavailable: String,
    pub restore_before_summary: bool,
    pub delete_unreferenced: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Prune {
    pub when: When,
    pub max_chars: Option<u64>,
    pub head_share: Share,
    pub tail_share: Share,
    pub cut: String,
    pub clear: Clear,
    pub placeholder: String,
    pub drop: Vec<Rule>,
    pub protect_last: u64,
    pub allow: Vec<Glob>,
    pub deny: Vec<Glob>,
    pub cache_ttl: Option<FixedSpan>,
    pub window_messages: Option<u64>,
    pub min_gain: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Summary {
    pub method: Method,
    pub offline: Method,
    pub fallback: Vec<Fallback>,
    pub tokens: Option<u64>,
    pub target_tokens: Option<u64>,
    pub max_output_factor: Option<f64>,
    pub max_share: Option<Share>,
    pub model: Option<String>,
    pub tries: u64,
    pub backoff_seconds: u64,
    pub safeguard: bool,
    pub complete: bool,
    pub role: SummaryRole,
    pub header: Option<String>,
    pub template: String,
    pub sections: Vec<String>,
    pub instructions: Option<String>,
    pub cumulative: bool,
    pub extract: bool,
    pub in_report: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Retention {
    pub keep_days: Option<u64>,
    pub pack_after_days: Option<u64>,
}

impl Policy {
    /// Reads a policy from a tree that contains all settings. If a value is invalid, the error
    /// describes valid values.
    pub(crate) fn read(tree: &Value) -> Result<Self, String> {
        Self::deserialize(Reader(tree)).map_err(|unfit| unfit.wanted)
    }
}

/// Whether a compaction summarizes, prunes, or does both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum), value(rename_all = "snake_case"))]
pub enum Mode {
    /// Summarize older messages, but do not prune
    SummaryOnly,
    /// Summarize older messages, and prune as `prune.when` says
    SummaryPlusPrune,
    /// Prune, but do not summarize
    PruneOnly,
}

/// When pruning takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Never.
    Never,
    /// Before the session is split, so that pruned content is not summarized.
    Before,
    /// Only if the summary failed, or the result is still larger than the target.
    Fallback,
    /// Only in a request that is printed to stdout, never in a stored session.
    Sent,
}

/// Whether old tool results are replaced with a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clear {
    /// Old results are never replaced, only trimmed.
    Never,
    /// Old results are replaced if the context exceeds its limit even after trimming.
    IfNeeded,
    /// All results that are not protected are replaced.
    Always,
}

/// How older messages are summarized.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Display, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Method {
    /// Quotes what is most likely to be needed, without a model
    Extractive,
    /// Counts messages and tool calls, and quotes topics, without a model
    Rule,
    /// Asks a language model
    Llm,
    /// Removes the older messages without a summary
    #[cfg_attr(feature = "clap", value(skip))]
    #[default]
    None,
}

/// What to do with signed reasoning that a change makes invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SignedReasoning {
    /// Remove it, but refuse the change if a tool loop is open
    #[default]
    Auto,
    /// Remove it, even in an open tool loop
    Remove,
    /// Keep it, for requests that set `drop_block`
    Keep,
}

/// What to try if the summary failed or the result is too large. The flag `--on-failure` accepts
/// only the fallbacks that can replace a model's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Fallback {
    /// Make a summary of half the length with the same method.
    #[cfg_attr(feature = "clap", value(skip))]
    Smaller,
    /// Use the extractive summary, with a warning
    Extractive,
    /// Use the rule summary, with a warning
    Rule,
    /// Prune the messages that are kept.
    #[cfg_attr(feature = "clap", value(skip))]
    Prune,
    /// Fail, and write nothing
    Fail,
}

/// How much of a session's end is kept. If several fields are set, the one that keeps the most
/// applies. If no field is set, only pinned records and the latest user message are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "What is kept"))]
pub struct Keep {
    /// Keep the last N messages, not counting system messages
    #[cfg_attr(feature = "clap", arg(id = "keep_messages", long = "keep-messages", value_name = "N", value_parser = crate::parse_count))]
    pub messages: Option<u64>,
    /// Keep the last N turns (a turn begins with a user message)
    #[cfg_attr(feature = "clap", arg(id = "keep_turns", long = "keep-turns", value_name = "N", value_parser = crate::parse_count))]
    pub turns: Option<u64>,
    /// Keep the last messages, at least N tokens in total
    #[cfg_attr(feature = "clap", arg(id = "keep_tokens", long = "keep-tokens", value_name = "N", value_parser = crate::parse_count))]
    pub tokens: Option<u64>,
    /// Keep the last messages, at least this share of the target minus the system messages
    #[cfg_attr(feature = "clap", arg(skip))]
    pub recent_share: Option<Share>,
}

impl Keep {
    /// Returns true if any of the fields is set.
    pub fn is_some(&self) -> bool {
        *self != Self::default()
    }
}

/// The pruning rules, with the same names in policies, flags and reports. A rule that needs a
/// number or a string has its own setting instead of a name. A policy cannot enable rules that
/// remove lines from an agent's own file, because a compaction only appends lines.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Rule {
    /// Trims long results
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Trim,
    /// Clears old results
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Clear,
    /// Results of reading a file that was later read or written again
    Superseded,
    /// Results that a later result of the same tool repeats
    Duplicates,
    /// Terminal escapes and base64 inside results
    Noise,
    /// Images and documents, in whose place a handle stays
    Images,
    /// Reasoning before the latest turn, and messages that are then empty
    Reasoning,
    /// Shortens long strings in call arguments
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Arguments,
    /// Replies with neither text nor tool calls
    Empty,
    /// Removes records before the last messages
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Window,
    /// Lines of an agent's own file that are on abandoned or rolled-back branches
    #[serde(skip_deserializing)]
    DeadBranches,
    /// Lines of an agent's own file that a compaction replaced
    #[serde(skip_deserializing)]
    BeforeCompaction,
    /// Lines of an agent's own file that a later line repeats
    #[serde(skip_deserializing)]
    Rewritten,
    /// Lines of subagents in an agent's own file (sidechains)
    #[serde(skip_deserializing)]
    Sidechains,
    /// Lines of an agent's own file that show the progress of a tool
    #[serde(skip_deserializing)]
    Progress,
    /// Lines with file versions, without which the agent cannot restore files
    #[serde(skip_deserializing)]
    FileHistory,
    /// Lines in which an agent keeps copies of its requests to the API
    #[serde(skip_deserializing)]
    ApiRequests,
    /// Copies of results that an agent's own file contains for display
    #[serde(skip_deserializing)]
    Copies,
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::Rule;

    #[test]
    fn policies_name_a_rule_as_reports_do() {
        let read = |name: &'static str| {
            let name: StrDeserializer<'_, Error> = name.into_deserializer();
            Rule::deserialize(name).ok()
        };
        let named = [
            Rule::Superseded,
            Rule::Duplicates,
            Rule::Noise,
            Rule::Images,
            Rule::Reasoning,
            Rule::Empty,
        ];
        for rule in named {
            assert_eq!(read(rule.into()), Some(rule));
        }
        // Rules with their own setting (a number or a string) have no name in policies.
        for rule in [Rule::Trim, Rule::Clear, Rule::Arguments, Rule::Window] {
            assert_eq!(read(rule.into()), None);
        }
        // A policy cannot enable rules that remove lines from an agent's own file.
        for rule in [Rule::DeadBranches, Rule::Progress, Rule::Copies] {
            assert_eq!(read(rule.into()), None);
        }
    }
}
