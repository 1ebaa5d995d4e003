//! The summary of an old zone: extractive, by rules, by a language model.
//!
//! [`RuleSummary`] needs nothing but the messages. [`extractive`] quotes what
//! a ledger holds. [`summarize`] has a model asked what a [`Template`] says, with the
//! [`transcript`](Transcript) as its input, and [`check`] holds the answer against it.
//! Whatever wrote it, a [`Recognizer`] puts the summary's text together, and knows it
//! again when it is old itself.
//!
//! Nothing here reads the environment, prints, exits or touches the network: whoever
//! asks the model is handed over.

pub mod check;
mod earlier;
mod extractive;
mod lacking;
mod language;
mod model;
mod pattern;
mod rule;
mod template;
mod tool_names;
mod transcript;

pub use check::missing_headings;
pub use earlier::{RECORD_HEADING, Recognizer};
pub use extractive::{extractive, is_talk, must_keep, needed_tokens};
pub use lacking::{Answered, ListLimit, lacking};
pub use language::{Language, Languages};
pub use model::{Job, ModelSummary, USUAL_PERCENT, summarize};
pub use rule::RuleSummary;
pub use template::{Filling, Template, TemplateError};
pub use transcript::Transcript;
