//! Writes the units of a conversion one by one, along with the origin of each record.

use crate::binding::{fate, has_reasoning, sent_blocks, without_reasoning};
use crate::compaction::LineText;
use crate::convert::Converter;
use crate::convert::fields::{Written, kind_of_loss, path_to, place};
use crate::convert::lowered::{ADDED, DENIALS, IS_REQUEST};
use crate::convert::pairing::Unit;
use crate::convert::reading::Entry;
use crate::convert::reply::{Ids, Maker};
use crate::convert::report::{LossKind, Report, Source, SourceId};
use crate::convert::target::{Line, Notes, Session, Target};
use crate::convert::turn::{self, Piece, Turn, TurnMessage};
use crate::dialect::content::kind_of_raw;
use crate::legality::content::{lone_surrogates, without_surrogates};
use crate::repair::MISSING_BEGINNING;
use crate::{
    Call, Dialect, HeldMessage, InvalidReasoning, Message, Object, Origin, Part, Role, Spool,
    ToolResult,
};
use std::borrow::Cow;
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
    /// Whether the content of the messages so far differs from that in the source.
    pub(crate) has_changed: bool,
    /// The number of the first source line that was not read.
    pub(crate) first_lost: u64,
    /// The index of the next entry, unless entries change their order.
    pub(crate) next: usize,
    /// The records written for this unit, and for earlier units with content of its records.
    pub(crate) carried: Vec<String>,
    /// Whether the records become the list of a JSON document.
    pub(crate) is_document: bool,
    pub(crate) out: &'w mut dyn Write,
}

