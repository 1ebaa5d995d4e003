//! Batch records: one conversation a line, each with a summary of its own.

use ctx_transcript::{Conversation, Dialect, Record, Zone, ZoneReader};

use super::assembly::{Assembly, Kept};
use super::old::{Found, OldZone};
use super::{NewSession, Plan, Writer};
use crate::{BadLines, ErrorKind, Fate, Notes, PassError};

/// Takes batch records; they wait in a spool for the end of the input.
pub struct Batch<'p> {
    plan: &'p Plan,
    writer: &'p Writer,
    dialect: Option<&'static dyn Dialect>,
    zones: ZoneReader,
    kept: Kept,
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
            kept: Kept::new(&plan.temp),
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
        let new = self.new_line(record, &untagged, &mut inner);
        notes.extend_within(record.line, inner);
        let new = new.map_err(|error| error.at(record.line))?;
        self.kept.push(new.as_deref().unwrap_or(&untagged), false)
    }

    /// The line with its old messages summed up; `None` when nothing in it is old.
    fn new_line(
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
        let plain = record.origin().record(untagged);
        let Some((object, conversation)) = plain
            .whole_object()
            .and_then(|object| Some((object, Conversation::of(object)?)))
            .filter(|(_, conversation)| conversation.messages.len() == zones.len())
        else {
            return Err(ErrorKind::OtherZones.into());
        };
        let dialect = self.dialect.ok_or(ErrorKind::UnknownFormat("summed up"))?;
        let at = untagged.len() - object.text().len() + conversation.start;
        let mut line = untagged[..at].to_vec();
        let mut list = self.list(dialect, &conversation, &zones, notes)?;
        list.write(&mut line)?;
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
    ) -> Result<NewSession, PassError> {
        let old = OldZone::new(self.plan, self.writer.needs(), Some(dialect));
        let mut assembly = Assembly::new(self.plan, Some(dialect), old);
        let list = conversation.list.as_bytes();
        let mut end = 0;
        for (index, (object, zone)) in conversation.messages.iter().zip(zones).enumerate() {
            let line = index as u64 + 1;
            let (outline, message) = (dialect.outline(object), dialect.message(object));
            let found = message.as_ref().map(|message| Found {
                line,
                object,
                message,
                bytes: object.text().as_bytes(),
            });
            let place = conversation.place(index);
            let between = end..place.start;
            let whole = end..place.end;
            end = place.end;
            assembly.input_message(line, outline.as_ref());
            if *zone == Zone::Old {
                if !assembly.has_place() {
                    assembly.stay(line, None, &list[between])?;
                }
                assembly.leave(b"", found);
                continue;
            }
            if let Some(found) = found {
                assembly.old.push_kept(found);
            }
            assembly.stay(line, outline.as_ref(), &list[whole])?;
        }
        assembly.stay(0, None, &list[end..])?;
        let material = assembly.finish(notes)?;
        let place = material.place.as_ref();
        let draft = place.map(|place| material.sum_up(place, self.writer, notes));
        let draft = draft.transpose()?;
        Ok(material.with(draft))
    }

    /// The whole output.
    pub fn finish(self, notes: &mut Notes) -> NewSession {
        self.bad.report(notes);
        NewSession {
            kept: self.kept,
            draft: None,
        }
    }
}
