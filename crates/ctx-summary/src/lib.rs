//! Writes summaries of the earlier part of a session: extractive, rule-based, or by a language
//! model.
//!
//! [`RuleSummary`] needs only the messages. [`extractive`] quotes from a ledger. [`summarize`]
//! sends a [`Template`] as the prompt and a [`transcript`](Transcript) as the input to a model, and
//! [`check`] compares the answer with the session. A [`Recognizer`] composes summary messages, and
//! recognizes them in a later compaction.
//!
//! This crate does not read the environment, print, exit or use the network. The caller provides
//! access to the model.

pub mod check;
mod earlier;
mod extractive;
mod language;
pub mod ledger;
mod missing_values;
mod model;
mod rule_summary;
mod template;
mod transcript;

pub use check::missing_headings;
pub use earlier::{RECORD_HEADING, Recognizer};
pub use extractive::{
    RuleCount, count_rules, extractive, is_talk, must_keep, needed_tokens, rule_tokens,
};
pub use language::{Language, Languages};
pub use missing_values::{Answered, ListLimit, missing_values};
pub use model::{Job, ModelSummary, USUAL_PERCENT, summarize};
pub use rule_summary::RuleSummary;
pub use template::{Filling, Template, TemplateError};
pub use transcript::Transcript;

use ctx_text::Lists;

static LISTS: Lists = Lists::new(include_str!("lists.txt"));

/// Words that occur in the names of tools that run commands.
const SHELLS: [&str; 5] = ["bash", "shell", "exec", "terminal", "command"];

/// Returns true if a tool runs commands, judging by its lower-case name.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.iter().any(|shell| name.contains(shell))
}
