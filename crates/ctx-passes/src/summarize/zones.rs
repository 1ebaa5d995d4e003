//! A session whose records have zones: the old ones become a summary.

use std::borrow::Cow;

use ctx_transcript::{Class, Dialect, Message, Record, Zone, ZoneReader};

use super::assembly::{Assembly, Material};
use super::old::{Found, OldZone};
use super::{Needs, NewSession, Plan, Writer};
use crate::{ErrorKind, Notes, PassError};

/// Takes the records of a session with their zones.
pub struct ZonePass<'p> {
    assembly: Assembly<'p>,
    zones: ZoneReader,
}

/// A record that changes on its way.
pub struct Edited<'m> {
    /// Its new bytes, without a tag.
    pub bytes: Vec<u8>,
    /// The message in them.
    pub message: Message<'m>,
}

impl<'p> ZonePass<'p> {
    /// Nothing seen yet. What a writer `needs` is gathered.
    pub fn new(plan: &'p Plan, needs: Needs, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            assembly: Assembly::new(plan, dialect, OldZone::new(plan, needs, dialect)),
            zones: ZoneReader::default(),
        }
    }

    /// What the tags said so far.
    pub fn zones(&self) -> &ZoneReader {
        &self.zones
    }

    /// The next record, whose tag has its zone.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let zone = self.zones.read(record);
        self.push_in(zone, record, None)
    }

    /// The next record, which is in this zone, and may change before it stays or leaves.
    pub fn push_in(
        &mut self,
        zone: Zone,
        record: &Record<'_>,
        edited: Option<Edited<'_>>,
    ) -> Result<(), PassError> {
        let assembly = &mut self.assembly;
        let is_old = zone == Zone::Old;
        if is_old && assembly.dialect.is_none() {
            let error = PassError::from(ErrorKind::UnknownFormat("summed up"));
            return Err(error.at(record.line));
        }
        let outline = record.outline(assembly.dialect);
        if assembly.input(record, outline.as_ref(), is_old) {
            return Ok(());
        }
        let is_read = is_old || assembly.old.reads_ledger();
        let (bytes, message) = if let Some(edited) = edited {
            (Cow::Owned(edited.bytes), Some(edited.message))
        } else {
            let message = record.message(assembly.dialect.filter(|_| is_read));
            (record.untagged(), message)
        };
        let found = Found::of(record, message.as_ref(), &bytes);
        if is_old {
            let begins = record.piece.begins();
            if found.is_none() && record.class != Class::Blank && begins {
                assembly.old.other_lines += 1;
            }
            assembly.leave(record.line_end(), found);
            return Ok(());
        }
        if let Some(found) = found {
            assembly.old.push_kept(found);
        }
        assembly.stay(record.line, outline.as_ref(), &bytes)
    }

    /// A record that is left out for another reason than its zone.
    pub fn drop(&mut self, record: &Record<'_>) {
        let outline = record.outline(self.assembly.dialect);
        self.assembly.input(record, outline.as_ref(), false);
    }

    /// All records came: the output is checked.
    pub fn gather(self, notes: &mut Notes) -> Result<Material<'p>, PassError> {
        self.assembly.finish(notes)
    }

    /// Checks the whole output and writes the summary, before any byte of it leaves.
    pub fn finish(self, writer: &Writer, notes: &mut Notes) -> Result<NewSession, PassError> {
        let material = self.gather(notes)?;
        let draft = material.draft(writer, notes)?;
        Ok(material.with(draft))
    }
}
