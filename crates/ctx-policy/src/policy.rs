//! A policy as plain data: when a session is compacted, and how.
//!
//! `presets/built-in.toml` explains each setting. The fields here have the same names, and the
//! types that the values must have.

#![allow(missing_docs, reason = "presets/built-in.toml documents each setting")]

use std::collections::BTreeMap;

use ctx_format::SummaryRole;
use ctx_tokens::Encoding;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{Display, IntoStaticStr};

use crate::duration::FixedSpan;
use crate::keep::Keep;
use crate::share::{Bounds, Share};
use crate::trigger::Triggers;
use crate::value::Reader;
use crate::{Glob, Rule};

/// When a session is compacted, and how. Every setting has a value.
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

#[allow(clippy::struct_excessive_bools)] // Independent switches.
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
    /// Reads all settings. The error says which value a setting should have.
    pub(crate) fn read(tree: &Value) -> Result<Self, String> {
        Self::deserialize(Reader(tree)).map_err(|unfit| unfit.wanted)
    }
}

/// What a compaction may prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum), value(rename_all = "snake_case"))]
pub enum Mode {
    /// Summarize older messages, and prune nothing
    SummaryOnly,
    /// Summarize older messages, and prune as `prune.when` says
    SummaryPlusPrune,
    /// Prune, and summarize nothing
    PruneOnly,
}

/// When pruning takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Never.
    Never,
    /// Before the history is split, so that the summary covers the rest.
    Before,
    /// If the summary failed, or the result is still over its target.
    Fallback,
    /// Only in the request on stdout, never in a stored session.
    Sent,
}

/// Whether old tool results are replaced by a fixed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clear {
    /// Never replaced, only trimmed.
    Never,
    /// If the context is still over its limit after trimming.
    IfNeeded,
    /// All results that are not protected.
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
    /// Quotes what is most likely to be needed, offline
    Extractive,
    /// Counts and quotes, offline
    Rule,
    /// Asks a language model
    Llm,
    /// Leaves it out without a summary
    #[cfg_attr(feature = "clap", value(skip))]
    #[default]
    None,
}

impl Method {
    /// The word for it in policies and reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What to try if the summary failed or the result is too large. The flag only accepts methods that
/// can replace a model's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Fallback {
    /// Make the same summary half as long.
    #[cfg_attr(feature = "clap", value(skip))]
    Smaller,
    /// Take the extractive summary, and say so
    Extractive,
    /// Take the rule summary, and say so
    Rule,
    /// Prune what is kept.
    #[cfg_attr(feature = "clap", value(skip))]
    Prune,
    /// Fail, and write nothing
    Fail,
}
