//! Computes how many tokens would be freed by the verdicts on a session's records, and applies the
//! verdicts.

use std::borrow::Cow;

use ctx_format::{
    Call, Dialect, Edits, MediaPlace, Message, Object, Part, Record, Slot, ToolResult,
};
use ctx_policy::Rule;
use ctx_policy::trigger::Size;

use super::Options;
use super::facts::{Facts, RecordFacts, Replacement, ResultFacts, place_of};
use super::freed::{Freed, Sums};
use super::rules::{Decisions, Verdict};
use super::shorten::{shorten, shorten_arguments};
use crate::message_counter::{ByKind, MessageCounter, PER_MESSAGE, PRIMING, saturating_u32};
use crate::placeholder::split_handle;

/// The verdicts on all records. Records are identified by their 0-based index.
pub struct Verdicts<'p> {
    pub(super) facts: Facts,
    pub(super) options: &'p Options,
    pub(super) counter: MessageCounter,
    count_all: bool,
    pub(super) decisions: Decisions,
}

impl<'p> Verdicts<'p> {
    pub(super) fn new(
        facts: Facts,
        options: &'p Options,
        counter: MessageCounter,
        count_all: bool,
    ) -> Self {
        let decisions = Decisions::new(&facts, options, counter);
        Self { facts, options, counter, count_all, decisions }
    }

    /// Decides again with other options. No further facts are gathered, so the new options may have
    /// only rules that the old options had.
    #[must_use]
    pub fn under(self, options: &'p Options) -> Self {
        // The old decisions are dropped first, so the two lists are never in memory at the same
        // time.
        drop(self.decisions);
        Self::new(self.facts, options, self.counter, self.count_all)
    }

    /// Returns true if a record stays but changes.
    pub fn is_changed(&self, record: usize) -> bool {
        matches!(self.decisions.records[record], Verdict::Change { .. })
    }

    /// Returns true if a record is dropped.
    pub fn is_dropped(&self, record: usize) -> bool {
        self.dropped_by(record).is_some()
    }

    /// Returns the rule that drops a record, if there is one.
    pub(super) fn dropped_by(&self, record: usize) -> Option<Rule> {
        match self.decisions.records[record] {
            Verdict::Drop(rule) => Some(rule),
            Verdict::Keep | Verdict::Change { .. } => None,
        }
    }

    /// Returns true if a record is a message.
    pub(super) fn is_message(&self, record: usize) -> bool {
        self.facts.records[record].role.is_some()
    }

    /// Returns the number of tokens freed by changing or dropping a record.
    pub(super) fn gain(&self, record: usize) -> u64 {
        self.freed(record).iter().map(|freed| freed.before.saturating_sub(freed.after)).sum()
    }

    /// Returns the tokens freed by each change to a record, or by dropping the record.
    pub fn freed(&self, record: usize) -> Vec<Freed> {
        let all = |rule, tokens: u32| Freed { rule, before: tokens.into(), after: 0 };
        match self.decisions.records[record] {
            Verdict::Drop(rule) if self.is_message(record) => {
                let RecordFacts { tokens, begins_message, .. } = self.facts.records[record];
                let each = saturating_u32(PER_MESSAGE);
                let mut later = self.facts.records[record + 1..].iter();
                let next = later.find(|it| it.role.is_some());
                // If a later part of the message stays, the overhead of the message stays, too.
                let stays = begins_message && next.is_some_and(|next| !next.begins_message);
                vec![all(rule, tokens.saturating_sub(if stays { each } else { 0 }))]
            }
            Verdict::Keep | Verdict::Drop(_) => Vec::new(),
            Verdict::Change { reasoning, arguments, images } => {
                let replacements = self.replacements(record);
                let replaced = replacements.map(|(result, replacement)| Freed {
                    rule: replacement.rule,
                    before: self.facts.results[result].size.tokens.into(),
                    after: replacement.size.tokens.into(),
                });
                let mut freed: Vec<Freed> = replaced.collect();
                let dropped = self.facts.images.get(&record).filter(|_| images);
                freed.extend(dropped.into_iter().flatten().map(|image| image.freed));
                if arguments && let Some(shorter) = self.facts.arguments.get(&record) {
                    freed.extend(shorter);
                }
                if reasoning && let Some(gone) = self.facts.reasoning.get(&record) {
                    freed.push(all(Rule::Reasoning, gone.tokens));
                }
                freed
            }
        }
    }