impl Writing<'_> {
    /// Writes all units and returns the report.
    pub(crate) fn all(mut self, units: &[Unit]) -> io::Result<Report> {
        let [begin, end] = self.target.frame(&self.session).unwrap_or_default();
        self.out.write_all(begin.as_bytes())?;
        self.is_document = !begin.is_empty();
        let lines = self.target.begin(&mut self.session);
        lines.into_iter().try_for_each(|line| self.line(line, &[]))?;
        let is_summary = |unit: &Unit| unit.entries().iter().any(|it| self.entries[*it].is_summary);
        let last_summary = units.iter().rposition(is_summary);
        for (number, unit) in units.iter().enumerate() {
            let summary_comes = last_summary.is_some_and(|last| number < last);
            self.unit(unit, summary_comes, &units[number + 1..])?;
        }
        let left = std::mem::take(&mut self.session.before).into_iter();
        left.map(|json| Line::new(json, [])).try_for_each(|line| self.line(line, &[]))?;
        self.out.write_all(end.as_bytes())?;
        Ok(self.report)
    }

    fn unit(&mut self, unit: &Unit, summary_comes: bool, following: &[Unit]) -> io::Result<()> {
        let numbers = unit.entries();
        let texts = numbers.iter().map(|number| self.text(*number));
        let texts = texts.collect::<io::Result<Vec<String>>>()?;
        let entries: Vec<&Entry> = numbers.iter().map(|number| &self.entries[*number]).collect();
        let held = texts.iter().zip(&entries);
        let held = held.map(|(text, entry)| self.held_of(text, entry));
        let to = self.converter.to;
        let format = to.format();
        let held: Vec<Vec<HeldMessage<'_>>> = held.collect();
        let mut roles =
            following.iter().filter_map(|it| Some(self.entries[*it.said.first()?].role));
        let mut notes = Notes {
            report: &mut self.report,
            session: &mut self.session,
            to,
            entries: &entries,
            texts: &texts,
            origin: 0,
            is_whole: self.converter.mark.is_some(),
            summary_comes,
            next: roles.find(|role| !role.is_system()),
            is_last: following.is_empty(),
            is_same_api: self.from.name() == to.name(),
        };
        let mut turns = if unit.is_blob {
            turn::blob(&held)
        } else {
            let family = self.from.format().family;
            let mut maker = Maker {
                family,
                stays: format.family == family,
                ids: &mut self.ids,
                notes: &mut notes,
            };
            let (said, answering) = held.split_at(unit.said.len());
            let is_home = unit.results.iter().map(|(_, is_home)| *is_home);
            maker.turns(said, &answering.iter().zip(is_home).collect::<Vec<_>>())
        };
        if self.converter.mark.is_none() {
            turns.retain_mut(|turn| has_content(turn, &mut notes));
        }
        let is_system = |turn: &&Turn<'_>| matches!(turn, Turn::Message(it) if it.role.is_system());
        let first = turns.iter().find(|turn| !self.has_begun && !is_system(turn));
        let is_first = first.is_some();
        if first.is_some_and(Turn::is_no_beginning) && to.rules().user_first {
            notes.count(LossKind::Beginning, "");
            let said = Piece::bare(Part::Text(MISSING_BEGINNING.into()));
            turns.insert(0, Turn::Message(TurnMessage::of_user(vec![said], [].into())));
        }
        let mut lines = self.target.unit(&turns, &mut notes);
        self.has_begun |= is_first && !lines.is_empty();
        if summary_comes && format.is_moved {
            for line in &lines {
                notes.origin = line.origins.first().copied().unwrap_or(0);
                notes.count(LossKind::BeforeSummary, "");
            }
        }
        self.report.messages += turns.len() as u64;
        if self.converter.mark.is_none() {
            self.drop_bound_reasoning(&mut lines, &texts, &numbers);
            self.carried.extend(lines.iter().map(|line| line.json.clone()));
            let mut is_named = self.find_lost(unit, &texts);
            for line in &mut lines {
                let whole = without_surrogates(&line.json);
                // Half a character may be in JSON within a string.
                if whole != line.json && !std::mem::replace(&mut is_named, true) {
                    self.report.count_in(LossKind::LoneSurrogate, "", entries[0], String::new);
                }
                line.json = whole;
            }
        }
        if summary_comes && format.is_inside {
            self.session.before.extend(lines.drain(..).map(|line| line.json));
        }
        lines.into_iter().try_for_each(|line| self.line(line, &entries))
    }

    /// Compares the content of a unit with its source, `texts`, and removes the signed reasoning
    /// after the first change from `lines` if the API would reject it.
    fn drop_bound_reasoning(&mut self, lines: &mut Vec<Line>, texts: &[String], numbers: &[usize]) {
        let to = self.converter.to;
        if self.from.name() != to.name() || to.invalid_reasoning() != InvalidReasoning::Rejected {
            return;
        }
        let entries = || numbers.iter().map(|number| &self.entries[*number]);
        self.has_changed |= entries().any(|entry| entry.line > self.first_lost);
        let mut source = texts.iter().flat_map(|text| sent_blocks(to, text));
        lines.retain_mut(|line| {
            let blocks = sent_blocks(to, &without_surrogates(&line.json));
            let same = blocks.iter().take_while(|it| source.next().as_ref() == Some(*it)).count();
            let start = if self.has_changed { 0 } else { same };
            self.has_changed |= same < blocks.len();
            let model = line.origins.first().map(|origin| &self.entries[numbers[*origin]]);
            let model = model.and_then(|entry| entry.model.as_deref());
            let is_bound = fate(to, model).is_some();
            if !is_bound || !has_reasoning(&blocks[start..]) {
                return true;
            }
            let left = without_reasoning(&Origin::ALONE.record(line.json.as_bytes()), to);
            line.json = String::from_utf8_lossy(&left.unwrap_or_default()).into_owned();
            !line.json.is_empty()
        });
        self.has_changed |= source.next().is_some();
        // A result that is moved to its call comes before what was between them.
        self.has_changed |= !numbers.iter().copied().eq(self.next..self.next + numbers.len());
        self.next += numbers.len();
    }

    /// Reports the values of a unit that have not been written, and halves of characters. Returns
    /// true if there are such halves.
    fn find_lost(&mut self, unit: &Unit, texts: &[String]) -> bool {
        let mut has_halves = false;
        let written = Written::of(&self.carried);
        let mut results = unit.results.iter().map(|(_, is_home)| *is_home);
        let is_home = std::iter::repeat_n(true, unit.said.len()).chain(results.clone());
        for ((number, text), is_home) in unit.entries().into_iter().zip(texts).zip(is_home) {
            let entry = &self.entries[number];
            let Ok(object) = Object::parse(text) else { continue };
            // Each format wraps a summary in words of its own.
            if !is_home || entry.is_summary {
                continue;
            }
            let path = entry.origin.path(self.report.is_list);
            let sent = self.from.wrapped(&object).sent;
            for half in lone_surrogates(text).map(|half| place(&text[half])) {
                if sent.iter().any(|raw| place(raw).contains(&half.start)) {
                    has_halves = true;
                    let within = path_to(text.trim(), half.start);
                    self.report.count_in(LossKind::LoneSurrogate, "", entry, || within);
                }
            }
            for (path, raw) in written.missing(&object, &sent, path) {
                let is_instructions = entry.role.is_system() && self.converter.to.is_log();
                let (kind, name) = if is_instructions {
                    (LossKind::Instructions, String::new())
                } else {
                    kind_of_loss(raw, &path)
                };
                self.report.count(kind, &name, entry.line).add_path(|| path);
            }
        }
        if results.all(|is_home| is_home) {
            self.carried.clear();
        }
        has_halves
    }

    /// Reads an entry's messages again from its text. The roles of these messages may be wrong,
    /// because the text no longer includes the record or list around it.
    fn held_of<'a>(&self, text: &'a str, entry: &Entry) -> Vec<HeldMessage<'a>> {
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
        let mut held = self.converter.held(self.from, &object);
        for part in held.iter_mut().flat_map(|held| &mut held.message.parts) {
            if let Part::Call(Call { slot: Some(slot), .. })
            | Part::Result(ToolResult { slot: Some(slot), .. }) = part
            {
                // The slots of all records of a unit become different.
                let text = object.text().as_ptr() as usize;
                slot.range = slot.range.start + text..slot.range.end + text;
            }
        }
        if let (Some(summary), [held]) = (&entry.summary, held.as_mut_slice()) {
            held.summary = Some(summary.to_string().into());
        }
        held
    }

    fn text(&mut self, number: usize) -> io::Result<String> {
        let entry = &self.entries[number];
        let mut bytes = Vec::with_capacity(entry.length);
        self.spool.copy_to(entry.start, entry.length, &mut bytes)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// Writes a record. If origins were requested, adds the record's origin to the report.
    fn line(&mut self, line: Line, entries: &[&Entry]) -> io::Result<()> {
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
            // Copies of results that the agent added become texts, and are no request either.
            let is_request =
                |it: &Entry| it.begins_turn || !it.results.is_empty() && it.added.is_empty();
            if is_of_user && !of_user.any(|it| is_request(it)) {
                record = record.json(IS_REQUEST, "false");
            }
            if let Some(added) = origins.clone().map(|it| &it.added).find(|it| !it.is_empty()) {
                let end = if line.origins.len() == 1 { added.end } else { usize::MAX };
                record = record.list(ADDED, &[added.start, end].map(|at| at.to_string()));
            }
            let denials = origins.clone().flat_map(|entry| &entry.denials);
            let denials = denials.fold(LineText::default(), |all, (id, is_marked)| {
                all.json(id, &is_marked.to_string())
            });
            let denials = denials.end();
            if denials != "{}" {
                record = record.json(DENIALS, &denials);
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
        let is_next = self.is_document && self.report.records > 0;
        self.report.records += 1;
        writeln!(self.out, "{}{}", if is_next { "," } else { "" }, record.end())
    }
}

/// Returns true if the turn says anything. Otherwise, reports that it is left out. Empty texts are
/// removed from the turn.
fn has_content(turn: &mut Turn<'_>, notes: &mut Notes<'_>) -> bool {
    let is_other_item = |raw: &Cow<'_, str>| !matches!(&*kind_of_raw(raw), "" | "message");
    let (pieces, has_more) = match turn {
        Turn::Message(said) => (&mut said.pieces, said.items.iter().any(is_other_item)),
        Turn::Results(results) => (&mut results.beside, !results.answers.is_empty()),
        Turn::Summary(_) => return true,
    };
    let is_blank = pieces.iter().all(|piece| piece.is_text(|text| text.trim().is_empty()));
    pieces.retain(|piece| !is_blank && !piece.is_text(str::is_empty));
    if is_blank && !has_more {
        notes.origin = turn.origin();
        notes.count(LossKind::Empty, "");
    }
    has_more || !is_blank
}
