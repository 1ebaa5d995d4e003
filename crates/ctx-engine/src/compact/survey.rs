//! Reads a session for the first time, and gathers all facts on which the compaction bases its
//! decisions.

use std::borrow::Cow;

use chrono::NaiveDate;
use ctx_format::{Class, Dialect, Message, Outline, Record, Role, Tally, Zone};
use ctx_policy::Keep;
use ctx_policy::trigger::Size;
use ctx_summary::Recognizer;
use ctx_summary::ledger::Ledger;

use super::content::Content;
use super::entries::{Entries, Entry, EntryKind};
use super::options::Plan;
use crate::ledger::LedgerReader;
use crate::message_counter::{MessageCounter, PRIMING, saturating_u32, tool_bytes};
use crate::outlet::Announced;
use crate::prune::{LastCall, Options, Pruner, Verdicts};
use crate::session::FirstUnread;
use crate::split::ZoneCounts;
use crate::summarize::recognizer;
use crate::zones::{ExchangeFinder, Joined, KnownFacts, KnownZones, MessageFacts};
use crate::{Result, Time, pins};

/// The facts that a survey has gathered about a session.
#[derive(Default)]
pub(super) struct Survey<'p> {
    pub(super) entries: Entries,
    joined: Joined,
    pub(super) size: Size,
    /// The sum of the records' tokens. It differs from the size of a lowered log, whose messages may
    /// be divided in another way.
    pub(super) sum: u64,
    /// The token count of the system messages, including the conversation's overhead if the first
    /// message is a system message.
    pub(super) system_tokens: u64,
    /// The pruning verdicts on all records, or `None` if nothing is pruned.
    pub(super) pruned: Option<Verdicts<'p>>,
    pub(super) last_call: LastCall,
    pub(super) announced: Announced,
    pub(super) ledger: Option<Ledger>,
    /// Counts of the session's lines.
    pub(super) tally: Tally,
    /// The first message that we do not understand (for logs, see `Content::unread`).
    pub(super) unread: FirstUnread,
}

/// The zone of each record, and the number of records in each zone.
#[derive(Clone)]
pub(super) struct Zones {
    pub(super) of: Vec<Zone>,
    pub(super) counts: ZoneCounts,
}