    /// Returns the tokens freed by each rule.
    pub fn sums(&self) -> Sums {
        (0..self.facts.records.len()).flat_map(|record| self.freed(record)).collect()
    }

    /// Returns the token count of a record's message before pruning. Results whose token count is
    /// already known are not counted again.
    pub(super) fn tokens_before(&self, index: usize, message: &Message<'_>) -> Option<u64> {
        let record = self.facts.records[index];
        record.role?;
        if self.count_all {
            return Some(record.tokens.into());
        }
        let mut results = self.facts.results_of(index);
        let counted_tokens = |result: usize| {
            let ResultFacts { is_text, size, .. } = self.facts.results[result];
            let is_known =
                is_text && size.tokens > 0 && !self.facts.sizes_in_message.contains_key(&result);
            is_known.then_some(size.tokens)
        };
        let tokens = self.counter.message_of(message, |part| match part {
            Part::Result(_) => match results.next().and_then(counted_tokens) {
                Some(tokens) => ByKind { results: tokens.into(), ..ByKind::default() },
                None => self.counter.part(part),
            },
            _ => self.counter.part(part),
        });
        Some(tokens.total())
    }

    /// Returns the token count of a record after pruning. Requires all messages to have been
    /// counted.
    pub fn tokens(&self, record: usize) -> u64 {
        if self.is_dropped(record) {
            return 0;
        }
        let (mut before, mut after) = (0, u64::from(self.facts.records[record].tokens));
        for freed in self.freed(record) {
            before += freed.before;
            after += freed.after;
        }
        // The figures for a changed result are for a single text, but in the message, each of the
        // result's texts was counted separately.
        for (result, _) in self.replacements(record) {
            before += u64::from(self.facts.size_in_message(result).tokens);
            after += u64::from(self.facts.results[result].size.tokens);
        }
        after - before
    }

    /// Returns the size of the session after pruning. Requires all messages to have been counted.
    pub fn size(&self) -> Size {
        let mut size = Size::default();
        for (index, record) in self.facts.records.iter().enumerate() {
            if record.role.is_none() || self.is_dropped(index) {
                continue;
            }
            size.messages += 1;
            size.system_messages += u64::from(!record.is_conversation());
            size.turns += u64::from(record.begins_turn);
            size.tokens = size.tokens.max(PRIMING) + self.tokens(index);
            for result in self.facts.results_of(index) {
                let shorter = self.decisions.results[result].map(|replacement| replacement.size);
                let left = shorter.unwrap_or_else(|| self.facts.size_in_message(result));
                size.tool_bytes += u64::from(left.bytes);
            }
        }
        size
    }

    fn replacements(&self, record: usize) -> impl Iterator<Item = (usize, Replacement)> {
        let results = self.facts.results_of(record);
        results.filter_map(|result| Some((result, self.decisions.results[result]?)))
    }

