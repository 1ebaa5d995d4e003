//! Fits a session into a budget. Decides which records stay and which are summarized, after all
//! records have been read.

mod output;
mod refill;

use crate::allocate::{Budget, Decision, Entries, Entry, RecordKind, TooSmall, Verdict, decide};
use crate::message_counter::{PRIMING, saturating_u32};
use crate::zones::{ExchangeFinder, is_orphan};
use ctx_format::{
    Class, Dialect, Message, Outline, Part, Record, Validator, Watch, Zone, ZoneReader,
};
use ctx_policy::Keep;
use ctx_policy::share::Share;
use ctx_summary::ledger::Ledger;
use ctx_summary::{is_talk, needed_tokens, rule_tokens};

use super::assembly::Assembly;
use super::old::{COMPARED, MessageSize, Needs, OldZone};
use super::shorten::observation;
use super::writer::{ReusedSummary, Writer};
use super::{NewSession, Plan};
use crate::calls::CallNames;
use crate::error::rewritable;
use crate::ledger::LedgerReader;
use crate::pins::{self, Pin};
use crate::session::FirstUnread;
use crate::waiting::WaitingRecords;
use crate::{ErrorKind, Notes, PassError, Result};
use output::{Output, SummedUp};

/// The latest messages' share of the tokens left by the system messages. The share is low because a
/// summary of older messages tells more per token than additional recent messages do.
const TAIL: Share = Share::of_percent(35);
/// The percentage for the latest messages in a dialogue, where important facts can be anywhere. The
/// latest messages get at least `LATEST_WORDS` tokens, so that the current topic stays.
const TALK_TAIL: u64 = 15;
const LATEST_WORDS: u64 = 80;
/// The largest share of the tokens left by the system messages that the user's rules may take from
/// the latest messages.
const MOST_RULES: Share = Share::of_percent(85);

/// Options for fitting a session into a budget.
#[derive(Clone, Debug, Default)]
pub struct BudgetRequest {
    /// The maximum size of the whole output, in tokens.
    pub tokens: u64,
    /// The minimum amount of the session to keep.
    pub keep: Keep,
    /// The records that always stay.
    pub pins: Vec<Pin>,
}

/// Takes the records of a session, and holds all of them until the decision is made.
pub struct BudgetPass<'p> {
    plan: &'p Plan,
    /// Writes the summary. May be replaced with another writer, provided that it does not need more
    /// input.
    pub(crate) writer: &'p Writer,
    request: BudgetRequest,
    dialect: Option<&'static dyn Dialect>,
    /// Keeps track of what the tags say about zones.
    pub zones: ZoneReader,
    records: WaitingRecords,
    entries: Entries,
    /// Finds exchanges until all records have been read.
    exchanges: Option<ExchangeFinder>,
    reader: Option<LedgerReader>,
    /// The size of each message, or `None` for a record that is not a message.
    sizes: Vec<Option<MessageSize>>,
    checks: Option<Validator>,
    unread: FirstUnread,
    /// Receives progress updates from the pass, including those of model requests.
    watch: Watch,
}

impl<'p> BudgetPass<'p> {
    /// Creates a pass over a session in this dialect.
    pub fn new(
        plan: &'p Plan,
        writer: &'p Writer,
        request: &BudgetRequest,
        dialect: Option<&'static dyn Dialect>,
    ) -> Self {
        Self {
            plan,
            writer,
            request: request.clone(),
            dialect,
            zones: ZoneReader::default(),
            records: WaitingRecords::new(&plan.temp),
            watch: Watch::default(),
            entries: Entries::default(),
            exchanges: Some(ExchangeFinder::default()),
            reader: (dialect.is_some() && writer.needs().ledger).then(LedgerReader::default),
            sizes: Vec::new(),
            checks: dialect.map(|dialect| Validator::new(dialect.output_rules())),
            unread: FirstUnread::default(),
        }
    }