impl<'p> Survey<'p> {
    /// Surveys a session. `pruning` holds the pruning rules and the counter that they use. If
    /// `scored` is set, the ledger is built as well. If `flush` is set, it also receives the
    /// messages.
    pub(super) fn of(
        plan: &Plan<'_>,
        content: &Content,
        pruning: Option<(&'p Options, MessageCounter)>,
        scored: bool,
        flush: Option<&mut Flush<'_>>,
    ) -> Result<Self> {
        let mut surveyor = Surveyor {
            plan,
            dialect: content.dialect,
            survey: Survey {
                entries: Entries::new(plan.environment.temp.clone()),
                tally: Tally::of(Some(content.dialect)),
                ..Survey::default()
            },
            pruner: pruning.map(|(options, counter)| Pruner::new(options, counter, true)),
            exchanges: ExchangeFinder::default(),
            records: 0,
            recognizer: recognizer(None),
            reader: scored.then(LedgerReader::default),
            flush,
        };
        content.each(|record| surveyor.record(record))?;
        let mut survey = surveyor.finish();
        survey.sum = survey.size.tokens;
        survey.size = content.counted.as_deref().copied().unwrap_or(survey.size);
        Ok(survey)
    }

    /// Passes each record's 0-based index and the facts about the record to `handle`. Token counts
    /// are those after pruning.
    pub(super) fn each(&self, mut handle: impl FnMut(usize, Entry)) -> Result<()> {
        self.entries.each(|record, entry| {
            let left = self.pruned.as_ref().map(|it| saturating_u32(it.tokens(record)));
            let exchange = self.joined.first_of(entry.exchange.into());
            let entry = Entry {
                tokens: left.unwrap_or(entry.tokens),
                exchange: saturating_u32(exchange),
                ..entry
            };
            handle(record, entry);
        })
    }

    /// Like [`Self::each`], but skips records dropped by pruning.
    fn each_left(&self, mut handle: impl FnMut(usize, Entry)) -> Result<()> {
        self.each(|record, entry| {
            if !self.is_dropped(record) {
                handle(record, entry);
            }
        })
    }

    pub(super) fn is_dropped(&self, record: usize) -> bool {
        let verdicts = self.pruned.as_ref();
        verdicts.is_some_and(|verdicts| verdicts.is_dropped(record))
    }

    /// Returns the size of a session of which this is left, given the sum of its records' tokens.
    pub(super) fn left(&self, size: Size) -> Size {
        Size { tokens: (self.size.tokens + size.tokens).saturating_sub(self.sum), ..size }
    }

    /// Decides the zone of each record.
    pub(super) fn zones(&self, keep: Keep) -> Result<Zones> {
        let number = |record: usize| record as u64 + 1;
        let mut failed = None;
        let mut known = KnownZones::of(keep, |take| {
            let read = self.each_left(|record, entry| take(number(record), &entry.facts()));
            failed = read.err().or(failed.take());
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let mut zones =
            Zones { of: vec![Zone::Keep; self.entries.len()], counts: ZoneCounts::default() };
        self.each_left(|record, entry| {
            let zone = known.next(number(record), &entry.facts()).zone;
            zones.of[record] = zone;
            if entry.ends {
                zones.counts.add(zone);
            }
        })?;
        Ok(zones)
    }

    /// Counts the tokens and messages in the records that stay, not including a summary.
    pub(super) fn kept(&self, zones: &Zones) -> Result<Size> {
        let mut size = Size::default();
        self.each_left(|record, entry| {
            if entry.kind.is_message() && zones.of[record] != Zone::Old {
                size.tokens = size.tokens.max(PRIMING) + u64::from(entry.tokens);
                let is_system = entry.kind == EntryKind::System;
                size.messages += u64::from(entry.begins_message);
                size.system_messages += u64::from(entry.begins_message && is_system);
            }
        })?;
        Ok(size)
    }
}

impl Entry {
    fn facts(&self) -> KnownFacts {
        match self.kind {
            EntryKind::Tail => KnownFacts::Tail,
            EntryKind::Line | EntryKind::Blank => KnownFacts::Line,
            kind => KnownFacts::Message(MessageFacts {
                is_system: kind == EntryKind::System && !self.is_summary,
                begins_message: self.begins_message,
                begins_turn: self.begins_turn,
                tokens: self.tokens.into(),
                pinned: self.pinned,
                exchange: (self.exchange > 0).then_some(self.exchange.into()),
                is_orphan: self.results > 0 && self.exchange == 0 && !self.begins_turn,
            }),
        }
    }
}

/// Builds a survey from the records of a session.
struct Surveyor<'a, 'p, 'f> {
    plan: &'a Plan<'a>,
    dialect: &'static dyn Dialect,
    survey: Survey<'p>,
    pruner: Option<Pruner<'p>>,
    exchanges: ExchangeFinder,
    records: u64,
    recognizer: Recognizer,
    reader: Option<LedgerReader>,
    flush: Option<&'a mut Flush<'f>>,
}

impl<'p> Surveyor<'_, 'p, '_> {
    fn record(&mut self, record: &Record<'_>) -> Result<()> {
        self.records += 1;
        self.survey.announced.read(record.tag().as_ref());
        let dialect = self.dialect;
        self.survey.tally.add(record, Some(dialect));
        self.survey.unread.look_at(record, Some(dialect));
        let found = record.whole_object().and_then(|object| {
            let outline = record.outline(Some(dialect))?;
            Some((object, outline, record.message(Some(dialect))?))
        });
        let entry = match found {
            Some((object, outline, message)) => {
                let pins = &self.plan.options.pins;
                let pin = pins::first(pins, record, outline.role, || Some(message.clone()));
                let pinned = pin.is_some();
                let tokens = match &mut self.pruner {
                    Some(pruner) => {
                        let stays = pinned || outline.role.is_system();
                        pruner.message(&outline, &message, object, stays)
                    }
                    None => self.plan.environment.counter.message(&message).total(),
                };
                self.survey.last_call.message(outline.role, object);
                self.size(&outline, &message, tokens);
                if let Some(reader) = &mut self.reader {
                    reader.push_old(record, &message, dialect, &self.recognizer);
                }
                if let Some(flush) = &mut self.flush {
                    let (plan, size) = (self.plan, self.survey.size);
                    let is_due = || plan.limits.is_due(&plan.measured(size));
                    flush.push(record, message, dialect, is_due);
                }
                self.message(record, &outline, tokens, pinned)
            }
            None => self.line(record),
        };
        self.survey.entries.push(&entry)
    }

    fn size(&mut self, outline: &Outline<'_>, message: &Message<'_>, tokens: u64) {
        let survey = &mut self.survey;
        survey.size.add_outline(outline);
        let others = survey.size.tokens;
        survey.size.tokens = others.max(PRIMING) + tokens;
        survey.size.tool_bytes += tool_bytes(message);
        if outline.role.is_system() && !outline.is_summary {
            survey.system_tokens += survey.size.tokens - others;
        }
    }

    fn message(
        &mut self,
        record: &Record<'_>,
        outline: &Outline<'_>,
        tokens: u64,
        pinned: bool,
    ) -> Entry {
        let exchange = self.exchanges.push(self.records, outline).unwrap_or(0);
        Entry {
            tokens: saturating_u32(tokens),
            exchange: saturating_u32(exchange),
            kind: match outline.role {
                Role::User => EntryKind::User,
                Role::Assistant => EntryKind::Assistant,
                role if role.is_system() => EntryKind::System,
                _ => EntryKind::Other,
            },
            results: u8::try_from(outline.results.len()).unwrap_or(u8::MAX),
            is_summary: outline.is_summary,
            begins_message: outline.begins_message(),
            begins_turn: outline.begins_turn,
            pinned,
            ..Self::entry(record)
        }
    }

    fn line(&mut self, record: &Record<'_>) -> Entry {
        if let Some(pruner) = &mut self.pruner {
            pruner.line(record.class == Class::Tail);
        }
        Entry {
            kind: match record.class {
                Class::Tail => EntryKind::Tail,
                Class::Blank => EntryKind::Blank,
                _ => EntryKind::Line,
            },
            ..Self::entry(record)
        }
    }

    fn entry(record: &Record<'_>) -> Entry {
        Entry {
            line: saturating_u32(record.line),
            begins: record.piece.begins(),
            ends: record.piece.ends(),
            ..Entry::default()
        }
    }

    fn finish(self) -> Survey<'p> {
        Survey {
            joined: self.exchanges.finish(),
            pruned: self.pruner.map(Pruner::finish),
            ledger: self.reader.map(LedgerReader::finish),
            ..self.survey
        }
    }
}

/// Receives the messages of a session, for example to extract items for the memory files.
pub trait MessageReader {
    /// Receives the next message of the session, with its line and date.
    fn read(&mut self, message: Message<'_>, line: u64, date: Option<NaiveDate>);
}

/// A message with its line and date.
type Dated<'m> = (Message<'m>, u64, Option<NaiveDate>);

/// Returns a message with its line and date, or `None` for an earlier summary. The items in an
/// earlier summary were already read from the messages that it replaced.
pub(super) fn dated<'m>(
    record: &Record<'_>,
    message: Message<'m>,
    dialect: &dyn Dialect,
    recognizer: &Recognizer,
) -> Option<Dated<'m>> {
    let object = record.whole_object().filter(|it| dialect.summary_text(it).is_none())?;
    let changed = match recognizer.as_said(&message) {
        Cow::Owned(changed) => Some(changed),
        Cow::Borrowed(_) => None,
    };
    Some((changed.unwrap_or(message), record.line, Time::of(object).map(Time::date)))
}

