//! One number for the whole output: what stays and what is summed up is decided
//! here, from the whole session.

mod made;
mod reader;
mod shorten;

use ctx_cli::{Failure, Io};
use ctx_ledger::Ledger;
use ctx_select::budget::{Budget, Decision, Entry, Kind, TooSmall, Verdict, decide};
use ctx_select::count::{MessageCounter, PRIMING};
use ctx_select::share::Share;
use ctx_select::split::{self, Keep, Reason, Splitter};
use ctx_summary::needed_tokens;
use ctx_transcript::{
    Class, Dialect, Message, Object, Outline, Part, Piece, Record, Spool, Zone, ZoneReader,
};

use super::Plan;
use super::stream::Done;
use crate::pins::Pin;
use crate::tagged::cannot_spool;
use made::Made;
use reader::Reader;

/// The share of what the system messages leave that the latest messages may take:
/// more of them tells less, for the same tokens, than a summary does.
const TAIL: Share = Share::of_percent(35);

/// What `--budget` and the flags beside it ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Tokens of the whole output.
    pub(crate) tokens: u64,
    /// What stays at least.
    pub(crate) keep: Keep,
    /// Records that stay.
    pub(crate) pins: Vec<Pin>,
}

/// Why there is no output.
pub(crate) enum Refused {
    /// What has to stay is more than the budget.
    TooSmall(TooSmall),
    /// Any other reason.
    Failed(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Refused {
    /// As the tool tells it.
    pub(super) fn failure(self, name: &str) -> Failure {
        match self {
            Self::TooSmall(error) => Failure::new(error)
                .at(name, None)
                .hint("raise --budget, or keep and pin less"),
            Self::Failed(failure) => failure,
        }
    }
}

/// The output, and the zones of the records it was made of.
pub(super) struct Shared {
    pub(super) done: Done,
    pub(super) zones: Vec<Zone>,
}

/// A record in the spool.
#[derive(Clone, Copy)]
struct Item {
    line: u64,
    piece: Piece,
    length: usize,
    tokens: u64,
}

/// Takes a session's records; all of them wait for the decision.
pub(super) struct Budgeted<'p> {
    plan: &'p Plan,
    asked: &'p Asked,
    dialect: Option<&'static dyn Dialect>,
    name: &'p str,
    counter: MessageCounter,
    pub(super) zones: ZoneReader,
    spool: Spool,
    items: Vec<Item>,
    entries: Vec<Entry>,
    splitter: Splitter,
    /// How many entries have their exchange.
    grouped: usize,
    reader: Option<Reader>,
}

impl<'p> Budgeted<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        asked: &'p Asked,
        dialect: Option<&'static dyn Dialect>,
        name: &'p str,
    ) -> Self {
        Self {
            plan,
            asked,
            dialect,
            name,
            counter: MessageCounter::new(plan.encoding),
            zones: ZoneReader::default(),
            spool: Spool::new(std::env::temp_dir()),
            items: Vec::new(),
            entries: Vec::new(),
            splitter: Splitter::new(asked.keep),
            grouped: 0,
            reader: dialect
                .filter(|_| plan.writer.reads_ledger())
                .map(Reader::new),
        }
    }

    pub(super) fn take(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        self.zones.read(record);
        let bytes = record.untagged();
        let entry = self.entry(record, &bytes)?;
        self.items.push(Item {
            line: record.line,
            piece: record.piece,
            length: bytes.len(),
            tokens: entry.tokens,
        });
        self.entries.push(entry);
        self.spool
            .push(&bytes)
            .map_err(|error| cannot_spool(&error))?;
        self.group();
        Ok(())
    }

    /// What the decision needs to know of a record.
    fn entry(&mut self, record: &Record<'_>, bytes: &[u8]) -> Result<Entry, Failure> {
        if record.class == Class::Tail {
            self.splitter.push(split::Facts::Tail);
            return Ok(Entry {
                kind: Kind::Tail,
                ..Entry::default()
            });
        }
        let Some(object) = record.whole_object() else {
            self.splitter.push(split::Facts::Line);
            return Ok(Entry::default());
        };
        let Some(dialect) = self.dialect else {
            return Err(
                Failure::new("the format is not known, so nothing can be summed up")
                    .at(self.name, Some(record.line))
                    .hint("--dialect names it"),
            );
        };
        let (Some(outline), Some(message)) = (dialect.outline(object), dialect.message(object))
        else {
            self.splitter.push(split::Facts::Line);
            return Ok(Entry::default());
        };
        let earlier = self.earlier(dialect, object, &message);
        let is_earlier = outline.is_summary || earlier.is_some();
        if let Some(reader) = &self.reader {
            match earlier {
                Some(text) => reader.earlier(text),
                None => reader.message(record.line, bytes),
            }
        }
        let outline = Outline {
            is_summary: is_earlier,
            begins_turn: outline.begins_turn && !is_earlier,
            ..outline
        };
        let entry = self.message(&outline, &message);
        let mut pins = self.asked.pins.iter();
        let pinned = pins.any(|pin| pin.selects(record, outline.role, || Some(message.clone())));
        self.splitter.push(split::Facts::Message {
            outline: &outline,
            tokens: entry.tokens,
            pinned,
        });
        Ok(entry)
    }

    fn earlier(
        &self,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        message: &Message<'_>,
    ) -> Option<String> {
        let recognizer = &self.plan.recognizer;
        recognizer.summary_in(dialect, object, message)
    }

    fn message(&self, outline: &Outline<'_>, message: &Message<'_>) -> Entry {
        let kind = if outline.is_summary {
            Kind::Summary
        } else if outline.role.is_system() {
            Kind::System
        } else if outline.begins_turn {
            Kind::User
        } else {
            Kind::Other
        };
        let mut tokens = self.counter.frame(message);
        let (mut results, mut arguments) = (Vec::new(), 0);
        for part in &message.parts {
            let of_part = self.counter.part(part);
            match part {
                Part::Result(_) => results.push(of_part.results),
                Part::Call(call) => arguments += of_part.calls - self.counter.text(&call.name),
                _ => {}
            }
            tokens += of_part;
        }
        Entry {
            tokens: tokens.total(),
            results,
            arguments,
            kind,
            ..Entry::default()
        }
    }

    /// Notes the exchanges that are known by now, and what floors and pins keep.
    fn group(&mut self) {
        while let Some(verdict) = self.splitter.next() {
            let entry = &mut self.entries[self.grouped];
            entry.exchange = verdict.exchange;
            entry.pinned = matches!(
                verdict.reason,
                Reason::Window | Reason::Pinned | Reason::Exchange
            );
            self.grouped += 1;
        }
    }

    /// The share of the latest messages: more of them where a summary would not need
    /// all that they leave.
    fn tail(&self, ledger: Option<&Ledger>) -> Share {
        let system = self
            .entries
            .iter()
            .filter(|entry| entry.kind == Kind::System);
        let system: u64 = system.map(|entry| entry.tokens).sum();
        let room = self.asked.tokens.saturating_sub(system);
        let summary = room - TAIL.of(room);
        let needed = ledger.map_or(summary, |ledger| {
            needed_tokens(ledger, summary, self.plan.encoding.counter())
        });
        match (100 * needed).div_ceil(room.max(1)) {
            percent if needed < summary => {
                Share::of_percent(u8::try_from(100u64.saturating_sub(percent).max(1)).unwrap_or(1))
            }
            _ => TAIL,
        }
    }

    /// Decides, and makes and checks the whole output before any byte of it leaves.
    pub(super) fn finish(mut self, io: &mut Io) -> Result<Shared, Refused> {
        self.splitter.finish();
        self.group();
        let ledger = self.reader.take().map(Reader::finish);
        let mut budget = Budget {
            tokens: self.asked.tokens,
            frame: PRIMING,
            tail: TAIL,
        };
        // The share costs the writing of a summary, and decides nothing where all fits.
        if !budget.holds(&self.entries) {
            budget.tail = self.tail(ledger.as_ref());
        }
        let decision = decide(&self.entries, &budget);
        let decision = decision.map_err(Refused::TooSmall)?;
        if decision.latest_request_is_old {
            io.warn(format_args!(
                "{}: the latest user message is too long for the budget: the summary quotes it",
                self.name
            ));
        }
        let zones = zones(&self.entries, &decision.verdicts);
        let cut_only = self.plan.writer.reads_ledger() && cut_only(&self.entries, &decision);
        let mut made = Made::new(self.plan, self.dialect, self.name, ledger, cut_only);
        for (item, verdict) in self.items.into_iter().zip(decision.verdicts) {
            let bytes = self.spool.pop(item.length);
            let bytes = bytes.map_err(|error| cannot_spool(&error))?;
            made.record(item, &bytes, verdict)?;
        }
        let done = made.finish(budget.tokens, io)?;
        Ok(Shared { done, zones })
    }
}

/// Whether no message leaves, and some stay shorter than they were.
fn cut_only(entries: &[Entry], decision: &Decision) -> bool {
    let is_cut = |(entry, verdict): (&Entry, &Verdict)| match verdict {
        Verdict::Shorten { tokens, .. } => entry.results.iter().any(|result| result > tokens),
        Verdict::Keep | Verdict::Old => false,
    };
    let stays = |verdict: &Verdict| *verdict != Verdict::Old;
    decision.verdicts.iter().all(stays) && entries.iter().zip(&decision.verdicts).any(is_cut)
}

/// A line that is no message is in the zone of the record before it.
fn zones(entries: &[Entry], verdicts: &[Verdict]) -> Vec<Zone> {
    let mut before = Zone::System;
    let zone = |(entry, verdict): (&Entry, &Verdict)| {
        before = match (entry.kind, verdict) {
            (Kind::Line, _) => before,
            (Kind::System, _) => Zone::System,
            (_, Verdict::Old) => Zone::Old,
            (_, Verdict::Keep | Verdict::Shorten { .. }) => Zone::Keep,
        };
        before
    };
    entries.iter().zip(verdicts).map(zone).collect()
}
