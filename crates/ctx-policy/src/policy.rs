//! A policy: what a compaction does, and when, as plain data.
//!
//! `presets/built-in.toml` says what each setting is; the fields here have the same
//! names, and the types that their values must fit.

#![allow(missing_docs, reason = "presets/built-in.toml documents each setting")]

use std::collections::BTreeMap;

use crate::duration::FixedSpan;
use crate::share::Share;
use crate::trigger::Triggers;
use crate::{Glob, Rule};
use ctx_format::SummaryRole;
use ctx_tokens::Encoding;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounds::Bounds;
use crate::presets::names;
use crate::value::Reader;
use crate::words::{Clear, Fallback, Method, Mode, When};

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
pub struct Keep {
    pub messages: Option<u64>,
    pub turns: Option<u64>,
    pub tokens: Option<u64>,
    pub recent_share: Option<Share>,
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

#[allow(clippy::struct_excessive_bools)] // Switches that do not depend on each other.
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
    /// The preset that it is, or builds on, where its name is that of one.
    pub fn preset(&self) -> Option<&'static str> {
        names().find(|name| *name == self.name)
    }

    /// Reads all settings; the error says what the one that does not fit should be.
    pub(crate) fn read(tree: &Value) -> Result<Self, String> {
        Self::deserialize(Reader(tree)).map_err(|unfit| unfit.wanted)
    }

    /// Every setting with its value; null is one that is not set.
    pub(crate) fn values(&self) -> Value {
        serde_json::to_value(self).expect("tables of plain values")
    }
}
