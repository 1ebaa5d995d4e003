//! A session whose records have zones: the old ones become a summary.

use ctx_transcript::{Class, Dialect, Piece, Record, Zone, ZoneReader};

use super::assembly::{Assembly, Found};
use super::old::OldZone;
use super::{NewSession, Plan};
use crate::{ErrorKind, Notes, PassError};

/// Takes the records of a tagged session.
pub struct ZonePass<'p> {
    assembly: Assembly<'p>,
    zones: ZoneReader,
    /// Lines in the old zone that are no messages.
    other_lines: u64,
}

impl<'p> ZonePass<'p> {
    /// Nothing seen yet.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            assembly: Assembly::new(plan, dialect, OldZone::new(plan, dialect)),
            zones: ZoneReader::default(),
            other_lines: 0,
        }
    }

    /// What the tags said so far.
    pub fn zones(&self) -> &ZoneReader {
        &self.zones
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let zone = self.zones.read(record);
        let assembly = &mut self.assembly;
        let outline = record.outline(assembly.dialect);
        let is_old = zone == Zone::Old;
        let left_out = assembly.input(record, outline.as_ref(), is_old);
        if is_old {
            return self.leave(record, outline.is_some());
        }
        if left_out {
            return Ok(());
        }
        let bytes = record.untagged();
        if assembly.old.reads_ledger()
            && let Some(message) = record.message(assembly.dialect)
        {
            assembly.old.push_kept(Found {
                line: record.line,
                message: &message,
                record: &bytes,
            });
        }
        assembly.stay(record.line, outline.as_ref(), &bytes)
    }

    fn leave(&mut self, record: &Record<'_>, is_message: bool) -> Result<(), PassError> {
        if self.assembly.dialect.is_none() {
            let error = PassError::from(ErrorKind::UnknownFormat("summed up"));
            return Err(error.at(record.line));
        }
        let begins = matches!(record.piece, Piece::Whole | Piece::First);
        if !is_message && record.class != Class::Blank {
            self.other_lines += u64::from(begins);
        }
        self.assembly.leave(record, &record.untagged());
        Ok(())
    }

    /// Writes the summary and checks the whole output, before any byte of it leaves.
    pub fn finish(mut self, notes: &mut Notes) -> Result<NewSession, PassError> {
        let place = self.assembly.check(notes)?;
        let (Some(place), Some(dialect)) = (place, self.assembly.dialect) else {
            notes.info("nothing is old, nothing was changed");
            return Ok(self.assembly.without_summary());
        };
        if self.other_lines > 0 {
            notes.info(format_args!(
                "{} lines of the old zone are no messages and left with it",
                self.other_lines
            ));
        }
        let wanted = self.assembly.plan.role;
        if place.role != wanted {
            notes.info(format_args!(
                "the summary has the role {}: {} does not allow {} there",
                place.role.as_str(),
                dialect.name(),
                wanted.as_str()
            ));
        }
        self.assembly.old.finish_reading();
        let text = self.assembly.text(notes)?;
        let record = dialect.summary_record(place.role, &text.text).into_bytes();
        Ok(self.assembly.with_summary(text, record, &place))
    }
}
