//! What is gathered of one old zone while it passes.

use ctx_cli::Verbosity;
use ctx_ledger::Ledger;
use ctx_redact::redact;
use ctx_select::count::PER_MESSAGE;
use ctx_summary::check::Source;
use ctx_summary::{RuleSummary, Transcript};
use ctx_tokens::Encoding;
use ctx_transcript::{Dialect, Message, Object, Zone};

use super::Plan;

/// An old zone: what a summary is made of, and its size.
pub(super) struct OldZone {
    pub(super) rule: RuleSummary,
    /// Only kept where the summary is written with it.
    pub(super) ledger: Option<Ledger>,
    /// Only gathered when a model is asked.
    pub(super) transcript: Option<Transcript>,
    /// What the model's answer is held against.
    pub(super) source: Option<Source>,
    /// Summaries of earlier compactions, for the model.
    pub(super) earlier: Vec<String>,
    /// Messages that leave.
    pub(super) messages: u64,
    /// Of them, summaries of earlier compactions.
    pub(super) earlier_messages: u64,
    /// Secrets taken out of earlier summaries before they are sent.
    pub(super) redacted: usize,
    /// Everything said in it, up to [`COMPARED`] bytes, and its whole length.
    texts: Vec<String>,
    bytes: usize,
    /// Tokens that were taken out of what stays: the summary tells them, too.
    pub(super) shortened: u64,
    encoding: Encoding,
}

/// An old zone of so many bytes is not held against its summary.
const COMPARED: usize = 1 << 20;
/// Nor is one that has so many times the summary's bytes: no text has so few
/// tokens, and the tables of an encoding take longer to build than all the rest.
const FAR_LONGER: usize = 16;

/// The least and the most tokens of a summary when nobody says.
const DEFAULT_LENGTH: (u64, u64) = (100, 10_000);

/// Sizes before and after, in tokens.
pub(super) struct Sizes {
    pub(super) before: u64,
    pub(super) after: u64,
}

impl OldZone {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            rule: RuleSummary::new(),
            ledger: plan.writer.reads_ledger().then(Ledger::new),
            transcript: plan.writer.asks_a_model().then(Transcript::default),
            source: plan.writer.asks_a_model().then(Source::default),
            earlier: Vec::new(),
            messages: 0,
            earlier_messages: 0,
            redacted: 0,
            texts: Vec::new(),
            bytes: 0,
            shortened: 0,
            encoding: plan.encoding,
        }
    }

    /// One whose ledger is read by someone else.
    pub(super) fn without_ledger(plan: &Plan) -> Self {
        Self {
            ledger: None,
            ..Self::new(plan)
        }
    }

    /// A message that stays: what it tells need not be told by the summary.
    pub(super) fn push_kept(&mut self, line: u64, message: &Message<'_>) {
        if let Some(ledger) = &mut self.ledger {
            ledger.push(line, message, Zone::Keep);
        }
    }

    /// One message that leaves.
    pub(super) fn push(
        &mut self,
        plan: &Plan,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        (line, message): (u64, &Message<'_>),
    ) {
        self.messages += 1;
        for text in message.texts() {
            self.bytes += text.len();
            if self.bytes <= COMPARED {
                self.texts.push(text.to_owned());
            }
        }
        if let Some(text) = plan.recognizer.summary_in(dialect, object, message) {
            self.earlier_messages += 1;
            self.push_earlier(&text);
            return;
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.push(line, message, Zone::Old);
        }
        self.rule.push(message);
        if let Some(transcript) = &mut self.transcript {
            transcript.push(message);
        }
        if let Some(source) = &mut self.source {
            source.push(message);
        }
    }

    fn push_earlier(&mut self, text: &str) {
        if let Some(ledger) = &mut self.ledger {
            ledger.push_earlier(text);
        }
        self.rule.push_earlier(text);
        if self.transcript.is_some() {
            let (clean, count) = redact(text);
            self.redacted += count;
            if let Some(source) = &mut self.source {
                source.push_earlier(&clean);
            }
            self.earlier.push(clean.into_owned());
        }
    }

    /// How long a summary is when nobody says: about a fifth of what it replaces.
    pub(super) fn default_length(&self) -> u64 {
        (self.bytes as u64 / (4 * 5)).clamp(DEFAULT_LENGTH.0, DEFAULT_LENGTH.1)
    }

    /// What a summary must not exceed; `None` for a zone that is far longer anyway.
    pub(super) fn most_tokens(&self) -> Option<u64> {
        if self.bytes > COMPARED {
            return None;
        }
        let counter = self.encoding.counter();
        let said: u64 = self.texts.iter().map(|text| counter.count(text)).sum();
        // Calls have no text of their own, but they are summed up as well.
        let sent = self
            .transcript
            .as_ref()
            .map_or(0, |sent| sent.tokens(counter));
        Some(said.max(sent) + PER_MESSAGE * self.messages)
    }

    /// Its size and that of the text in its place; `None` when nobody would be
    /// told: a zone that is far longer is only worth a note.
    pub(super) fn sizes(&self, summary: &str, verbosity: Verbosity) -> Option<Sizes> {
        let far_longer = self.bytes > FAR_LONGER * summary.len();
        let told = match verbosity {
            Verbosity::Quiet => false,
            Verbosity::Normal => !far_longer,
            Verbosity::Verbose | Verbosity::Debug => true,
        };
        if !told || self.bytes > COMPARED {
            return None;
        }
        let counter = self.encoding.counter();
        let said: u64 = self.texts.iter().map(|text| counter.count(text)).sum();
        Some(Sizes {
            before: said + self.shortened + PER_MESSAGE * self.messages,
            after: counter.count(summary) + PER_MESSAGE,
        })
    }
}