/// Passes the messages of a session to a reader while the session is still being surveyed, so that
/// another thread can start working on them. Only due sessions are flushed, so messages are held
/// back until it is certain that the session is due.
pub(super) struct Flush<'f> {
    reader: &'f mut dyn MessageReader,
    recognizer: Recognizer,
    is_due: bool,
    waiting: Vec<Dated<'static>>,
    /// The total length, in bytes, of the records that were read before the session became due.
    bytes: usize,
}

/// The maximum total length, in bytes, of records whose messages are held back. Most sessions are
/// due long before they reach this length.
const MOST_WAITING: usize = 8 << 20;

impl<'f> Flush<'f> {
    pub(super) fn new(reader: &'f mut dyn MessageReader, plan: &Plan<'_>) -> Self {
        Self { reader, recognizer: plan.recognizer(), is_due: false, waiting: Vec::new(), bytes: 0 }
    }

    /// Takes the next message. `is_due` returns true if this message makes the session due.
    pub(super) fn push(
        &mut self,
        record: &Record<'_>,
        message: Message<'_>,
        dialect: &dyn Dialect,
        is_due: impl FnOnce() -> bool,
    ) {
        if self.has_missed() {
            return;
        }
        if !self.is_due {
            self.bytes += record.bytes.len();
            self.is_due = is_due();
        }
        if self.has_missed() {
            self.waiting = Vec::new();
            return;
        }
        if self.is_due {
            for (message, line, date) in std::mem::take(&mut self.waiting) {
                self.reader.read(message, line, date);
            }
        }
        if message.role.is_system() {
            return;
        }
        match dated(record, message, dialect, &self.recognizer) {
            Some((message, line, date)) if self.is_due => self.reader.read(message, line, date),
            Some((message, line, date)) => self.waiting.push((message.into_owned(), line, date)),
            None => {}
        }
    }

