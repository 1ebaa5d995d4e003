//! Repairs a copy of a session, and checks the copy before returning it.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::sync::Arc;

use ctx_format::content::mended;
use ctx_format::repair::{Action, Planner, RepairKind, RepairedLog, repair_log};
use ctx_format::{Dialect, Effect, Options, Origin, Problem, Record, Rule, Tag, Validator};
use serde::Serialize;

use super::{CheckPass, Finding, Plan};
use crate::{ErrorKind, Invalid, Level, Notes, Result, Session};

/// Collects all records of a session, and repairs them at the end.
pub struct RepairPass {
    dialect: Option<&'static dyn Dialect>,
    /// Finds the problems of the session, if its dialect is known.
    validator: Option<Validator>,
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
            validator: dialect.map(|dialect| Validator::new(dialect.rules())),
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
        if let (Some(validator), Some(outline)) =
            (&mut self.validator, record.outline(self.dialect))
        {
            validator.push(record.line, &outline);
        }
        self.lines.push(record.line);
        self.records.push(record.bytes.to_vec());
        Ok(())
    }

    /// Repairs the content of each message with a problem, and returns what was repaired.
    fn mend(&mut self, dialect: &dyn Dialect, problems: Vec<Problem>) -> Vec<Action> {
        let mut by_line: BTreeMap<u64, Vec<&Problem>> = BTreeMap::new();
        for problem in &problems {
            by_line.entry(problem.line).or_default().push(problem);
        }
        let mut actions = Vec::new();
        for (bytes, line) in self.records.iter_mut().zip(&self.lines) {
            let Some(problems) = by_line.get(line) else { continue };
            let Some(mended) = mended(dialect, bytes, problems) else { continue };
            *bytes = mended;
            let mut rules: Vec<_> = problems.iter().filter(|it| it.rule.is_of_content()).collect();
            rules.dedup_by_key(|problem| problem.rule);
            actions.extend(rules.into_iter().map(|problem| Action {
                line: *line,
                id: problem.id.clone(),
                what: RepairKind::Change { rule: problem.rule.as_str() },
            }));
        }
        actions
    }

    /// Returns the repaired copy. If `strict` is set, even calls at the end of the session must
    /// have results.
    pub fn finish(mut self, strict: bool) -> Result<RepairedSession> {
        let (Some(dialect), Some(validator)) = (self.dialect, self.validator.take()) else {
            return Err(ErrorKind::NoMessage { batch: false }.into());
        };
        let mended = self.mend(dialect, validator.finish());
        let no_repair = || ErrorKind::NoRepair(dialect.name());
        if dialect.is_log() {
            let lines = self.lines.into_iter().zip(self.records).collect();
            let mut log = repair_log(dialect, lines, strict).ok_or_else(no_repair)?;
            log.actions.splice(..0, mended);
            log.actions.sort_by_key(|action| action.line);
            return checked(dialect, log, strict);
        }
        let how = dialect.repair().ok_or_else(no_repair)?;
        let mut planner = Planner::new(dialect.rules());
        for (at, (line, bytes)) in self.lines.iter().zip(&self.records).enumerate() {
            let record = Origin { line: *line, ..Origin::ALONE }.record(bytes);
            if let Some(outline) = record.outline(Some(dialect)) {
                planner.push(at, *line, &outline);
            }
        }
        let mut repair = planner.finish(strict);
        let (mut bytes, mut sources) = (Vec::new(), Vec::new());
        for (at, line) in self.lines.into_iter().enumerate() {
            let repaired = repair.repaired(&self.records, at, how);
            sources.extend(repaired.split_inclusive(|b| *b == b'\n').map(|_| line));
            bytes.extend(repaired);
        }
        drop(self.records);
        let mut actions = mended;
        actions.append(&mut repair.actions);
        actions.sort_by_key(|action| action.line);
        let copy = RepairedLog { bytes, actions, sources };
        checked(dialect, copy, strict)
    }
}

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
    let is_rule = |it: &&Finding| !dialect.is_log() && Rule::named(it.rule).is_some();
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
