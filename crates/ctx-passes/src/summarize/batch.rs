//! Batch records: one conversation a line, each with a summary of its own.

use ctx_transcript::{
    Conversation, Dialect, Line, Message, Object, Record, Spool, Zone, ZoneReader,
};

use super::assembly::{Found, text};
use super::old::OldZone;
use super::{NewSession, Plan, Writer};
use crate::checks::Checks;
use crate::{BadLines, ErrorKind, Fate, Notes, PassError};

/// Takes batch records; they wait in a spool for the end of the input.
pub struct Batch<'p> {
    plan: &'p Plan,
    writer: &'p Writer,
    dialect: Option<&'static dyn Dialect>,
    zones: ZoneReader,
    spool: Spool,
    length: usize,
    bad: BadLines,
}

impl<'p> Batch<'p> {
    /// Nothing seen yet.
    pub fn new(plan: &'p Plan, writer: &'p Writer, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            plan,
            writer,
            dialect,
            zones: ZoneReader::default(),
            spool: Spool::new(&plan.temp),
            length: 0,
            bad: BadLines::default(),
        }
    }

    /// What the tags said so far.
    pub fn zones(&self) -> &ZoneReader {
        &self.zones
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>, notes: &mut Notes) -> Result<(), PassError> {
        self.zones.read(record);
        if record.class.is_bad() && self.plan.drop_bad {
            self.bad.add(record, Fate::LeftOut);
            return Ok(());
        }
        self.bad.add(record, Fate::Kept);
        let untagged = record.untagged();
        let mut inner = Notes::new();
        let summed_up = self.summed_up(record, &untagged, &mut inner);
        notes.extend_within(record.line, inner);
        match summed_up.map_err(|error| error.at(record.line))? {
            Some(line) => self.spool(&line),
            None => self.spool(&untagged),
        }
    }

    fn spool(&mut self, bytes: &[u8]) -> Result<(), PassError> {
        self.length += bytes.len();
        self.spool.push(bytes).map_err(PassError::temporary)
    }

    /// The line with its old messages summed up; `None` when nothing in it is old.
    fn summed_up(
        &self,
        record: &Record<'_>,
        untagged: &[u8],
        notes: &mut Notes,
    ) -> Result<Option<Vec<u8>>, PassError> {
        let zones = record.tag().and_then(|tag| tag.zones).unwrap_or_default();
        if !zones.contains(&Zone::Old) {
            return Ok(None);
        }
        // The tag shifts what stands behind it: looked at again without.
        let plain = Record::classify(Line {
            bytes: untagged,
            number: record.line,
            offset: record.offset,
            piece: record.piece,
        });
        let Some((object, conversation)) = plain
            .whole_object()
            .and_then(|object| Some((object, Conversation::of(object)?)))
            .filter(|(_, conversation)| conversation.messages.len() == zones.len())
        else {
            return Err(ErrorKind::OtherZones.into());
        };
        let Some(dialect) = self.dialect else {
            return Err(ErrorKind::UnknownFormat("summed up").into());
        };
        let list = self.list(dialect, &conversation, &zones, notes)?;
        let at = untagged.len() - object.text().len() + conversation.start;
        let mut line = untagged[..at].to_vec();
        line.extend_from_slice(list.as_bytes());
        line.extend_from_slice(&untagged[at + conversation.list.len()..]);
        Ok(Some(line))
    }

    /// The list of messages with the summary in the place of the old ones; what
    /// stood between kept messages stays.
    fn list(
        &self,
        dialect: &'static dyn Dialect,
        conversation: &Conversation<'_>,
        zones: &[Zone],
        notes: &mut Notes,
    ) -> Result<String, PassError> {
        let mut old = OldZone::new(self.plan, self.writer.needs(), Some(dialect));
        let mut checks = Checks::new(dialect.rules());
        let mut role = None;
        for (line, (object, zone)) in (1..).zip(conversation.messages.iter().zip(zones)) {
            let outline = dialect.outline(object);
            if let Some(outline) = &outline {
                checks.input(line, outline);
            }
            if *zone != Zone::Old {
                if let Some(outline) = &outline {
                    checks.output(line, outline);
                }
                if let Some(message) = dialect.message(object) {
                    old.push_kept(found(line, &message, object));
                }
                continue;
            }
            if role.is_none() {
                role = Some(checks.summary(dialect, self.plan.role));
            }
            if let Some(message) = dialect.message(object) {
                old.push(self.plan, dialect, object, found(line, &message, object));
            }
        }
        checks.finish(self.plan.strict, notes)?;
        old.finish_reading();
        let text = text(self.plan, self.writer, &old, notes)?.text;
        let summary = dialect.summary_record(role.unwrap_or(self.plan.role), &text);
        Ok(replaced(conversation, zones, &summary))
    }

    /// The whole output.
    pub fn finish(self, notes: &mut Notes) -> NewSession {
        self.bad.report(notes);
        NewSession::plain(self.spool, self.length)
    }
}

fn found<'m>(line: u64, message: &'m Message<'m>, object: &'m Object<'m>) -> Found<'m> {
    Found {
        line,
        message,
        record: object.text().as_bytes(),
    }
}

fn replaced(conversation: &Conversation<'_>, zones: &[Zone], summary: &str) -> String {
    let list = conversation.list;
    let mut written = String::new();
    let (mut end, mut placed) = (0, false);
    for (index, zone) in zones.iter().enumerate() {
        let place = conversation.place(index);
        let between = &list[end..place.start];
        end = place.end;
        let text = match zone {
            Zone::Old if placed => continue,
            Zone::Old => summary,
            _ => &list[place],
        };
        placed |= *zone == Zone::Old;
        written.push_str(between);
        written.push_str(text);
    }
    written.push_str(&list[end..]);
    written
}
