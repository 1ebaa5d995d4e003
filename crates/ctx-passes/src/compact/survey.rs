//! A session in numbers: one reading finds all that the decisions of a compaction need
//! to know of its records.

use ctx_ledger::Ledger;
use ctx_select::count::{MessageCounter, PRIMING};
use ctx_select::measure::tool_bytes;
use ctx_select::prune::{MessageFacts, Pruner, Questions, Verdicts};
use ctx_select::split::{Facts, Keep, Known, Splitter};
use ctx_select::trigger::Size;
use ctx_summary::Recognizer;
use ctx_transcript::{Class, Message, Outline, Record, Role, Zone};

use super::content::Content;
use crate::ledger::LedgerReader;
use crate::outlet::Announced;
use crate::prune::LastCall;
use crate::split::ZoneCounts;
use crate::summarize::recognizer;
use crate::{PassError, Pin};

/// What is asked of every record.
pub(super) struct Inquiry<'p> {
    pub(super) counter: MessageCounter,
    /// Selectors of records that stay.
    pub(super) pins: &'p [Pin],
    /// What pruning has to know, where it is asked for.
    pub(super) prune: Option<Questions<'p>>,
    /// Whether the ledger is read, for a score.
    pub(super) ledger: bool,
}

/// What is known of a session.
pub(super) struct Survey<'p> {
    pub(super) entries: Vec<Entry>,
    pub(super) size: Size,
    /// Tokens of the system messages.
    pub(super) system_tokens: u64,
    /// What pruning would do.
    pub(super) pruned: Option<Verdicts<'p>>,
    pub(super) last_call: LastCall,
    pub(super) announced: Announced,
    pub(super) ledger: Option<Ledger>,
}

/// What is known of a record.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Entry {
    /// Its line, from 1.
    pub(super) line: u32,
    /// Its tokens; 0 for a line that is no message.
    pub(super) tokens: u32,
    /// Number, from 1, of the first record of its exchange; 0 where it is in none.
    exchange: u32,
    pub(super) kind: EntryKind,
    pub(super) role: Role,
    /// How many tool results it holds, at most 255.
    pub(super) results: u8,
    pub(super) is_summary: bool,
    begins_message: bool,
    begins_turn: bool,
    pinned: bool,
    /// Whether it begins here, and ends here: a long line comes in pieces.
    pub(super) begins: bool,
    ends: bool,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// Instructions of the operator.
    System,
    /// Any other message.
    Message,
    /// No message, but not blank.
    Line,
    /// Nothing.
    Blank,
    /// A last line in the writing.
    Tail,
}

/// The zones of the records of a session, and how many there are of each.
pub(super) struct Zones {
    pub(super) of: Vec<Zone>,
    pub(super) counts: ZoneCounts,
}

impl<'p> Survey<'p> {
    pub(super) fn of(content: &Content, inquiry: &Inquiry<'p>) -> Result<Self, PassError> {
        let mut surveyor = Surveyor::new(content, inquiry);
        content.each(|record| {
            surveyor.record(record);
            Ok(())
        })?;
        Ok(surveyor.finish())
    }

    /// The tokens of a record, after pruning where that is done.
    pub(super) fn tokens(&self, record: usize, prunes: bool) -> u64 {
        match &self.pruned {
            Some(verdicts) if prunes => verdicts.tokens(record),
            _ => self.entries[record].tokens.into(),
        }
    }

    /// Whether pruning leaves a record out.
    pub(super) fn is_dropped(&self, record: usize, prunes: bool) -> bool {
        let verdicts = self.pruned.as_ref().filter(|_| prunes);
        verdicts.is_some_and(|verdicts| verdicts.is_dropped(record))
    }

    /// Decides what is old.
    pub(super) fn zones(&self, keep: Keep, prunes: bool) -> Zones {
        let mut splitter = Splitter::new(keep);
        let stay = |record: &usize| !self.is_dropped(*record, prunes);
        let records: Vec<usize> = (0..self.entries.len()).filter(stay).collect();
        for record in &records {
            splitter.push(self.entries[*record].facts(self.tokens(*record, prunes)));
        }
        splitter.finish();
        let mut zones = Zones {
            of: vec![Zone::Keep; self.entries.len()],
            counts: ZoneCounts::default(),
        };
        for record in records {
            if let Some(verdict) = splitter.next() {
                zones.of[record] = verdict.zone;
                if self.entries[record].ends {
                    zones.counts.add(verdict.zone);
                }
            }
        }
        zones
    }

    /// Tokens and messages of what stays, without any summary.
    pub(super) fn kept(&self, zones: &Zones, prunes: bool) -> Size {
        let mut size = Size::default();
        for (record, entry) in self.entries.iter().enumerate() {
            let stays = zones.of[record] != Zone::Old && !self.is_dropped(record, prunes);
            if stays && entry.is_message() {
                size.tokens = size.tokens.max(PRIMING) + self.tokens(record, prunes);
                size.messages += u64::from(entry.begins_message && !entry.role.is_system());
            }
        }
        size
    }
}

impl Entry {
    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind, EntryKind::System | EntryKind::Message)
    }

    fn facts(&self, tokens: u64) -> Facts<'static> {
        match self.kind {
            EntryKind::Tail => Facts::Tail,
            EntryKind::Line | EntryKind::Blank => Facts::Line,
            EntryKind::System | EntryKind::Message => Facts::Known(Known {
                is_system: self.kind == EntryKind::System,
                begins_message: self.begins_message,
                begins_turn: self.begins_turn,
                tokens,
                pinned: self.pinned,
                exchange: (self.exchange > 0).then_some(self.exchange.into()),
            }),
        }
    }
}

