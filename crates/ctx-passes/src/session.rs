//! Reading a session record by record, with an account of its bad lines.

use std::io::Read;

use ctx_transcript::{Dialect, Options, Record, Records};

use crate::{BadLines, ErrorKind, Fate, Notes, PassError};

/// What happens to bad lines. A last line that is still being written is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Invalid {
    /// Keep them in place and count them
    #[default]
    Keep,
    /// Stop at the first one
    Fail,
    /// Leave them out and count them
    Drop,
}

/// One opened session.
pub struct Session {
    records: Records<Box<dyn Read + Send>>,
    invalid: Invalid,
    bad: BadLines,
}

impl Session {
    /// Opens what `reader` gives.
    pub fn open(
        reader: Box<dyn Read + Send>,
        options: &Options,
        invalid: Invalid,
    ) -> Result<Self, PassError> {
        Ok(Self {
            records: Records::open(reader, options).map_err(ErrorKind::Read)?,
            invalid,
            bad: BadLines::default(),
        })
    }

    /// Its dialect; `None` when the format is not known.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.records.dialect()
    }

    /// Whether it is one JSON document, whose messages come as records.
    pub fn is_document(&self) -> bool {
        self.records.document_members_beside().is_some()
    }

    /// Hands each record that is not left out to `handle`, to the end of the input.
    pub fn each(
        &mut self,
        mut handle: impl FnMut(&Record<'_>) -> Result<(), PassError>,
    ) -> Result<(), PassError> {
        while let Some(record) = self.records.next().map_err(ErrorKind::Read)? {
            if record.class.is_bad() {
                match self.invalid {
                    Invalid::Keep => self.bad.add(&record, Fate::Kept),
                    Invalid::Drop => {
                        self.bad.add(&record, Fate::LeftOut);
                        continue;
                    }
                    Invalid::Fail => {
                        return Err(ErrorKind::BadLine(record.why_bad()).at(record.line));
                    }
                }
            }
            handle(&record)?;
        }
        Ok(())
    }

    /// What was bad so far.
    pub fn bad(&self) -> &BadLines {
        &self.bad
    }

    /// Warns of what a document holds beside its messages.
    pub fn tell_of_document(&self, notes: &mut Notes) {
        if let Some(beside @ 1..) = self.records.document_members_beside() {
            notes.warn(
                &[],
                format_args!(
                    "{beside} of the document's members stand beside its messages and are left out"
                ),
            );
        }
    }
}
