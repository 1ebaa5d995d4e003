//! Repairs a copy of a session, and checks the copy before returning it.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use ctx_format::convert::Loss;
use ctx_format::repair::{Action, RepairedCopy, repair};
use ctx_format::{Dialect, Options, Record, Tag};

use super::{CheckPass, Finding, Plan, Report};
use crate::{ErrorKind, Invalid, Level, Notes, Result, Session};

/// Collects all records of a session, and repairs them at the end.
pub struct RepairPass {
    dialect: Option<&'static dyn Dialect>,
    model: Option<String>,
    /// The lines with their numbers.
    lines: Vec<(u64, Vec<u8>)>,
    lost: Option<Loss>,
}

/// The repaired copy.
pub struct RepairedSession {
    /// The name of the dialect.
    pub dialect: &'static str,
    /// All bytes of the copy.
    pub bytes: Arc<[u8]>,
    /// The repairs that were made, sorted by line.
    pub actions: Vec<Action>,
    /// The warnings that remain after the repair, with line numbers in the original session.
    pub left: Vec<Finding>,
    /// What a document had besides its messages.
    pub lost: Option<Loss>,
}

impl RepairedSession {
    /// Warns about the repairs, then about what remains.
    pub fn warn(&self, notes: &mut Notes) {
        if let Some(loss) = &self.lost {
            notes.warn(loss.say());
        }
        for action in &self.actions {
            notes.warn_at(action.line, action.say());
        }
        for finding in &self.left {
            let Finding { rule, message, .. } = finding;
            let text = format_args!("not repaired: {rule}: {message}");
            notes.add(Level::Warning, finding.line.as_slice(), text);
        }
    }
}

impl RepairPass {
    /// Prepares to repair `session` for `model` or, if this is `None`, for the model that the
    /// session states. A session in an unknown dialect cannot be repaired.
    pub fn new(session: &mut Session, model: Option<&str>) -> Self {
        let of_request = session.records.model.as_deref();
        let model = model.or(of_request).map(str::to_owned);
        // The prompt of a request becomes its first message, and the header of a log its first line.
        let (first, lost) = session.records.take_beside();
        let lines = first.into_iter().map(|it| (1, (it + "\n").into_bytes())).collect();
        Self { dialect: session.dialect(), model, lines, lost }
    }

    /// Stores the next record. Returns an error if the record rules out a repair.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
        if !record.piece.begins()
            && let Some((_, line)) = self.lines.last_mut()
        {
            line.extend_from_slice(record.bytes);
            return Ok(());
        }
        if let Some(object) = record.object() {
            // After a repair, the record numbers in the tags would be wrong.
            if object.get(Tag::KEY).is_some() {
                return Err(ErrorKind::Tagged.at(record.line));
            }
        }
        self.lines.push((record.line, record.bytes.to_vec()));
        Ok(())
    }

    /// Returns the repaired copy. If `strict` is set, even calls at the end of the session must
    /// have results.
    pub fn finish(self, strict: bool) -> Result<RepairedSession> {
        let dialect = self.dialect.ok_or(ErrorKind::UnknownFormat)?;
        let plan = Plan { strict, model: self.model, ..Plan::default() };
        let copy = repair(dialect, self.lines, strict, plan.model.clone());
        Ok(RepairedSession { lost: self.lost, ..checked(copy, &plan)? })
    }
}

/// Checks a session that we have written.
pub(crate) fn report_of(mut session: Session, plan: &Plan) -> Result<Report> {
    session.accepts_unknown = true;
    CheckPass::run(plan, &mut session)
}

/// Checks a repaired copy, and returns it with the warnings. The warnings have the line numbers of
/// the original session. Fails if the copy has a problem.
fn checked(copy: RepairedCopy, plan: &Plan) -> Result<RepairedSession> {
    let dialect = copy.dialect;
    let bytes: Arc<[u8]> = copy.bytes.into();
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let reader = Box::new(Cursor::new(bytes.clone()));
    let session = Session::open(reader, &options, Invalid::Keep)?;
    let report = report_of(session, plan)?;
    let lines: HashMap<u64, u64> = (1..).zip(copy.sources).collect();
    let source = |line: u64| lines.get(&line).copied().unwrap_or(line);
    if let Some(Finding { line, message, .. }) = report.findings.into_iter().next() {
        let error = ErrorKind::Unloadable(message);
        return Err(match line {
            Some(line) => error.at(source(line)),
            None => error.into(),
        });
    }
    let remarks = report.remarks.into_iter().filter(|it| it.is_warning);
    let mut left: Vec<Finding> = remarks.map(|remark| remark.finding).collect();
    for finding in &mut left {
        finding.line = finding.line.map(source);
    }
    left.sort();
    Ok(RepairedSession { dialect: dialect.name(), bytes, actions: copy.actions, left, lost: None })
}
