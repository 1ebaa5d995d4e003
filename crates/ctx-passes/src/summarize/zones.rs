//! A session whose records have zones: the old ones become a summary.

use std::borrow::Cow;
use std::io::Write;

use ctx_transcript::{Class, Dialect, Message, Piece, Record, Zone, ZoneReader};

use super::assembly::{Assembly, Draft, Found, Place, text};
use super::old::OldZone;
use super::{Needs, NewSession, Plan, Writer};
use crate::{ErrorKind, Notes, PassError};

/// Takes the records of a session with their zones.
pub struct ZonePass<'p> {
    assembly: Assembly<'p>,
    zones: ZoneReader,
    /// Lines in the old zone that are no messages.
    other_lines: u64,
}

/// A record that changes on its way.
pub struct Edited<'m> {
    /// Its new bytes, without a tag.
    pub bytes: Vec<u8>,
    /// The message in them.
    pub message: Message<'m>,
}

/// A session that was read to its end: what stays of it, and what a summary of the rest
/// is written from.
pub struct Gathered<'p> {
    assembly: Assembly<'p>,
    /// Where the summary stands; nowhere where nothing is old.
    place: Option<(Place, &'static dyn Dialect)>,
    other_lines: u64,
}

impl<'p> ZonePass<'p> {
    /// Nothing seen yet. What a writer `needs` is gathered.
    pub fn new(plan: &'p Plan, needs: Needs, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            assembly: Assembly::new(plan, dialect, OldZone::new(plan, needs, dialect)),
            zones: ZoneReader::default(),
            other_lines: 0,
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
        let left_out = assembly.input(record, outline.as_ref(), is_old);
        if left_out {
            return Ok(());
        }
        let wanted = is_old || assembly.old.reads_ledger();
        let (bytes, message) = if let Some(edited) = edited {
            (Cow::Owned(edited.bytes), Some(edited.message))
        } else {
            let message = record.message(assembly.dialect.filter(|_| wanted));
            (record.untagged(), message)
        };
        let found = message.as_ref().map(|message| Found {
            line: record.line,
            message,
            record: &bytes,
        });
        if !is_old {
            if let Some(found) = found {
                assembly.old.push_kept(found);
            }
            return assembly.stay(record.line, outline.as_ref(), &bytes);
        }
        let begins = matches!(record.piece, Piece::Whole | Piece::First);
        if found.is_none() && record.class != Class::Blank {
            self.other_lines += u64::from(begins);
        }
        assembly.leave(record, found);
        Ok(())
    }

    /// A record that is left out for another reason than its zone.
    pub fn drop(&mut self, record: &Record<'_>) {
        let outline = record.outline(self.assembly.dialect);
        self.assembly.input(record, outline.as_ref(), false);
    }

    /// All records came: the output is checked.
    pub fn gather(mut self, notes: &mut Notes) -> Result<Gathered<'p>, PassError> {
        let place = self.assembly.check(notes)?;
        self.assembly.old.finish_reading();
        Ok(Gathered {
            place: place.zip(self.assembly.dialect),
            assembly: self.assembly,
            other_lines: self.other_lines,
        })
    }

    /// Checks the whole output and writes the summary, before any byte of it leaves.
    pub fn finish(self, writer: &Writer, notes: &mut Notes) -> Result<NewSession, PassError> {
        let gathered = self.gather(notes)?;
        match gathered.draft(writer, notes)? {
            Some(draft) => Ok(gathered.with_summary(draft)),
            None => Ok(gathered.without_summary()),
        }
    }
}

impl Gathered<'_> {
    /// A summary of what is old; `None` where nothing is.
    pub fn draft(&self, writer: &Writer, notes: &mut Notes) -> Result<Option<Draft>, PassError> {
        let assembly = &self.assembly;
        let Some((place, dialect)) = &self.place else {
            notes.info("nothing is old, nothing was changed");
            return Ok(None);
        };
        if self.other_lines > 0 {
            notes.info(format_args!(
                "{} lines of the old zone are no messages and left with it",
                self.other_lines
            ));
        }
        let wanted = assembly.plan.role;
        if place.role != wanted {
            notes.info(format_args!(
                "the summary has the role {}: {} does not allow {} there",
                place.role.as_str(),
                dialect.name(),
                wanted.as_str()
            ));
        }
        let text = text(assembly.plan, writer, &assembly.old, notes)?;
        let record = dialect.summary_record(place.role, &text.text);
        Ok(Some(assembly.draft(text, record, place)))
    }

    /// Writes what stays, with a summary if there is one; it can be written again.
    pub fn write(&mut self, draft: Option<&Draft>, out: &mut impl Write) -> Result<(), PassError> {
        let record = draft.map(|draft| draft.record.as_slice());
        self.assembly.write(record.unwrap_or_default(), out)
    }

    /// What stays, with a summary.
    pub fn with_summary(self, draft: Draft) -> NewSession {
        self.assembly.with_summary(draft)
    }

    /// What stays, without any summary.
    pub fn without_summary(self) -> NewSession {
        self.assembly.without_summary()
    }
}
