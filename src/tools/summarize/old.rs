//! What is gathered of one old zone while it passes.

use ctx_select::count::MessageCounter;
use ctx_summary::{RuleSummary, Transcript};
use ctx_transcript::{Dialect, Message, Object, Role, redact};

use super::Plan;

/// An old zone: what a summary is made of, and its size.
pub(super) struct OldZone {
    pub(super) rule: RuleSummary,
    /// Only gathered when a model is asked.
    pub(super) transcript: Option<Transcript>,
    /// Summaries of earlier compactions, for the model.
    pub(super) earlier: Vec<String>,
    /// Messages that leave.
    pub(super) messages: u64,
    /// Secrets taken out of earlier summaries before they are sent.
    pub(super) redacted: usize,
    counter: MessageCounter,
    tokens: u64,
}

/// Old tokens are counted to compare them with the summary's; what is more than
/// this is more than any summary, and need not be counted.
const ENOUGH: u64 = 50_000;

impl OldZone {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            rule: RuleSummary::new(),
            transcript: plan.for_model.then(Transcript::default),
            earlier: Vec::new(),
            messages: 0,
            redacted: 0,
            counter: MessageCounter::new(plan.encoding),
            tokens: 0,
        }
    }

    /// One message that leaves; `known` are its tokens if its tag says them.
    pub(super) fn push(
        &mut self,
        plan: &Plan,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        message: &Message<'_>,
        known: Option<u64>,
    ) {
        self.messages += 1;
        if self.tokens < ENOUGH {
            self.tokens += known.unwrap_or_else(|| self.counter.message(message).total());
        }
        if let Some(text) = plan.recognizer.summary_in(dialect, object, message) {
            self.push_earlier(&text);
            return;
        }
        self.rule.push(message);
        if let Some(transcript) = &mut self.transcript {
            transcript.push(message);
        }
    }

    fn push_earlier(&mut self, text: &str) {
        self.rule.push_earlier(text);
        if self.transcript.is_some() {
            let (clean, count) = redact::redact(text);
            self.redacted += count;
            self.earlier.push(clean.into_owned());
        }
    }

    /// Its tokens, if they are few enough to have been counted.
    pub(super) fn tokens(&self) -> Option<u64> {
        (self.tokens < ENOUGH).then_some(self.tokens)
    }

    /// Tokens of the message that takes its place.
    pub(super) fn tokens_of_summary(&self, text: &str) -> u64 {
        let message = Message {
            role: Role::User,
            name: None,
            parts: vec![ctx_transcript::Part::Text(text.into())],
        };
        self.counter.message(&message).total()
    }
}
