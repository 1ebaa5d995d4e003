//! The old zone of a session becomes one message.

mod assembly;
mod batch;
mod budget;
#[cfg(test)]
mod fixtures;
mod model;
mod old;
mod report;
mod shorten;
mod source;
mod text;
mod window;
mod writer;
mod zones;

use std::path::PathBuf;

use crate::counter::MessageCounter;
use ctx_format::{Role, Saved};
use ctx_policy::Method;
use ctx_summary::Recognizer;

pub use assembly::{Draft, Material, NewSession};
pub use batch::Batch;
pub use budget::{BudgetPass, BudgetRequest};
pub use model::Model;
pub use old::Needs;
pub(crate) use report::milliseconds;
pub use report::{Report, Summing};
pub use source::ModelSource;
pub use window::Window;
pub use writer::Writer;
pub use zones::{Edit, ZonePass, check_end};

/// How a session is summarized, whatever writes the summary.
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
    /// What handles of shortened results may promise.
    pub saved: Saved,
    /// The folder of temporary files.
    pub temp: PathBuf,
}

/// Recognises summaries with `header`, and those of all presets.
pub fn recognizer(header: Option<&str>) -> Recognizer {
    Recognizer::new(header, ctx_policy::headers())
}

/// Whether the notes compare the length of a summary with that of what it replaces. Counting takes
/// time, so it is done only on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TellSizes {
    /// Never.
    Never,
    /// Only where the summary is no shorter.
    WhenLonger,
    /// Always.
    Always,
}

/// A summary that the session has now.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How many messages it replaces.
    pub messages: u64,
    /// How many of them were summaries already.
    pub earlier: u64,
    /// The text in their place.
    pub text: String,
    /// A model's answer failed its check twice, so code wrote the text.
    pub failed_check: bool,
    /// The method of the text.
    pub method: Method,
    /// How much of a model's answer had to be repaired.
    pub repairs: usize,
    /// The model's answer, before additions.
    answer: Option<String>,
    /// How many secrets were removed from the source of the text, and how many from the finished
    /// text.
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
