//! Replaces the old records of a session with a summary.

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
mod writer;
mod zone_pass;

use std::path::PathBuf;

use ctx_format::{Role, Saved, counted};
use ctx_policy::{Method, SignedReasoning};
use ctx_redact::redact;
use ctx_summary::{Recognizer, RuleCount};
use old::OldZone;

use crate::Notes;
use crate::message_counter::MessageCounter;

pub use assembly::{Draft, Material, NewSession};
pub use batch::Batch;
pub use budget::{BudgetPass, BudgetRequest};
pub use model::Model;
pub use old::Needs;
pub use report::Summing;
pub use source::{ModelSource, Window};
pub use writer::Writer;
pub use zone_pass::{ChangedRecord, ZonePass, check_end};

/// The summarization options that do not depend on the writer.
pub struct Plan {
    /// Adds the header to summaries and recognizes summaries from earlier compactions.
    pub recognizer: Recognizer,
    /// The role requested for the message with the summary. The dialect may require a different
    /// role.
    pub role: Role,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether input that violates a rule of its dialect is an error.
    pub strict: bool,
    /// Whether to leave out bad lines among the records that stay.
    pub drop_bad: bool,
    /// What to do with signed reasoning after the summary.
    pub signed_reasoning: SignedReasoning,
    /// When to report the lengths of the summary and of the text that it replaces.
    pub tell_sizes: TellSizes,
    /// Whether the handles of shortened results may state that the original is saved.
    pub saved: Saved,
    /// The folder for temporary files.
    pub temp: PathBuf,
}

/// Returns a recognizer for summaries that begin with `header` or with the header of any preset.
pub fn recognizer(header: Option<&str>) -> Recognizer {
    Recognizer::new(header, ctx_policy::headers())
}

/// When to compare the length of a summary with that of the text it replaces. Counting tokens takes
/// time, so the comparison is optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TellSizes {
    /// The lengths are never compared.
    Never,
    /// The lengths are compared only if the summary might not be shorter.
    WhenLonger,
    /// The lengths are always compared.
    Always,
}

/// A summary of some of a session's messages.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The number of messages that the summary replaces.
    pub messages: u64,
    /// The number of replaced messages that were themselves summaries.
    pub earlier: u64,
    /// The text of the summary.
    pub text: String,
    /// Whether the text was written without a model because both of the model's answers failed the
    /// check.
    pub failed_check: bool,
    /// The method that wrote the text.
    pub method: Method,
    /// How many of the user's rules the text and the kept messages contain, if the text is
    /// extractive.
    pub rules: RuleCount,
    /// How many repairs the model's answer needed.
    pub repairs: usize,
    /// The model's answer before anything was added to it.
    answer: Option<String>,
    /// The number of secrets removed from the input from which the text was written.
    redacted: usize,
    /// The number of secrets removed from the finished text.
    redacted_late: usize,
}

impl Summary {
    /// Returns true if all the summarized messages were themselves summaries.
    pub fn is_only_earlier(&self) -> bool {
        self.messages == self.earlier
    }
}

/// Adds the header to a summary and removes any remaining secrets. Each method already removes
/// secrets from its input, but this final check does not depend on the method.
fn clean(plan: &Plan, mut summary: Summary) -> Summary {
    let (clean, secrets) = redact(&summary.text);
    // Quotes are marked line by line, so nothing but `\n` may look like a line break.
    // Control characters in the names of tools or files must not reach a terminal, and invisible
    // characters must not hide text from a reader.
    let is_unseen =
        |c: char| c.is_control() && !matches!(c, '\n' | '\t') || ctx_text::is_invisible(c);
    let text = clean.replace("\r\n", "\n").replace(is_unseen, " ");
    summary.text = plan.recognizer.compose(&text);
    summary.redacted_late = secrets;
    summary
}

/// Adds notes about removed secrets and the length of the summary.
fn tell(plan: &Plan, old: &OldZone, summary: &Summary, notes: &mut Notes) {
    for (count, what) in [(summary.redacted, "summary"), (summary.redacted_late, "written summary")]
    {
        if count > 0 {
            notes.info(format_args!("secrets removed from the {what}: {count}"));
        }
    }
    if summary.rules.found > 0 {
        let RuleCount { found, kept } = summary.rules;
        notes.info(format_args!("rules of the user that are kept: {kept} of {found}"));
    }
    let text = summary.text.as_str();
    let sizes = match plan.tell_sizes {
        TellSizes::Never => return,
        TellSizes::WhenLonger if old.is_far_longer_than(text) => None,
        TellSizes::WhenLonger | TellSizes::Always => old.sizes(text),
    };
    let messages = counted(old.messages, "message");
    match sizes {
        Some((before, after)) if after >= before => notes.warn(format_args!(
            "the summary is not shorter than the text it replaces: {before} tokens, now {after}"
        )),
        Some((before, after)) => {
            notes.info(format_args!("{messages} summarized: {before} tokens, now {after}"));
        }
        None => notes.info(format_args!("{messages} summarized")),
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

#[cfg(test)]
mod text_tests {
    use ctx_summary::Recognizer;

    use super::fixtures::{ASK, LEDGER, old, plan, texts};
    use super::{Plan, TellSizes};
    use super::{clean, tell};
    use crate::Notes;

    #[test]
    fn the_last_form_has_its_header_one_line_end_and_no_secret() {
        let plan = Plan { recognizer: Recognizer::new(Some("[Before]"), &[]), ..plan() };
        let old = old(&plan, LEDGER, &[ASK]);
        let text = "a\r\nb\rc\u{2028}d\u{1b}\u{202e}\te password=hunter2x";
        let clean = clean(&plan, old.summary(text.to_owned()));
        let text = clean.text;
        assert!(text.starts_with("[Before]\n\n"), "{text}");
        assert!(text.ends_with("\n\na\nb c d  \te password=[REDACTED]"), "{text}");
        assert_eq!((clean.redacted, clean.redacted_late), (0, 1));
    }

    #[test]
    fn sizes_are_told_as_the_plan_says() {
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(400));
        let told = |tell_sizes, text: &str| {
            let plan = Plan { tell_sizes, ..plan() };
            let old = old(&plan, LEDGER, &[&long]);
            let mut summary = old.summary(text.to_owned());
            summary.redacted = 2;
            let mut notes = Notes::default();
            tell(&plan, &old, &summary, &mut notes);
            let mut told = texts(&mut notes);
            assert_eq!(told.remove(0), "secrets removed from the summary: 2");
            told.pop()
        };
        let longer = "x".repeat(800);
        assert_eq!(told(TellSizes::Never, &longer), None);
        for always in [TellSizes::Always, TellSizes::WhenLonger] {
            let no_shorter =
                "the summary is not shorter than the text it replaces: 104 tokens, now 204";
            assert_eq!(told(always, &longer).as_deref(), Some(no_shorter));
        }
        let uncounted = told(TellSizes::WhenLonger, "short");
        assert_eq!(uncounted.as_deref(), Some("1 message summarized"));
        let counted = told(TellSizes::Always, "short");
        let sizes = "1 message summarized: 104 tokens, now 6";
        assert_eq!(counted.as_deref(), Some(sizes));
    }
}
