//! Writes the units of a conversion one by one, along with the origin of each record.

use crate::compaction::LineText;
use crate::convert::entry::Entry;
use crate::convert::lowered::{DENIALS, IS_REQUEST};
use crate::convert::pairing::Unit;
use crate::convert::reading::held;
use crate::convert::reply::{Ids, Maker};
use crate::convert::report::{LossKind, Report, Source, SourceId};
use crate::convert::target::{Line, Notes, Session, Target};
use crate::convert::turn::{self, Family};
use crate::convert::{ConvertError, Converter};
use crate::dialect::Format;
use crate::repair::MISSING_BEGINNING;
use crate::{Dialect, HeldMessage, Message, Object, Part, Role, Spool};
use std::collections::HashSet;
use std::io::{self, Write};

/// A session that is being written in another dialect.
pub(crate) struct Writing<'w> {
    pub(crate) converter: Converter<'w>,
    /// The dialect of the source session.
    pub(crate) from: &'static dyn Dialect,
    /// The messages of the source session, whose texts are in `spool`.
    pub(crate) entries: &'w [Entry],
    pub(crate) spool: Spool,
    pub(crate) target: Box<dyn Target>,
    pub(crate) session: Session,
    pub(crate) ids: Ids,
    /// Whether it is too late, or not allowed, to insert a user message at the beginning of the new
    /// session. It is too late once any message other than a system message has been written.
    pub(crate) has_begun: bool,
    pub(crate) report: Report,
    pub(crate) out: &'w mut dyn Write,
}

