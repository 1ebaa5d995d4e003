//! The old zone of a session becomes one message.

mod assembly;
mod batch;
mod budget;
#[cfg(test)]
mod fixtures;
mod model;
mod old;
mod shorten;
mod source;
mod text;
mod told;
mod window;
mod writer;
mod zones;

use std::path::PathBuf;

use ctx_policy::Method;
use ctx_select::count::MessageCounter;
use ctx_summary::Recognizer;
use ctx_transcript::{Role, Saved};

pub use assembly::{Draft, Material, NewSession};
pub use batch::Batch;
pub use budget::{BudgetPass, BudgetRequest};
pub use model::Model;
pub use old::Needs;
pub use source::ModelSource;
pub use told::{Making, Told, summing, took};
pub use window::Window;
pub use writer::Writer;
pub use zones::{Edit, ZonePass, check_end};

/// How a session is summarized, whoever writes the summary.
pub struct Plan {
    /// Knows what the message begins with, and the summaries of earlier compactions.
    pub recognizer: Recognizer,
    /// The role of the message that holds the summary, where the dialect allows it.
    pub role: Role,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether an input that breaks a rule of its dialect is refused.
    pub strict: bool,
    /// Whether bad lines outside the old zone are left out.
    pub drop_bad: bool,
    /// When the notes compare the length of the summary with that of what it replaces.
    pub tell_sizes: TellSizes,
    /// What handles may promise of what is shortened.
    pub saved: Saved,
    /// Where temporary files lie.
    pub temp: PathBuf,
}

/// Recognises summaries with `header`, and those of all presets.
pub fn recognizer(header: Option<&str>) -> Recognizer {
    Recognizer::new(header, ctx_policy::headers())
}

/// When the notes compare the length of a summary with that of what it replaces. Counting
/// takes time, so nobody does it unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TellSizes {
    /// Never.
    Never,
    /// Only where the summary is no shorter.
    WhenLonger,
    /// Always.
    Always,
}

/// A summary that stands in a session now.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How many messages it replaces.
    pub messages: u64,
    /// How many of them were summaries already.
    pub earlier: u64,
    /// The text in their place.
    pub text: String,
    /// What a model wrote failed its check twice; the text is written by code.
    pub failed_check: bool,
    /// Who wrote the text.
    pub method: Method,
    /// How much of a model's answer had to be repaired.
    pub repairs: usize,
    /// What the model wrote of it, before anything was added.
    answer: Option<String>,
    /// How many secrets were taken out of what the text was written from, and how many
    /// were found in the finished text.
    redacted: usize,
    redacted_late: usize,
}

impl Summary {
    /// Whether nothing new was summarized.
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
