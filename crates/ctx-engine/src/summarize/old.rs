//! Gathers the material for a summary of the old records while a session is read.

use ctx_format::{Message, Zone};
use ctx_redact::redact;
use ctx_summary::check::Source;
use ctx_summary::ledger::{Ledger, Reading};
use ctx_summary::{RuleSummary, Transcript};
use ctx_tokens::TokenCounter;

use super::{Plan, Summary};
use crate::ledger::LedgerReader;
use crate::message_counter::PER_MESSAGE;

/// What a writer needs to know about the old records in order to summarize them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether the ledger is needed, rather than the counts for a rule summary.
    pub ledger: bool,
    /// Whether the model's input is needed, along with the source for checking its answer.
    pub model: bool,
}

impl Needs {
    /// Returns true if the data gathered for these needs is also sufficient for `others`.
    pub fn cover(self, others: Self) -> bool {
        self.ledger == others.ledger && (self.model || !others.model)
    }
}

/// The old records of a session: the material for their summary, and their size.
pub(super) struct OldZone {
    needs: Needs,
    /// Builds the ledger, if one is needed and the caller does not provide it.
    reader: Option<LedgerReader>,
    /// The ledger, or an empty one if no ledger is needed.
    pub(super) ledger: Ledger,
    /// The counts for a rule summary, gathered only if no ledger is needed.
    pub(super) rule: RuleSummary,
    /// The input for the model, gathered only if a model will be asked.
    pub(super) input: Option<ModelInput>,
    /// The number of messages in the old zone.
    pub(super) messages: u64,
    /// The number of messages in the old zone that are summaries from earlier compactions.
    earlier_messages: u64,
    /// The number of lines in the old zone that are not messages.
    pub(super) other_lines: u64,
    /// The texts of the messages, concatenated, up to a total of [`COMPARED`] bytes.
    texts: String,
    /// The index in `texts` at which each text ends.
    ends: Vec<usize>,
    /// The total length of the texts, in bytes.
    bytes: usize,
    /// The number of tokens cut from messages that stay. The summary replaces the cut text as well.
    pub(super) shortened: u64,
    pub(super) counter: &'static dyn TokenCounter,
}

/// The input for a model, without secrets, and the source for checking the model's answer.
#[derive(Default)]
pub(super) struct ModelInput {
    pub(super) transcript: Transcript,
    pub(super) source: Source,
    /// Summaries from earlier compactions.
    pub(super) earlier: Vec<String>,
    redacted: usize,
}

/// A message's size. Nothing else about old messages is needed if the ledger is known and there are
/// too many messages for their lengths to be compared.
#[derive(Clone, Copy)]
pub(super) struct MessageSize {
    /// The total length of the message's texts, in bytes.
    pub(super) bytes: u32,
    /// Whether the message continues the message before it.
    pub(super) continues: bool,
    /// Whether the message is a summary from an earlier compaction.
    pub(super) is_earlier: bool,
}

/// The number of bytes above which the tokens in the old records are not counted.
pub(super) const COMPARED: usize = 1 << 20;
/// If the old records are more than this many times longer than the summary in bytes, they
/// certainly have more tokens than the summary, so their tokens need not be counted. Counting the
/// tokens in long records would take longer than all other work together.
const FAR_LONGER: usize = 16;

/// The minimum and maximum length of a summary, in tokens, if no length is requested.
const DEFAULT_LENGTH: (u64, u64) = (100, 10_000);
/// The approximate number of bytes per token.
const BYTES_A_TOKEN: u64 = 4;
/// The default length of a summary is the length of the replaced text divided by this number.
const DEFAULT_SHARE: u64 = 5;

impl OldZone {
    /// Creates an empty zone. `read` is the ledger, if the caller provides one.
    pub(super) fn new(plan: &Plan, needs: Needs, read: Option<Ledger>) -> Self {
        Self {
            needs,
            reader: (needs.ledger && read.is_none()).then(LedgerReader::default),
            ledger: read.unwrap_or_default(),
            rule: RuleSummary::default(),
            input: needs.model.then(ModelInput::default),
            messages: 0,
            earlier_messages: 0,
            other_lines: 0,
            texts: String::new(),
            ends: Vec::new(),
            bytes: 0,
            shortened: 0,
            counter: plan.counter.encoding.counter(),
        }
    }

    /// Returns true if the writer also needs the messages that stay.
    pub(super) fn reads_kept(&self) -> bool {
        self.reader.is_some() || self.input.is_some()
    }

    /// Takes note of a message that stays. The summary need not repeat the message's content, but a
    /// model's answer may refer to it.
    pub(super) fn push_kept(&mut self, line: u64, message: &Message<'_>, bytes: usize) {
        self.support(message);
        if let Some(reader) = &mut self.reader {
            reader.push(line, message, bytes, Zone::Keep);
        }
    }