    /// Processes the next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
        self.zones.read(record);
        self.unread.look_at(record, self.dialect.map(|it| it as &dyn Dialect));
        let (entry, size) = self.entry(record)?;
        self.entries.push(entry);
        self.sizes.push(size);
        self.records.push(record, &record.untagged())
    }

    /// Returns the allocation's entry for a record, and the size of its message.
    fn entry(&mut self, record: &Record<'_>) -> Result<(Entry, Option<MessageSize>)> {
        if record.class == Class::Tail {
            return Ok((Entry { kind: RecordKind::Tail, ..Entry::default() }, None));
        }
        let Some(object) = record.whole_object() else { return Ok((Entry::default(), None)) };
        let dialect = rewritable(self.dialect, "summarized")?;
        let outline = record.outline(self.dialect);
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.push(record.line, outline);
        }
        let (Some(outline), Some(message)) = (outline, record.message(self.dialect)) else {
            return Ok((Entry::default(), None));
        };
        let recognizer = &self.plan.recognizer;
        let earlier = recognizer.summary_in(dialect, object, &message);
        let is_summary = outline.is_summary || earlier.is_some();
        let said = recognizer.as_said(&message);
        let size = MessageSize {
            bytes: saturating_u32(said.texts().iter().map(|text| text.len() as u64).sum()),
            continues: said.continues,
            is_earlier: earlier.is_some(),
        };
        if let Some(reader) = &mut self.reader {
            if let Some(text) = earlier {
                reader.push_earlier(&text);
            } else {
                reader.push(record.line, &said, record.bytes.len(), Zone::Old);
            }
        }
        let outline =
            Outline { is_summary, begins_turn: outline.begins_turn && !is_summary, ..outline };
        let pin = pins::first(&self.request.pins, record, outline.role, || Some(message.clone()));
        let number = self.entries.len() as u64 + 1;
        let exchange = self.exchanges.as_mut().and_then(|it| it.push(number, &outline));
        let mut entry = Entry {
            exchange: saturating_u32(exchange.unwrap_or(0)),
            selected: pin.is_some(),
            begins_message: outline.begins_message(),
            ..self.message(record, &outline, &message)
        };
        if is_orphan(&outline, exchange) {
            entry.kind = RecordKind::Orphan;
        }
        Ok((entry, Some(size)))
    }

    fn message(
        &mut self,
        record: &Record<'_>,
        outline: &Outline<'_>,
        message: &Message<'_>,
    ) -> Entry {
        let observation = observation(record, message);
        let kind = if outline.is_summary {
            RecordKind::Summary
        } else if outline.role.is_system() {
            RecordKind::System
        } else if outline.begins_turn && observation.is_none() {
            RecordKind::User
        } else {
            RecordKind::Other
        };
        let counter = &self.plan.counter;
        let mut arguments = 0;
        let tokens = counter.message_of(message, |part| {
            let tokens = counter.part(part);
            match part {
                Part::Result(_) => self.entries.push_result(tokens.results),
                Part::Call(call) => arguments += tokens.calls - counter.text(&call.name),
                _ => {}
            }
            tokens
        });
        if let Some((_, text)) = observation {
            self.entries.push_result(counter.text(text));
        }
        let (tokens, arguments) = (saturating_u32(tokens.total()), saturating_u32(arguments));
        Entry { tokens, arguments, kind, ..Entry::default() }
    }

    /// Returns the latest messages' share of the tokens left by the system messages. The share is
    /// larger than usual if a summary does not need all the other tokens.
    fn tail(&self, ledger: Option<&Ledger>) -> Share {
        let system = self.entries.tokens_of(RecordKind::System);
        let room = self.request.tokens.saturating_sub(system);
        if let Some(share) = self.writer.share(room) {
            return Share::of_percent(rest(share, room));
        }
        let tail = ledger.filter(|ledger| is_talk(ledger)).map_or(TAIL, |_| talk_tail(room));
        let counter = self.plan.counter.encoding.counter();
        // The user's rules come before the latest messages.
        let rules = ledger.map_or(0, |ledger| rule_tokens(ledger, counter));
        let usual = room - tail.of(room);
        let summary = usual.max(rules.min(MOST_RULES.of(room)));
        let needed = ledger.map_or(summary, |ledger| needed_tokens(ledger, summary, counter));
        let needed = needed.min(summary);
        if needed == usual { tail } else { Share::of_percent(rest(needed, room)) }
    }

    /// Checks whether the records that must stay, including `keep`, fit into `tokens` tokens.
    /// Stores both values in the request if the records fit. Must be called after all records have
    /// been pushed.
    pub(crate) fn fits(&mut self, tokens: u64, keep: Keep) -> Result<(), TooSmall> {
        self.pin(keep);
        decide(&self.entries, &Self::budget_of(tokens))?;
        (self.request.tokens, self.request.keep) = (tokens, keep);
        Ok(())
    }

    fn pin(&mut self, keep: Keep) {
        if let Some(exchanges) = self.exchanges.take() {
            self.entries.join(&exchanges.finish());
        }
        self.entries.pin(keep);
    }

    fn budget_of(tokens: u64) -> Budget {
        Budget { tokens, frame: PRIMING, tail: TAIL, spare: 0, cuts_oldest: false }
    }

    /// Decides which records stay, and builds and checks the whole output. Returns the output and
    /// the zone of each input record.
    pub fn finish(mut self, notes: &mut Notes) -> Result<(NewSession, Vec<Zone>)> {
        self.watch = notes.watch.clone();
        self.pin(self.request.keep);
        let ledger = self.reader.take().map(LedgerReader::finish);
        let mut budget = Self::budget_of(self.request.tokens);
        // If all records fit, no summary is needed. If some records do not fit, the length that a
        // summary needs determines how many of the latest messages stay.
        if !budget.holds(&self.entries) {
            self.unread.refuse("summarized")?;
            budget.tail = self.tail(ledger.as_ref());
        }
        let decision = decide(&self.entries, &budget).map_err(ErrorKind::TooSmall)?;
        if decision.latest_request_is_old {
            notes.warn(
                "the latest user message does not fit into the budget and is summarized, too",
            );
        }
        let made = self.made(decision, ledger.unwrap_or_default(), None)?;
        let mut made = self.filled(made, &mut budget)?;
        notes.append(std::mem::take(&mut made.notes));
        let zones = zones(&self.entries, &made.decision.verdicts);
        Ok((made.finish(&mut self.records, notes)?, zones))
    }

    /// Fills the space that is left after the summary with additional recent messages. A model is
    /// asked only once, so its summary may cover messages that end up being kept.
    fn filled(&mut self, mut made: SummedUp<'p>, budget: &mut Budget) -> Result<SummedUp<'p>> {
        let mut given = None;
        for _ in 0..ROUNDS {
            let free = made.free;
            if free <= SPARE.of(budget.tokens) {
                break;
            }
            if self.writer.needs().model {
                given = given.or_else(|| made.given());
                // The latest messages may use all the space that is not taken by a summary of this
                // size.
                let system = self.entries.tokens_of(RecordKind::System);
                let room = budget.tokens.saturating_sub(budget.frame + system);
                budget.tail = LEAST_TAIL;
                budget.spare = room.saturating_sub(made.summary + LEAST_TAIL.of(room));
                budget.cuts_oldest = true;
            } else {
                budget.spare += free;
            }
            let decision = decide(&self.entries, budget).map_err(ErrorKind::TooSmall)?;
            // A model's summary is useful only if messages are removed or shortened.
            let stands = decision.verdicts.contains(&Verdict::Old) || self.writer.needs().ledger;
            if decision == made.decision || given.is_some() && !stands {
                break;
            }
            if !self.again(&mut made, decision, given.as_ref())? {
                return Ok(made);
            }
        }
        let unused = made.unused();
        if let Some(mut given) = given.filter(|_| unused > SPARE.of(budget.tokens)) {
            given.list += unused;
            let decision = made.decision.clone();
            self.again(&mut made, decision, Some(&given))?;
        }
        Ok(made)
    }

    /// Rebuilds the output from another decision. Returns false if the records do not fit.
    fn again(
        &mut self,
        made: &mut SummedUp<'p>,
        decision: Decision,
        given: Option<&ReusedSummary>,
    ) -> Result<bool> {
        // The ledger was built from all messages, so it can be reused.
        let ledger = std::mem::take(&mut made.material.old.ledger);
        let mut more = match self.made(decision, ledger, given) {
            Ok(more) => more,
            // The estimated sizes of shortened records may have been too low.
            Err(PassError { kind: ErrorKind::TooSmall(_), .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        if given.is_some() {
            std::mem::swap(&mut more.notes, &mut made.notes);
        }
        *made = more;
        Ok(true)
    }

    /// Builds the output that follows from the decision.
    fn made(
        &mut self,
        decision: Decision,
        ledger: Ledger,
        given: Option<&ReusedSummary>,
    ) -> Result<SummedUp<'p>> {
        let needs = self.writer.needs();
        let needs = Needs { model: needs.model && given.is_none(), ..needs };
        let cut_only = needs.ledger && cut_only(&self.entries, &decision);
        let old = OldZone::new(self.plan, needs, Some(ledger));
        let mut output = Output {
            assembly: Assembly::new(self.plan, self.dialect, old),
            writer: self.writer,
            budget: self.request.tokens,
            cut_only,
            used: PRIMING,
            cuts: Vec::new(),
            calls: CallNames::default(),
        };
        output.assembly.input.clone_from(&self.checks);
        let is_old = |at: &usize| decision.verdicts[*at] == Verdict::Old;
        let old = (0..self.sizes.len()).filter(is_old).filter_map(|at| self.sizes[at]);
        let old_bytes: usize = old.map(|size| size.bytes as usize).sum();
        let needs_texts = needs.model || !needs.ledger || old_bytes <= COMPARED;
        for (at, verdict) in decision.verdicts.iter().enumerate() {
            let size = self.sizes[at].filter(|_| !needs_texts && *verdict == Verdict::Old);
            if size.is_some_and(|size| output.leave(size)) {
                continue;
            }
            let bytes = self.records.bytes(at)?;
            let record = self.records.record(at, &bytes);
            output.record(at, &record, self.entries.tokens(at), *verdict)?;
        }
        output.sum_up(decision, given, Notes::watched(self.watch.clone()))
    }
}

/// Returns the percentage of `room` that is left if `tokens` tokens are used.
fn rest(tokens: u64, room: u64) -> u8 {
    let percent = (100 * tokens).div_ceil(room.max(1));
    u8::try_from(100u64.saturating_sub(percent).max(1)).unwrap_or(1)
}

/// Returns the latest messages' share of the tokens in a dialogue.
fn talk_tail(room: u64) -> Share {
    let percent = (LATEST_WORDS * 100).div_ceil(room.max(1)).max(TALK_TAIL);
    u8::try_from(percent).map_or(TAIL, |percent| Share::of_percent(percent.min(35))).min(TAIL)
}

/// The share of the latest messages when nearly all their tokens come from `spare`.
const LEAST_TAIL: Share = Share::of_percent(1);

/// The maximum number of attempts to keep more messages.
const ROUNDS: usize = 3;
/// If less than this share of the budget is unused, no further attempt is made to use it.
const SPARE: Share = Share::of_percent(2);

/// Returns true if no message is removed but at least one is shortened.
fn cut_only(entries: &Entries, decision: &Decision) -> bool {
    let is_cut = |(at, verdict): (usize, &Verdict)| match verdict {
        Verdict::Shorten { tokens, .. } => {
            entries.results(at).any(|result| result > u64::from(*tokens))
        }
        Verdict::Keep | Verdict::Old => false,
    };
    let stays = |verdict: &Verdict| *verdict != Verdict::Old;
    decision.verdicts.iter().all(stays) && decision.verdicts.iter().enumerate().any(is_cut)
}

/// Returns the zone of each record. A line that is not a message is in the same zone as the record
/// before it.
fn zones(entries: &Entries, verdicts: &[Verdict]) -> Vec<Zone> {
    let mut before = Zone::System;
    let zone = |(at, verdict): (usize, &Verdict)| {
        before = match (entries.kind(at), verdict) {
            (RecordKind::Line, _) => before,
            (RecordKind::System, _) => Zone::System,
            (_, Verdict::Old) => Zone::Old,
            (_, Verdict::Keep | Verdict::Shorten { .. }) => Zone::Keep,
        };
        before
    };
    verdicts.iter().enumerate().map(zone).collect()
}

#[cfg(test)]
mod tests;
