//! What the audit log tells of a change beside ids, hashes and sizes: numbers, and words of our
//! own, so that no text of a session and no value of a flag can get there.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is measured of the change of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// How the session was compacted.
    #[serde(flatten)]
    pub compaction: Option<Compaction>,
    /// Who wrote the summary.
    #[serde(flatten)]
    pub summing: Option<Summing>,
    /// How long it took, until what is new was ready to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The snapshot whose bytes are the new content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
    /// What of the session survived, by class.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub survived: Survived,
}

/// How a session was compacted, or what came of trying.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Compaction {
    /// The preset, where the policy is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<&'static str>,
    /// How it ended.
    pub outcome: &'static str,
    /// Whether nothing is left that a person should look at.
    pub success: bool,
    /// What made it due.
    pub triggers: Vec<&'static str>,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Tokens of the context after.
    pub tokens_after: u64,
    /// The latter divided by the former.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What the whole context was to have at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_tokens: Option<u64>,
    /// Messages before, system ones left out.
    pub messages_before: u64,
    /// Messages after.
    pub messages_after: u64,
}

/// How a summary was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summing {
    /// `extractive`, `rule`, `llm`, or `none` where there is no summary.
    pub method: &'static str,
    /// Whether a model was to write it, and code did.
    pub fell_back: bool,
    /// Requests to a model, each try counted.
    pub model_calls: u64,
    /// Tokens that the model read, as the server told; null where it told nothing.
    pub model_tokens_in: Option<u64>,
    /// Tokens that it wrote.
    pub model_tokens_out: Option<u64>,
    /// How long it was waited for the model, pauses between tries included.
    pub model_ms: u64,
}

impl Default for Summing {
    fn default() -> Self {
        Self {
            method: "none",
            fell_back: false,
            model_calls: 0,
            model_tokens_in: None,
            model_tokens_out: None,
            model_ms: 0,
        }
    }
}

/// How many items of each class (asks, constraints, …) survived a compaction.
pub type Survived = BTreeMap<&'static str, Standing>;

/// What became of the items of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// They stand in the new session.
    pub retained: u64,
    /// The new session refers to them.
    pub recoverable: u64,
    /// Only the snapshot of the old session has them.
    pub lost: u64,
}
