//! What is gathered of one old zone while it passes.

use ctx_ledger::Ledger;
use ctx_redact::redact;
use ctx_select::count::{MessageCounter, PER_MESSAGE};
use ctx_summary::check::Source;
use ctx_summary::{RuleSummary, Transcript};
use ctx_transcript::{Dialect, Object, Zone};

use super::assembly::Found;
use super::writer::{Needs, SummaryText};
use super::{Plan, Summary, TellSizes};
use crate::ledger::LedgerReader;

/// An old zone: what a summary is made of, and its size.
pub(super) struct OldZone {
    /// Only gathered where the summary may be written with it.
    pub(super) rule: Option<RuleSummary>,
    /// The same.
    reader: Option<LedgerReader>,
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
    earlier_messages: u64,
    /// Secrets taken out of earlier summaries before they are sent.
    pub(super) redacted: usize,
    /// Everything said in it, up to [`COMPARED`] bytes, and its whole length.
    texts: Vec<String>,
    bytes: usize,
    /// Tokens that were taken out of what stays: the summary tells them, too.
    pub(super) shortened: u64,
    counter: MessageCounter,
}

/// An old zone of more bytes is not compared with its summary.
const COMPARED: usize = 1 << 20;
/// Nor is one with so many times the summary's bytes: no text has so few tokens, and
/// counting takes longer than all the rest.
const FAR_LONGER: usize = 16;

/// The least and the most tokens of a summary when nobody says.
const DEFAULT_LENGTH: (u64, u64) = (100, 10_000);
/// About so many bytes are a token.
const BYTES_A_TOKEN: u64 = 4;
/// A summary is a fifth of what it replaces when nobody says.
const DEFAULT_SHARE: u64 = 5;

/// Sizes before and after, in tokens.
pub(super) struct Sizes {
    pub(super) before: u64,
    pub(super) after: u64,
}

impl OldZone {
    pub(super) fn new(plan: &Plan, needs: Needs, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            reader: dialect.filter(|_| needs.ledger).map(LedgerReader::new),
            ..Self::without_ledger(plan, needs)
        }
    }

    /// One whose ledger is read by someone else.
    pub(super) fn without_ledger(plan: &Plan, needs: Needs) -> Self {
        Self {
            rule: (!needs.ledger).then(RuleSummary::new),
            reader: None,
            ledger: None,
            transcript: needs.model.then(Transcript::default),
            source: needs.model.then(Source::default),
            earlier: Vec::new(),
            messages: 0,
            earlier_messages: 0,
            redacted: 0,
            texts: Vec::new(),
            bytes: 0,
            shortened: 0,
            counter: plan.counter,
        }
    }

    /// Whether messages that stay are of interest.
    pub(super) fn reads_ledger(&self) -> bool {
        self.reader.is_some()
    }

    /// A message that stays: what it tells need not be told by the summary.
    pub(super) fn push_kept(&mut self, found: Found<'_>) {
        if let Some(reader) = &mut self.reader {
            reader.push(found.line, found.message, found.record, Zone::Keep);
        }
    }

    /// One message that leaves.
    pub(super) fn push(
        &mut self,
        plan: &Plan,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        found: Found<'_>,
    ) {
        let message = found.message;
        self.messages += u64::from(!message.continues);
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
        if let Some(reader) = &mut self.reader {
            reader.push(found.line, message, found.record, Zone::Old);
        }
        if let Some(rule) = &mut self.rule {
            rule.push(message);
        }
        if let Some(transcript) = &mut self.transcript {
            transcript.push(message);
        }
        if let Some(source) = &mut self.source {
            source.push(message);
        }
    }

    fn push_earlier(&mut self, text: &str) {
        if let Some(reader) = &mut self.reader {
            reader.push_earlier(text);
        }
        if let Some(rule) = &mut self.rule {
            rule.push_earlier(text);
        }
        if self.transcript.is_some() {
            let (clean, count) = redact(text);
            self.redacted += count;
            if let Some(source) = &mut self.source {
                source.push_earlier(&clean);
            }
            self.earlier.push(clean.into_owned());
        }
    }

    /// All of it came.
    pub(super) fn finish_reading(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.ledger = Some(reader.finish());
        }
    }

    /// That `text` stands in its place.
    pub(super) fn summary(&self, text: SummaryText) -> Summary {
        Summary {
            messages: self.messages,
            earlier: self.earlier_messages,
            text: text.text,
            failed_check: text.failed_check,
            mends: text.mends,
        }
    }

    /// Whether nothing was said in it, by anyone.
    pub(super) fn is_silent(&self) -> bool {
        self.earlier.is_empty() && self.transcript.as_ref().is_none_or(Transcript::is_empty)
    }

    /// How long a summary is when nobody says.
    pub(super) fn default_length(&self) -> u64 {
        let (least, most) = DEFAULT_LENGTH;
        (self.bytes as u64 / (BYTES_A_TOKEN * DEFAULT_SHARE)).clamp(least, most)
    }

    /// What a summary must not exceed; `None` for a zone that is far longer anyway.
    pub(super) fn most_tokens(&self) -> Option<u64> {
        // Calls have no text of their own, but they are summed up as well.
        let sent = self.transcript.as_ref();
        let sent = sent.map(|sent| sent.tokens(self.counter.encoding().counter()));
        Some(self.said()?.max(sent.unwrap_or(0)) + PER_MESSAGE * self.messages)
    }

    /// Tokens of all that is said in it, unless it is too long to be counted.
    fn said(&self) -> Option<u64> {
        let texts = self.texts.iter();
        (self.bytes <= COMPARED).then(|| texts.map(|text| self.counter.text(text)).sum())
    }

    /// Its size and that of the text in its place; `None` when nobody would be
    /// told: a zone that is far longer is only worth a note.
    pub(super) fn sizes(&self, summary: &str, tell: TellSizes) -> Option<Sizes> {
        let far_longer = self.bytes > FAR_LONGER * summary.len();
        let told = match tell {
            TellSizes::Never => false,
            TellSizes::WhenLonger => !far_longer,
            TellSizes::Always => true,
        };
        if !told {
            return None;
        }
        Some(Sizes {
            before: self.said()? + self.shortened + PER_MESSAGE * self.messages,
            after: self.counter.text(summary) + PER_MESSAGE,
        })
    }
}
