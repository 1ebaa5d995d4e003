//! Repairs a copy of a session, and checks the copy before returning it.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use ctx_format::repair::{Action, Planner, RepairedLog, repair_log};
use ctx_format::{Dialect, Effect, Options, Record, Rule, Tag};
use serde::Serialize;

use super::{CheckPass, Finding, Plan};
use crate::{ErrorKind, Invalid, Level, Notes, Result, Session};

/// Collects all records of a session, and repairs them at the end.
pub struct RepairPass {
    dialect: Option<&'static dyn Dialect>,
    planner: Option<Planner>,
    records: Vec<Vec<u8>>,
    /// The line number of each element in `records`.
    lines: Vec<u64>,
}

/// The repaired copy.
pub struct RepairedSession {
    /// The name of the dialect.
    pub dialect: &'static str,
    /// All bytes of the copy.
    pub bytes: Arc<[u8]>,
    /// The repairs that were made, sorted by line.
    pub actions: Vec<Action>,
    /// The findings that remain after the repair, with line numbers in the original session.
    pub left: Vec<Finding>,
    /// Whether any of the remaining findings is a problem.
    pub has_problem: bool,
}

impl RepairedSession {
    /// Warns about the repairs, then about the remaining problems.
    pub fn warn(&self, notes: &mut Notes) {
        for action in &self.actions {
            notes.warn_at(action.line, action.say());
        }
        for finding in &self.left {
            let Finding { rule, message, .. } = finding;
            let text = format_args!("not repaired: {rule}: {message}");
            notes.add(Level::Warning, finding.line.as_slice(), text);
        }
    }

    /// Returns the report on the file `name`, whose copy is `output`.
    pub fn json<'a>(&'a self, name: Option<&'a str>, output: String) -> RepairJson<'a> {
        let actions = self.actions.iter().map(|action| ActionJson {
            line: action.line,
            action: action.what.as_str(),
            id: Some(action.id.as_str()).filter(|id| !id.is_empty()),
            message: action.say(),
        });
        RepairJson {
            name,
            dialect: self.dialect,
            output,
            actions: actions.collect(),
            left: &self.left,
        }
    }
}

/// The JSON report on a file whose repaired copy was written.
#[derive(Serialize)]
pub struct RepairJson<'a> {
    name: Option<&'a str>,
    dialect: &'static str,
    output: String,
    actions: Vec<ActionJson<'a>>,
    /// The findings that remain after the repair.
    left: &'a [Finding],
}

#[derive(Serialize)]
struct ActionJson<'a> {
    line: u64,
    action: &'static str,
    id: Option<&'a str>,
    message: String,
}

impl RepairPass {
    /// Prepares to repair a session in this dialect. A session in an unknown dialect cannot be
    /// repaired.
    pub fn new(dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            dialect,
            planner: dialect.map(|dialect| Planner::new(dialect.rules())),
            records: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Stores the next record. Returns an error if the record rules out a repair.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
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
            // After a repair, the record numbers in the tags would be wrong.
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

    /// Returns the repaired copy. If `strict` is set, even calls at the end of the session must
    /// have results.
    pub fn finish(self, strict: bool) -> Result<RepairedSession> {
        let (Some(dialect), Some(planner)) = (self.dialect, self.planner) else {
            return Err(ErrorKind::NoMessage { batch: false }.into());
        };
        let no_repair = || ErrorKind::NoRepair(dialect.name());
        if dialect.is_log() {
            let lines = self.lines.into_iter().zip(self.records).collect();
            let log = repair_log(dialect, lines, strict).ok_or_else(no_repair)?;
            return checked(dialect, log, strict);
        }
        let how = dialect.repair().ok_or_else(no_repair)?;
        let repair = planner.finish(strict);
        let (mut bytes, mut sources) = (Vec::new(), Vec::new());
        for (at, line) in self.lines.into_iter().enumerate() {
            let repaired = repair.repaired(&self.records, at, how);
            sources.extend(repaired.split_inclusive(|b| *b == b'\n').map(|_| line));
            bytes.extend(repaired);
        }
        drop(self.records);
        let actions = repair.actions;
        let copy = RepairedLog { bytes, actions, sources };
        checked(dialect, copy, strict)
    }
}

/// The rules that an API enforces on a list of messages.
const OF_API: [Rule; 4] =
    [Rule::UnansweredCall, Rule::OrphanResult, Rule::RepeatedCallId, Rule::UserFirst];

/// Checks a repaired copy, and returns it with the findings. The findings have the line numbers of
/// the original session. Fails if the API or the agent would reject the copy.
fn checked(
    dialect: &'static dyn Dialect,
    copy: RepairedLog,
    strict: bool,
) -> Result<RepairedSession> {
    let bytes: Arc<[u8]> = copy.bytes.into();
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let reader = Box::new(Cursor::new(bytes.clone()));
    let mut session = Session::open(reader, &options, Invalid::Keep)?;
    let plan = Plan { strict, all: true, ..Plan::default() };
    let mut pass = CheckPass::new(&plan, Some(dialect));
    session.each(|record| {
        pass.push(record);
        Ok(())
    })?;
    let lines: HashMap<u64, u64> = (1..).zip(copy.sources).collect();
    let source = |line: u64| lines.get(&line).copied().unwrap_or(line);
    let report = pass.finish(&session);
    let is_rule =
        |it: &&Finding| !dialect.is_log() && OF_API.iter().any(|rule| rule.as_str() == it.rule);
    let illegal = report.findings.iter().filter(is_rule);
    let illegal = illegal.map(|it| (it.line.unwrap_or(0), &it.message));
    let refused = session.flaws().iter().filter(|(_, flaw)| flaw.effect == Effect::Refused);
    let refused = refused.map(|(line, flaw)| (*line, &flaw.message));
    if let Some((line, message)) = refused.chain(illegal).next() {
        return Err(ErrorKind::Unloadable(message.clone()).at(source(line)));
    }
    let has_problem = !report.findings.is_empty();
    let remarks = report.remarks.into_iter().filter(|it| it.is_warning);
    let remarks = remarks.map(|remark| remark.finding);
    let mut left: Vec<Finding> = report.findings.into_iter().chain(remarks).collect();
    for finding in &mut left {
        finding.line = finding.line.map(source);
    }
    left.sort();
    Ok(RepairedSession { dialect: dialect.name(), bytes, actions: copy.actions, left, has_problem })
}