    /// Returns the edits to `object`, from which the message was read, and the new message. The
    /// parts of the new message have no positions, because the message is not in a record yet.
    pub fn message_edits<'a>(
        &self,
        record: usize,
        mut message: Message<'a>,
        object: &Object<'a>,
        dialect: &dyn Dialect,
    ) -> (Edits, Message<'a>) {
        let mut edits = Edits::default();
        let Verdict::Change { reasoning, arguments, images } = self.decisions.records[record]
        else {
            return (edits, message);
        };
        let mut results = self.facts.results_of(record);
        for part in &mut message.parts {
            if images {
                let part = std::slice::from_mut(part);
                self.drop_images(record, part, None, (object, dialect), &mut edits);
            }
            match part {
                Part::Result(result) => {
                    let text = match &result.media {
                        MediaPlace::Apart { text } => text.as_ref(),
                        MediaPlace::AmongTexts => None,
                    };
                    if images {
                        let parts = &mut result.parts;
                        self.drop_images(record, parts, text, (object, dialect), &mut edits);
                    }
                    if let Some(index) = results.next() {
                        self.replace_result(index, result, &mut edits);
                    }
                    result.slot = None;
                }
                Part::Call(call) => {
                    if arguments {
                        self.shorten_call(call, &mut edits);
                    }
                    call.slot = None;
                }
                _ => {}
            }
        }
        if reasoning {
            edits.cut(message.reasoning.iter().cloned());
            let parts = std::mem::take(&mut message.parts).into_iter();
            let left = parts.filter(|part| !message.is_cut_as_reasoning(part, object));
            message.parts = left.collect();
            message.sealed = 0;
        }
        message.reasoning = Vec::new();
        (edits, message)
    }

    /// Replaces images among `parts` with their handles. If the parts belong to a result that keeps
    /// its media apart from its `text`, the handles are added to the text.
    fn drop_images(
        &self,
        record: usize,
        parts: &mut [Part<'_>],
        text: Option<&Slot>,
        (object, dialect): (&Object<'_>, &dyn Dialect),
        edits: &mut Edits,
    ) {
        let Some(images) = self.facts.images.get(&record) else { return };
        let handle = |part: &Part<'_>| {
            let place = place_of(part, object)?;
            Some(images.iter().find(|image| image.place == place)?.handle.clone())
        };
        let handles: Vec<Option<String>> = parts.iter().map(handle).collect();
        if let Some(text) = text.filter(|_| handles.iter().any(Option::is_some)) {
            edits.detach(object, text, parts, &handles);
        }
        for (part, handle) in parts.iter_mut().zip(handles) {
            let (Part::Media(media), Some(handle)) = (&*part, handle) else { continue };
            if text.is_none() {
                edits.replace(object.place_of(&media.raw), dialect.in_place_of(media, &handle));
            }
            *part = Part::Text(handle.into());
        }
    }

    fn replace_result(&self, index: usize, result: &mut ToolResult<'_>, edits: &mut Edits) {
        let (Some(replacement), Some(slot), Some(old)) =
            (self.decisions.results[index], &result.slot, result.text())
        else {
            return;
        };
        let new = if let Some(reason) = replacement.reason {
            reason.note(self.options).to_owned()
        } else {
            let (body, earlier) = split_handle(&old);
            let Some((_, text)) = shorten(self.options, body, earlier.is_some()) else { return };
            text
        };
        let text = self.facts.handle(index, self.options.saved).behind(&new);
        edits.put(slot, &text);
        result.parts = vec![Part::Text(Cow::Owned(text))];
    }

    fn shorten_call(&self, call: &mut Call<'_>, edits: &mut Edits) {
        let Options { argument_chars, saved, .. } = *self.options;
        if let Some(slot) = &call.slot
            && let Some(max_chars) = argument_chars
            && let Some(new) = shorten_arguments(&call.arguments, max_chars, saved, &self.counter)
        {
            edits.put(slot, &new.text);
            call.arguments = Cow::Owned(new.text);
        }
    }
}

/// Returns the edits to a record and its new message, or `None` if the record does not change. If a
/// text has a second copy for the agent's screen, the copy is cut when the text changes.
pub(crate) fn record_edits<'r>(
    verdicts: &Verdicts<'_>,
    index: usize,
    record: &Record<'r>,
    dialect: &dyn Dialect,
) -> Option<(Edits, Message<'r>)> {
    if !verdicts.is_changed(index) {
        return None;
    }
    let object = record.whole_object()?;
    let message = record.message(Some(dialect))?;
    let (mut edits, message) = verdicts.message_edits(index, message, object, dialect);
    for copy in dialect.second_copies(object) {
        if edits.touch(&copy.of) {
            edits.cut([copy.cut]);
        }
    }
    Some((edits, message))
}

/// Returns true if the verdict on a record changes context to which later signed reasoning is
/// bound. Dropping reasoning does not change that context.
pub(crate) fn changes_context(verdicts: &Verdicts<'_>, index: usize) -> bool {
    verdicts.freed(index).iter().any(|freed| freed.rule != Rule::Reasoning)
}