    /// Marks a message as kept in the ledger provided by the caller.
    pub(super) fn stays(&mut self, message: &Message<'_>) {
        if self.needs.ledger {
            self.ledger.absorb(0, Reading::of_stay(message));
        }
    }

    /// Adds a kept message, in full, to the model's input. The summary may refer to parts of the
    /// message that are cut later.
    pub(super) fn support(&mut self, message: &Message<'_>) {
        if let Some(input) = &mut self.input {
            input.source.push(message);
            input.transcript.push_kept(message);
        }
    }

    /// Adds a message to the old zone. `line` and `bytes` are the line and length of the message's
    /// record. `earlier` is the text of the earlier summary that the message contains, if any.
    pub(super) fn push(
        &mut self,
        line: u64,
        message: &Message<'_>,
        bytes: usize,
        earlier: Option<String>,
    ) {
        self.messages += u64::from(!message.continues);
        for text in message.texts() {
            self.bytes += text.len();
            if self.bytes <= COMPARED {
                self.texts.push_str(text);
                self.ends.push(self.bytes);
            }
        }
        if let Some(text) = earlier {
            self.earlier_messages += 1;
            self.push_earlier(&text);
            // A summary by the vendor's server may begin a reply that goes on.
            if message.calls().next().is_none() {
                return;
            }
        }
        if let Some(reader) = &mut self.reader {
            reader.push(line, message, bytes, Zone::Old);
        } else if !self.needs.ledger {
            self.rule.push(message);
        }
        if let Some(input) = &mut self.input {
            input.transcript.push(line, message);
            input.source.push(message);
        }
    }

    /// Adds a message to the old zone, given only its size.
    pub(super) fn push_size(&mut self, size: MessageSize) {
        self.messages += u64::from(!size.continues);
        self.earlier_messages += u64::from(size.is_earlier);
        self.bytes += size.bytes as usize;
    }

    fn push_earlier(&mut self, text: &str) {
        if let Some(reader) = &mut self.reader {
            reader.push_earlier(text);
        } else if !self.needs.ledger {
            self.rule.push_earlier(text);
        }
        if let Some(input) = &mut self.input {
            let (clean, count) = redact(text);
            input.redacted += count;
            input.source.push_earlier(&clean);
            input.earlier.push(clean.into_owned());
        }
    }

    /// Completes the ledger at the end of the input.
    pub(super) fn finish_reading(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.ledger = reader.finish();
        }
    }

    /// Returns a summary of the old zone with the given text.
    pub(super) fn summary(&self, text: String) -> Summary {
        let (messages, earlier) = (self.messages, self.earlier_messages);
        Summary { messages, earlier, text, ..Summary::default() }
    }

    /// Returns the length, in tokens, of a summary for which no length is requested.
    pub(super) fn default_length(&self) -> u64 {
        let (least, most) = DEFAULT_LENGTH;
        (self.bytes as u64 / (BYTES_A_TOKEN * DEFAULT_SHARE)).clamp(least, most)
    }

    /// Returns the maximum number of tokens for a summary, or `None` if the zone is so long that no
    /// limit is needed.
    pub(super) fn most_tokens(&self) -> Option<u64> {
        // The transcript for a model also contains labels, so it may be longer than the texts.
        let sent = self.input.as_ref().map(|input| &input.transcript);
        let sent = sent.map_or(0, |sent| sent.tokens(self.counter));
        Some(self.text_tokens()?.max(sent) + PER_MESSAGE * self.messages)
    }

    /// Returns the token count of the texts, or `None` if there is too much text to count.
    fn text_tokens(&self) -> Option<u64> {
        let mut start = 0;
        let tokens = |end: &usize| {
            let text = &self.texts[start..*end];
            start = *end;
            self.counter.count(text)
        };
        (self.bytes <= COMPARED).then(|| self.ends.iter().map(tokens).sum())
    }

    /// Returns true if the zone is so much longer than the summary that no tokens need to be
    /// counted.
    pub(super) fn is_far_longer_than(&self, summary: &str) -> bool {
        self.bytes > FAR_LONGER * summary.len()
    }

    /// Returns the token counts of the zone and its summary, or `None` if the zone is too long to
    /// count.
    pub(super) fn sizes(&self, summary: &str) -> Option<(u64, u64)> {
        let before = self.text_tokens()? + self.shortened + PER_MESSAGE * self.messages;
        Some((before, self.counter.count(summary) + PER_MESSAGE))
    }
}

impl ModelInput {
    /// Returns true if there is no text for the model to summarize.
    pub(super) fn is_silent(&self) -> bool {
        self.earlier.is_empty() && self.transcript.is_empty()
    }