impl Writing<'_> {
    /// Writes all units and returns the report.
    pub(crate) fn all(mut self, units: &[Unit]) -> Result<Report, ConvertError> {
        let lines = self.target.begin(&mut self.session);
        self.lines(lines, &[])?;
        let is_summary = |unit: &Unit| unit.entries().iter().any(|it| self.entries[*it].is_summary);
        let last_summary = units.iter().rposition(is_summary);
        for (number, unit) in units.iter().enumerate() {
            self.unit(unit, last_summary.is_some_and(|last| number < last))?;
        }
        let lines = self.target.end(&self.session);
        self.lines(lines, &[])?;
        Ok(self.report)
    }

    fn unit(&mut self, unit: &Unit, summary_comes: bool) -> Result<(), ConvertError> {
        let numbers = unit.entries();
        let texts = numbers.iter().map(|number| self.text(*number));
        let texts = texts.collect::<io::Result<Vec<String>>>();
        let texts = texts.map_err(ConvertError::Temporary)?;
        let entries: Vec<&Entry> = numbers.iter().map(|number| &self.entries[*number]).collect();
        let held = texts.iter().zip(&entries);
        let to = self.converter.to;
        let held = held.map(|(text, entry)| held_of(self.from, to, text, entry));
        let held: Vec<Vec<HeldMessage<'_>>> = held.collect();
        let mut notes = Notes {
            report: &mut self.report,
            session: &mut self.session,
            entries: &entries,
            line: entries.iter().map(|entry| entry.line).min().unwrap_or(0),
            is_whole: self.converter.whole_records,
            summary_comes,
        };
        let turns = if unit.is_blob {
            turn::blob(&held)
        } else {
            let family = Format::of(self.from).family;
            let is_of_blocks = family == Family::Blocks;
            let mut maker = Maker {
                family,
                keeps_blocks: is_of_blocks && Format::of(self.converter.to).family == family,
                ids: &mut self.ids,
                notes: &mut notes,
            };
            let (said, answering) = held.split_at(unit.said.len());
            let is_home = unit.results.iter().map(|answering| answering.is_home);
            maker.turns(said, &answering.iter().zip(is_home).collect::<Vec<_>>())
        };
        let lines = self.target.unit(&turns, &mut notes);
        self.report.messages += turns.len() as u64;
        self.lines(lines, &entries)
    }

    fn lines(&mut self, lines: Vec<Line>, entries: &[&Entry]) -> Result<(), ConvertError> {
        for line in lines {
            if let Some(user) = self.missing_beginning(&line) {
                let at = entries.first().map_or(0, |entry| entry.line);
                self.report.count(LossKind::Beginning, "", at);
                self.report.messages += 1;
                self.line(Line::new(user, &[]), entries)?;
            }
            self.line(line, entries)?;
        }
        Ok(())
    }

    /// Returns the user message to insert before `next`, if the session would otherwise begin with
    /// a reply and the API rejects that.
    fn missing_beginning(&mut self, next: &Line) -> Option<String> {
        if self.has_begun {
            return None;
        }
        let to = self.converter.to;
        let object = Object::parse(&next.json).ok()?;
        let role = to.outline(&object)?.role;
        self.has_begun = !role.is_system();
        // A signed summary by the vendor must come first.
        if to.vendor_summary(&object).is_some() {
            return None;
        }
        let repair = to.repair().filter(|_| !to.rules().may_begin_with(role))?;
        Some(repair.said_by_user(MISSING_BEGINNING))
    }

    fn text(&mut self, number: usize) -> io::Result<String> {
        let entry = &self.entries[number];
        let mut bytes = Vec::with_capacity(entry.length);
        self.spool.copy_to(entry.start, entry.length, &mut bytes)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// Writes a record. If origins were requested, adds the record's origin to the report.
    fn line(&mut self, line: Line, entries: &[&Entry]) -> Result<(), ConvertError> {
        let origins = line.origins.iter().filter_map(|place| entries.get(*place));
        let mut record = LineText::of_object(line.json);
        let time = origins.clone().find_map(|entry| entry.time.as_deref());
        // Log lines already have a time, so only messages get a `timestamp` member.
        if let Some(time) = time.filter(|_| !self.converter.to.is_log()) {
            if self.converter.times || self.converter.mark.is_some() {
                record = record.text("timestamp", time);
            } else {
                let line = entries.first().map_or(0, |entry| entry.line);
                self.report.count(LossKind::Time, "", line);
            }
        }
        if let Some(mark) = self.converter.mark {
            let mut of_user = origins.clone().filter(|entry| entry.role == Role::User).peekable();
            let is_of_user = of_user.peek().is_some();
            if is_of_user && !of_user.any(|it| it.begins_turn || !it.results.is_empty()) {
                record = record.json(IS_REQUEST, "false");
            }
            let denials = origins.clone().flat_map(|entry| &entry.denials);
            let denials: Vec<_> = denials.collect();
            if !denials.is_empty() {
                let denials = denials.into_iter().fold(LineText::new(), |all, (id, is_marked)| {
                    all.json(id, &is_marked.to_string())
                });
                record = record.json(DENIALS, &denials.end());
            }
            let mut seen = HashSet::new();
            let sources = origins.clone().map(|entry| entry.origin);
            let sources: Vec<SourceId> = sources.filter(|origin| seen.insert(*origin)).collect();
            let numbers: Vec<String> = sources.iter().map(|source| source.json()).collect();
            record = record.list(mark, &numbers);
            self.report.sources.push(Source {
                first_line: origins.map(|entry| entry.line).min().unwrap_or(0),
                origins: sources,
            });
        }
        self.report.records += 1;
        writeln!(self.out, "{}", record.end()).map_err(ConvertError::Output)
    }
}

/// Reads an entry's messages again from its text. The roles of these messages may be wrong, because
/// the text no longer includes the record or list around it.
fn held_of<'a>(
    from: &dyn Dialect,
    to: &dyn Dialect,
    text: &'a str,
    entry: &Entry,
) -> Vec<HeldMessage<'a>> {
    // Parsed records are not kept in memory, because a unit can have any number of records.
    let Ok(object) = Object::parse(text) else { return Vec::new() };
    if entry.is_opaque {
        let raw = object.text();
        return vec![HeldMessage {
            message: Message::new(Role::User, vec![Part::Opaque(raw.into())]),
            raw: raw.into(),
            summary: None,
            begins_turn: false,
        }];
    }
    let mut held = held(from, to, &object);
    if let (Some(summary), [held]) = (&entry.summary, held.as_mut_slice()) {
        held.summary = Some(summary.to_string().into());
    }
    held
}
