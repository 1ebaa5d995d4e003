//! The summary of an old zone: rule summary, templates, LLM client
//!
//! [`RuleSummary`] needs nothing but the messages. [`llm::Client`] asks a model
//! what a [`Template`] says, with the [`transcript`](Transcript) as its input.
//! Whatever wrote it, the summary's text is put together by [`compose`], and
//! recognised again by [`Recognizer`] when it is old itself.
//!
//! Nothing here reads the environment, prints or exits: the caller hands over
//! readers, keys, clocks. The network is touched by [`llm::Client`] only, and
//! only at the address it was given.

pub mod check;
mod earlier;
mod extractive;
mod ledger;
pub mod llm;
mod model;
mod rule;
pub mod score;
mod template;
mod text;
mod transcript;

pub use check::missing_headings;
pub use earlier::{RECORD_HEADING, Recognizer, compose};
pub use extractive::{completed, extractive, must_keep, needed_tokens};
pub use ledger::{Identifier, Item, Kind, Ledger, Place, State};
pub use model::{Job, ModelSummary, USUAL_PERCENT, summarize};
pub use rule::RuleSummary;
pub use template::{Filling, Template, TemplateError};
pub use transcript::Transcript;