    /// Returns how many secrets were removed from the input.
    pub(super) fn redacted(&self) -> usize {
        self.redacted + self.transcript.redacted
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Object;
    use ctx_format::dialect::{Chat, Dialect};
    use ctx_summary::check::{Rules, check};

    use super::super::fixtures::{ASK, CALL, DONE, LEDGER, RESULT, old, plan};
    use super::{Needs, OldZone};

    const RULE: Needs = Needs { ledger: false, model: false };
    const MODEL: Needs = Needs { ledger: true, model: true };

    #[test]
    fn what_was_gathered_for_a_model_is_enough_without_one() {
        assert!(MODEL.cover(LEDGER) && LEDGER.cover(LEDGER));
        assert!(!LEDGER.cover(MODEL) && !LEDGER.cover(RULE) && !RULE.cover(LEDGER));
    }

    #[test]
    fn only_what_is_needed_is_gathered() {
        let plan = plan();
        let lines = [ASK, CALL, RESULT, DONE];
        let counter = plan.counter.encoding.counter();
        let rule = |needs| old(&plan, needs, &lines).rule.finish(None, counter);
        assert!(rule(RULE).contains("User messages: 1"));
        assert!(rule(LEDGER).contains("User messages: 0"));
        assert!(old(&plan, RULE, &lines).ledger.items.list.is_empty());
        assert!(!old(&plan, LEDGER, &lines).ledger.items.list.is_empty());
        assert!(old(&plan, LEDGER, &lines).input.is_none());
        let input = old(&plan, MODEL, &lines).input.expect("for the model");
        assert!(!input.is_silent() && input.earlier.is_empty());
    }

    #[test]
    fn earlier_summaries_are_told_apart_and_their_secrets_are_taken_out() {
        let plan = plan();
        let earlier =
            r#"{"role":"user","name":"ctx_summary","content":"it began with password=hunter2x"}"#;
        let zone = old(&plan, MODEL, &[earlier, ASK]);
        let summary = zone.summary("so".to_owned());
        assert_eq!((summary.messages, summary.earlier), (2, 1));
        let input = zone.input.expect("for the model");
        assert_eq!(input.earlier, ["it began with password=[REDACTED]"]);
        assert_eq!(input.redacted(), 1);
    }

    #[test]
    fn what_stays_supports_an_answer_and_is_not_sent() {
        let plan = plan();
        let mut zone = old(&plan, MODEL, &[ASK]);
        let object = Object::parse(DONE).expect("an object");
        let message = Chat.message(&object).expect("a message");
        let headings = ["Goal".to_owned()];
        let answer = "## Goal\n\"It is shipped\"";
        let checked = |zone: &OldZone| {
            let rules = Rules {
                headings: &headings,
                prompt: "",
                cut: false,
                largest: None,
                counter: zone.counter,
            };
            let input = zone.input.as_ref().expect("for the model");
            let sent = input.transcript.tokens(zone.counter);
            let repaired = check(answer, &input.source, &rules).expect("a summary");
            (repaired.repairs.unverified, sent)
        };
        let (unverified, sent) = checked(&zone);
        assert_eq!(unverified, 1);
        zone.push_kept(2, &message, DONE.len());
        assert_eq!(checked(&zone), (0, sent));
    }

    #[test]
    fn nothing_said_is_silence() {
        let plan = plan();
        let empty = r#"{"role":"user","content":""}"#;
        assert!(old(&plan, MODEL, &[empty]).input.is_some_and(|input| input.is_silent()));
    }

    #[test]
    fn a_summary_has_a_fifth_of_the_length_within_limits() {
        let plan = plan();
        let length = |bytes: usize| {
            let line = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(bytes));
            old(&plan, LEDGER, &[&line]).default_length()
        };
        assert_eq!(length(10), 100);
        assert_eq!(length(40_000), 2_000);
        assert_eq!(length(900_000), 10_000);
    }

    #[test]
    fn sizes_are_those_of_texts_and_frames() {
        let plan = plan();
        let line = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(400));
        let mut zone = old(&plan, MODEL, &[&line]);
        let sizes = |before: u64, after: u64| Some((before, after));
        assert_eq!(zone.sizes("12345678"), sizes(100 + 4, 2 + 4));
        zone.shortened = 7;
        assert_eq!(zone.sizes("12345678"), sizes(100 + 4 + 7, 2 + 4));
        assert!(zone.is_far_longer_than("12345678") && !zone.is_far_longer_than(&line));
        // Labels that are sent to a model are counted as well.
        assert_eq!(zone.most_tokens(), Some(102 + 4));
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(2 << 20));
        let zone = old(&plan, LEDGER, &[&long]);
        assert_eq!((zone.sizes("so"), zone.most_tokens()), (None, None));
    }
}