/// Reads records into a survey.
struct Surveyor<'i, 'p> {
    content: &'i Content,
    inquiry: &'i Inquiry<'p>,
    survey: Survey<'p>,
    pruner: Option<Pruner<'p>>,
    /// Finds the exchanges.
    splitter: Splitter,
    /// How many entries have theirs.
    grouped: usize,
    recognizer: Recognizer,
    reader: Option<LedgerReader>,
}

impl<'i, 'p> Surveyor<'i, 'p> {
    fn new(content: &'i Content, inquiry: &'i Inquiry<'p>) -> Self {
        Self {
            content,
            inquiry,
            survey: Survey {
                entries: Vec::new(),
                size: Size::default(),
                system_tokens: 0,
                pruned: None,
                last_call: LastCall::default(),
                announced: Announced::default(),
                ledger: None,
            },
            pruner: inquiry.prune.as_ref().map(Pruner::new),
            splitter: Splitter::new(Keep::default()),
            grouped: 0,
            recognizer: recognizer(None),
            reader: inquiry.ledger.then(|| LedgerReader::new(content.dialect)),
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        self.survey.announced.read(record.tag().as_ref());
        let dialect = self.content.dialect;
        let found = record.whole_object().and_then(|object| {
            let outline = record.outline(Some(dialect))?;
            Some((object, outline, record.message(Some(dialect))?))
        });
        let entry = match found {
            Some((object, outline, message)) => {
                let fixed = self.is_pinned(record, &outline, &message);
                let tokens = match (&mut self.pruner, &self.inquiry.prune) {
                    (Some(pruner), Some(questions)) => {
                        let stays = fixed || outline.role.is_system();
                        let facts = MessageFacts::of(&message, object, stays, questions);
                        let tokens = facts.tokens();
                        pruner.message(&outline, facts);
                        tokens
                    }
                    _ => self.inquiry.counter.message(&message).total(),
                };
                self.survey.last_call.message(outline.role, object);
                self.size(&outline, &message, tokens);
                if let Some(reader) = &mut self.reader {
                    match self.recognizer.summary_in(dialect, object, &message) {
                        Some(text) => reader.push_earlier(&text),
                        None => {
                            reader.push(record.line, &message, &record.untagged(), Zone::Old);
                        }
                    }
                }
                self.message(record, &outline, tokens, fixed)
            }
            None => self.line(record),
        };
        self.survey.entries.push(entry);
        self.group();
    }

    fn is_pinned(&self, record: &Record<'_>, outline: &Outline<'_>, message: &Message<'_>) -> bool {
        let mut pins = self.inquiry.pins.iter();
        pins.any(|pin| pin.selects(record, outline.role, || Some(message.clone())))
    }

    fn size(&mut self, outline: &Outline<'_>, message: &Message<'_>, tokens: u64) {
        let survey = &mut self.survey;
        survey.size.add_outline(outline);
        survey.size.tokens = survey.size.tokens.max(PRIMING) + tokens;
        survey.size.tool_bytes += tool_bytes(message);
        if outline.role.is_system() && !outline.is_summary {
            survey.system_tokens += tokens;
        }
    }

    fn message(
        &mut self,
        record: &Record<'_>,
        outline: &Outline<'_>,
        tokens: u64,
        pinned: bool,
    ) -> Entry {
        self.splitter.push(Facts::Message {
            outline,
            tokens: 0,
            pinned: false,
        });
        let is_system = outline.role.is_system() && !outline.is_summary;
        Entry {
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            kind: if is_system {
                EntryKind::System
            } else {
                EntryKind::Message
            },
            role: outline.role,
            results: u8::try_from(outline.results.len()).unwrap_or(u8::MAX),
            is_summary: outline.is_summary,
            begins_message: outline.begins_message(),
            begins_turn: outline.begins_turn,
            pinned,
            ..Self::entry(record)
        }
    }

    fn line(&mut self, record: &Record<'_>) -> Entry {
        let is_tail = record.class == Class::Tail;
        self.splitter
            .push(if is_tail { Facts::Tail } else { Facts::Line });
        if let Some(pruner) = &mut self.pruner {
            if is_tail {
                pruner.tail();
            } else {
                pruner.line();
            }
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
            line: u32::try_from(record.line).unwrap_or(u32::MAX),
            tokens: 0,
            exchange: 0,
            kind: EntryKind::Line,
            role: Role::Other,
            results: 0,
            is_summary: false,
            begins_message: false,
            begins_turn: false,
            pinned: false,
            begins: record.piece.begins(),
            ends: record.piece.ends(),
        }
    }

    /// Notes the exchanges that are known by now.
    fn group(&mut self) {
        while let Some(verdict) = self.splitter.next() {
            let exchange = verdict.exchange.unwrap_or(0);
            self.survey.entries[self.grouped].exchange =
                u32::try_from(exchange).unwrap_or(u32::MAX);
            self.grouped += 1;
        }
    }

    fn finish(mut self) -> Survey<'p> {
        self.splitter.finish();
        self.group();
        Survey {
            pruned: self.pruner.map(Pruner::finish),
            ledger: self.reader.map(LedgerReader::finish),
            ..self.survey
        }
    }
}
