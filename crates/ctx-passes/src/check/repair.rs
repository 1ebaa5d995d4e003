//! A repaired copy of a session, which is checked before it is handed out.

use ctx_transcript::repair::{Action, Planner, repair_log};
use ctx_transcript::{Dialect, Effect, Flaw, Options, Record, Records, Tag, Validator};

use crate::{ErrorKind, Notes, PassError};

/// Takes all records of a session, and repairs them at the end.
pub struct RepairPass {
    dialect: Option<&'static dyn Dialect>,
    planner: Option<Planner>,
    records: Vec<Vec<u8>>,
    /// Of a log: the line of each record.
    lines: Vec<u64>,
}

/// The repaired copy.
pub struct RepairedSession {
    /// `None` where there is no message.
    pub dialect: Option<&'static str>,
    /// All its bytes.
    pub bytes: Vec<u8>,
    /// What was done, by line.
    pub actions: Vec<Action>,
    /// What is still wrong with a log, by line: what nobody can have back.
    pub left: Vec<(u64, Flaw)>,
}

impl RepairedSession {
    /// Warns of what was done, then of what was left.
    pub fn warn(&self, notes: &mut Notes) {
        for action in &self.actions {
            notes.warn(&[action.line], action.say());
        }
        for (line, Flaw { rule, message, .. }) in &self.left {
            let text = format_args!("left as it is: {rule}: {message}");
            notes.warn(&[*line], text);
        }
    }
}

impl RepairPass {
    /// Nothing read yet.
    pub fn new(dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            dialect,
            planner: dialect.map(|dialect| Planner::new(dialect.rules())),
            records: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// The next record; an error when it is one that cannot be repaired.
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
        self.lines.push(record.line);
        self.records.push(record.bytes.to_vec());
        Ok(())
    }

    /// The copy. With `strict`, calls at the end must have their results, too.
    pub fn finish(self, strict: bool) -> Result<RepairedSession, PassError> {
        let (Some(dialect), Some(planner)) = (self.dialect, self.planner) else {
            // There is nothing that could be wrong.
            return Ok(RepairedSession {
                dialect: None,
                bytes: self.records.concat(),
                actions: Vec::new(),
                left: Vec::new(),
            });
        };
        if dialect.is_log() {
            let lines = self.lines.into_iter().zip(self.records).collect();
            return repaired_log(dialect, lines, strict);
        }
        let no_repair = || ErrorKind::NoRepair(dialect.name());
        let how = dialect.repair().ok_or_else(no_repair)?;
        let repair = planner.finish(strict);
        let mut bytes = Vec::with_capacity(self.records.iter().map(Vec::len).sum());
        for at in 0..self.records.len() {
            bytes.extend(repair.repaired(&self.records, at, how));
        }
        drop(self.records);
        check(&bytes, dialect, strict)?;
        Ok(RepairedSession {
            dialect: Some(dialect.name()),
            bytes,
            actions: repair.actions,
            left: Vec::new(),
        })
    }
}

/// A copy of a log. Nothing is handed out that its agent would refuse.
fn repaired_log(
    dialect: &dyn Dialect,
    lines: Vec<(u64, Vec<u8>)>,
    strict: bool,
) -> Result<RepairedSession, PassError> {
    let log = repair_log(dialect, lines, strict).ok_or(ErrorKind::NoRepair(dialect.name()))?;
    let is_told =
        |(_, flaw): &(u64, Flaw)| !matches!(flaw.effect, Effect::Waits | Effect::Harmless);
    let left: Vec<(u64, Flaw)> = log.left.into_iter().filter(is_told).collect();
    let refused = left.iter().find(|(_, flaw)| flaw.effect == Effect::Refused);
    if let Some((line, flaw)) = refused {
        return Err(ErrorKind::Unloadable(flaw.message.clone()).at(*line));
    }
    Ok(RepairedSession {
        dialect: Some(dialect.name()),
        bytes: log.bytes,
        actions: log.actions,
        left,
    })
}

/// Nothing is handed out that is not legal.
fn check(repaired: &[u8], dialect: &'static dyn Dialect, strict: bool) -> Result<(), PassError> {
    let options = Options {
        dialect: Some(dialect),
        raw: true,
        ..Options::default()
    };
    let mut records = Records::open(repaired, &options).map_err(ErrorKind::Read)?;
    let mut validator = Validator::new(dialect.rules());
    while let Some(record) = records.next().map_err(ErrorKind::Read)? {
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(record.line, &outline);
        }
    }
    let (mut problems, open) = validator.finish_with_open();
    if strict {
        problems.extend(open);
    }
    match problems.into_iter().next() {
        None => Ok(()),
        Some(problem) => Err(ErrorKind::Unrepairable(problem).into()),
    }
}