    /// Returns true if there were too many messages to hold back, so the session must be read
    /// again.
    fn has_missed(&self) -> bool {
        !self.is_due && self.bytes > MOST_WAITING
    }

    /// Returns the reader if it has not received the messages yet.
    pub(super) fn missed(self) -> Option<&'f mut dyn MessageReader> {
        self.has_missed().then_some(self.reader)
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Zone;
    use ctx_policy::Keep;
    use ctx_policy::When;
    use ctx_policy::trigger::Size;

    use super::super::pruning::Rules;
    use super::super::tests::{SYSTEM, content, plan, session, turn};
    use super::{Entry, EntryKind, Survey, Zones};

    fn survey(text: &str) -> Survey<'static> {
        Survey::of(&plan(1).plan(), &content(text), None, false, None).expect("from a file")
    }

    fn entries(survey: &Survey<'_>) -> Vec<Entry> {
        let mut entries = Vec::new();
        let read = survey.each(|_, entry| entries.push(entry));
        read.expect("from memory");
        entries
    }

    fn zones(survey: &Survey<'_>, keep: Keep) -> Zones {
        survey.zones(keep).expect("from memory")
    }

    fn kept(survey: &Survey<'_>, turns: u64) -> Size {
        let kept = survey.kept(&zones(survey, keep(turns)));
        kept.expect("from memory")
    }

    fn keep(turns: u64) -> Keep {
        Keep { turns: Some(turns), ..Keep::default() }
    }

    #[test]
    fn each_record_is_what_it_is() {
        let text = session(1, 3) + "\n[1]\n{\"half";
        let kinds: Vec<EntryKind> = entries(&survey(&text)).iter().map(|it| it.kind).collect();
        let (line, blank, tail) = (EntryKind::Line, EntryKind::Blank, EntryKind::Tail);
        let (user, model) = (EntryKind::User, EntryKind::Assistant);
        let expected = [EntryKind::System, user, model, EntryKind::Other, model];
        assert_eq!(kinds[..5], expected);
        assert_eq!(kinds[5..], [blank, line, tail]);
        assert_eq!(survey("").entries.len(), 0);
        assert_eq!(survey("").size, Size::default());
    }

    #[test]
    fn sizes_are_the_sums_of_the_records() {
        let survey = survey(&session(2, 30));
        let entries = entries(&survey);
        let sum: u64 = entries.iter().map(|it| u64::from(it.tokens)).sum();
        assert_eq!(survey.size.tokens, 3 + sum);
        assert_eq!(
            (survey.size.messages, survey.size.conversation(), survey.size.turns),
            (9, 8, 2)
        );
        assert_eq!(survey.system_tokens, 3 + u64::from(entries[0].tokens));
        assert_eq!(survey.size.tool_bytes, 2 * 30 * "word1 ".len() as u64);
        assert_eq!(entries[3].results, 1);
        assert_eq!(entries[3].kind, EntryKind::Other);
    }

    #[test]
    fn zones_keep_turns_and_the_size_of_what_stays_is_theirs() {
        let survey = survey(&session(3, 10));
        let zones = self::zones(&survey, keep(1));
        let mut expected = vec![Zone::Old; 13];
        expected[0] = Zone::System;
        expected[9..].fill(Zone::Keep);
        assert_eq!(zones.of, expected);
        assert_eq!((zones.counts.old, zones.counts.keep), (8, 4));
        let kept = self::kept(&survey, 1);
        let alone = self::survey(&(SYSTEM.to_owned() + &turn(3, 10)));
        assert_eq!(kept.tokens, alone.size.tokens);
        assert_eq!((kept.messages, kept.conversation()), (5, 4));
        assert_eq!(self::kept(&survey, 9).tokens, survey.size.tokens);
    }

    #[test]
    fn an_exchange_is_not_cut() {
        let survey = survey(&session(2, 10));
        let last_two = Keep { messages: Some(2), ..Keep::default() };
        // The call stays with its result, which is one of the last two messages.
        assert_eq!(zones(&survey, last_two).of[6..], [Zone::Keep; 3]);
        assert_eq!(zones(&survey, last_two).of[2], Zone::Old);
    }

    #[test]
    fn pins_stay() {
        let mut plan = plan(1);
        plan.pins = vec!["line:2".parse().expect("a selector")];
        let content = content(&session(3, 10));
        let survey = Survey::of(&plan.plan(), &content, None, false, None).expect("from a file");
        let zones = zones(&survey, keep(1));
        assert_eq!(zones.of[1..4], [Zone::Keep, Zone::Old, Zone::Old]);
    }

    #[test]
    fn pruned_records_have_the_tokens_that_are_left() {
        let mut plan = plan(1);
        plan.policy.prune.max_chars = Some(100);
        plan.policy.prune.protect_last = 0;
        let content = content(&session(2, 100));
        let plan = &plan.plan();
        let rules = Rules::at(plan, When::Before, &content);
        let read = |questions| Survey::of(plan, &content, questions, false, None);
        let pruned = read(rules.questions(plan)).expect("from a file");
        let whole = read(None).expect("from a file");
        let tokens = |survey: &Survey<'_>, record: usize| entries(survey)[record].tokens;
        assert!(tokens(&pruned, 3) < tokens(&whole, 3));
        assert_eq!(tokens(&pruned, 1), tokens(&whole, 1));
        assert_eq!(pruned.size, whole.size);
        assert!(kept(&pruned, 1).tokens < kept(&whole, 1).tokens);
    }

    #[test]
    fn the_ledger_is_read_where_it_is_asked_for() {
        assert!(survey(&session(1, 3)).ledger.is_none());
        let content = content(&session(2, 3));
        let survey = Survey::of(&plan(1).plan(), &content, None, true, None).expect("from a file");
        let ledger = survey.ledger.expect("it was asked for");
        assert!(ledger.items.list.iter().any(|item| item.text.contains("file_2")));
    }
}
