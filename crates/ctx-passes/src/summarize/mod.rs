//! The old zone of a session becomes one message.

mod assembly;
mod batch;
mod budget;
#[cfg(test)]
mod fixtures;
mod model;
mod old;
mod shorten;
mod text;
mod writer;
mod zones;

use std::path::PathBuf;

use ctx_select::count::MessageCounter;
use ctx_summary::Recognizer;
use ctx_transcript::Role;

pub use assembly::{Draft, Material, NewSession};
pub use batch::Batch;
pub use budget::{BudgetPass, BudgetRequest};
pub use model::{Model, ModelSource};
pub use old::Needs;
pub use writer::Writer;
pub use zones::{Edited, ZonePass};

/// How a session is summed up, whoever writes the summary.
pub struct Plan {
    /// Knows what the message begins with, and the summaries of earlier compactions.
    pub recognizer: Recognizer,
    /// Whose message it is, where the dialect allows it.
    pub role: Role,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether an input that breaks a rule of its dialect is refused.
    pub strict: bool,
    /// Whether bad lines outside the old zone are left out.
    pub drop_bad: bool,
    /// When it is told how long the summary is beside what it replaces.
    pub tell_sizes: TellSizes,
    /// Where temporary files lie.
    pub temp: PathBuf,
}

/// Recognises summaries with `header`, and those of all presets.
pub fn recognizer(header: Option<&str>) -> Recognizer {
    Recognizer::new(header, ctx_policy::headers())
}

/// When it is told how long a summary is beside what it replaces: counting takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TellSizes {
    /// Not at all.
    Never,
    /// When the summary is no shorter.
    WhenLonger,
    /// In any case.
    Always,
}

/// A summary that stands in a session now.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How many messages left.
    pub messages: u64,
    /// How many of them were summaries already.
    pub earlier: u64,
    /// The text in their place.
    pub text: String,
    /// What a model wrote failed its check twice; the text is written by code.
    pub failed_check: bool,
    /// How much of a model's answer had to be mended.
    pub mends: usize,
    /// How many secrets were taken out while code put the text together, and how many
    /// afterwards.
    redacted: usize,
    redacted_late: usize,
}

impl Summary {
    /// Whether nothing new was summed up.
    pub fn is_only_earlier(&self) -> bool {
        self.messages == self.earlier
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::{ASK, LEDGER, old, plan};

    #[test]
    fn a_summary_of_nothing_but_summaries_is_known() {
        let plan = plan();
        let earlier = r#"{"role":"user","name":"ctx_summary","content":"it began"}"#;
        let is_only_earlier = |lines: &[&str]| {
            let summary = old(&plan, LEDGER, lines).summary(String::new());
            summary.is_only_earlier()
        };
        assert!(is_only_earlier(&[earlier]));
        assert!(!is_only_earlier(&[earlier, ASK]));
    }
}
