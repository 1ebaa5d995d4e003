//! A mended copy of a session, which is checked before it is handed out.

use ctx_transcript::repair::{Action, Planner};
use ctx_transcript::{Dialect, Options, Record, Records, Tag, Validator};

use crate::{ErrorKind, PassError};

/// Takes all records of a session, and mends them at the end.
pub struct RepairPass {
    dialect: Option<&'static dyn Dialect>,
    planner: Option<Planner>,
    records: Vec<Vec<u8>>,
}

/// The mended copy.
pub struct RepairedSession {
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// What was done, by line.
    pub actions: Vec<Action>,
}

impl RepairPass {
    /// Nothing read yet.
    pub fn new(dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            dialect,
            planner: dialect.map(|dialect| Planner::new(dialect.rules())),
            records: Vec::new(),
        }
    }

    /// The next record; an error when it is one that cannot be mended.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        if !record.piece.begins()
            && let Some(line) = self.records.last_mut()
        {
            line.extend_from_slice(record.bytes);
            return Ok(());
        }
        if let Some(object) = record.object() {
            if self.dialect.is_none() {
                return Err(ErrorKind::NoMessage { batch: false }.at(record.line));
            }
            // The numbers in tags would no longer be right.
            if object.get(Tag::KEY).is_some() {
                return Err(ErrorKind::Tagged.at(record.line));
            }
        }
        if let (Some(planner), Some(outline)) = (&mut self.planner, record.outline(self.dialect)) {
            planner.push(self.records.len(), record.line, &outline);
        }
        self.records.push(record.bytes.to_vec());
        Ok(())
    }

    /// The copy. With `strict`, calls at the end must have their results, too.
    pub fn finish(self, strict: bool) -> Result<RepairedSession, PassError> {
        let (Some(dialect), Some(planner)) = (self.dialect, self.planner) else {
            // There is nothing that could be wrong.
            return Ok(RepairedSession {
                bytes: self.records.concat(),
                actions: Vec::new(),
            });
        };
        let no_mend = || ErrorKind::NoMend(dialect.name());
        let mend = dialect.mend().ok_or_else(no_mend)?;
        let repair = planner.finish(strict);
        let mut bytes = Vec::with_capacity(self.records.iter().map(Vec::len).sum());
        for at in 0..self.records.len() {
            bytes.extend(repair.mended(&self.records, at, mend));
        }
        drop(self.records);
        check(&bytes, dialect, strict)?;
        Ok(RepairedSession {
            bytes,
            actions: repair.actions,
        })
    }
}

/// Nothing is handed out that is not legal.
fn check(mended: &[u8], dialect: &'static dyn Dialect, strict: bool) -> Result<(), PassError> {
    let options = Options {
        dialect: Some(dialect),
        raw: true,
        ..Options::default()
    };
    let mut records = Records::open(mended, &options).map_err(ErrorKind::Read)?;
    let mut validator = Validator::new(dialect.rules());
    while let Some(record) = records.next().map_err(ErrorKind::Read)? {
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(record.line, &outline);
        }
    }
    let (mut offences, open) = validator.finish_with_open();
    if strict {
        offences.extend(open);
    }
    match offences.into_iter().next() {
        None => Ok(()),
        Some(offence) => Err(ErrorKind::Unmendable(offence).into()),
    }
}
