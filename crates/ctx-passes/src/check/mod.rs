//! Checks whether a session is legal and within limits, and how large it is.

mod finding;
mod limits;
mod log;
mod repair;
mod report;
mod told;

use ctx_select::count::MessageCounter;
use ctx_select::trigger::Size;
use ctx_transcript::{
    Class, Conversation, Dialect, Flaw, Message, Object, Outline, Record, Validator,
};

use crate::count::CalibrationPass;
use crate::{BadLines, ErrorKind, PassError};
pub use finding::{Fault, Finding, Remark};
pub use limits::Limits;
pub use repair::{RepairPass, RepairedSession};
pub use report::Report;
pub use told::{Told, ToldDue, ToldRepair};

/// What is asked of a session.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is a question of its own.
pub struct Plan {
    /// How large it may be.
    pub limits: Limits,
    /// Whether calls that wait for their results at the end are offences.
    pub strict: bool,
    /// Whether bad lines are offences.
    pub bad_lines: bool,
    /// Whether each record is a conversation.
    pub batch: bool,
    /// Set if tokens and bytes of results are asked for.
    pub counter: Option<MessageCounter>,
    /// Whether the usage that an agent has recorded says how large its session is.
    pub calibrate: bool,
}

/// Checks the records of a session.
pub struct CheckPass<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    /// The session; a batch has one for each record.
    conversation: Option<ConversationCheck>,
    /// Set where the size is what an agent has recorded.
    calibration: Option<CalibrationPass>,
    report: Report,
}

/// A conversation, as far as it was checked.
struct ConversationCheck {
    validator: Validator,
    size: Size,
}

impl ConversationCheck {
    fn new(dialect: &dyn Dialect) -> Self {
        Self {
            validator: Validator::new(dialect.rules()),
            size: Size::default(),
        }
    }

    /// The next message; returns its tokens where they are asked for.
    fn push<'m>(
        &mut self,
        line: u64,
        outline: &Outline<'_>,
        plan: &Plan,
        message: impl FnOnce() -> Option<Message<'m>>,
    ) -> Option<u64> {
        self.validator.push(line, outline);
        let counter = plan.counter.as_ref();
        if let Some((counter, message)) = counter.and_then(|it| Some((it, message()?))) {
            return Some(self.size.add(outline, &message, counter));
        }
        self.size.add_outline(outline);
        None
    }
}

impl<'p> CheckPass<'p> {
    /// Nothing checked yet.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        let log = dialect.filter(|dialect| !plan.batch && dialect.is_linked());
        let counter = plan.counter.filter(|_| plan.calibrate && log.is_some());
        Self {
            plan,
            dialect,
            calibration: counter.map(|counter| CalibrationPass::new(counter, dialect)),
            conversation: dialect.filter(|_| !plan.batch).map(ConversationCheck::new),
            report: Report {
                dialect: dialect.map(Dialect::name),
                ..Report::default()
            },
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        if record.piece.begins() {
            self.report.records += 1;
            self.damage(record);
        }
        let Some(object) = record.whole_object() else {
            return Ok(());
        };
        let Some(dialect) = self.dialect else {
            return Err(ErrorKind::NoMessage { batch: true }.at(record.line));
        };
        if let Some(session) = &mut self.conversation {
            let mut tokens = None;
            if let Some(outline) = record.outline(self.dialect) {
                let message = || record.message(self.dialect);
                tokens = session.push(record.line, &outline, self.plan, message);
            }
            if let Some(calibration) = &mut self.calibration {
                calibration.push(record, tokens);
            }
        } else {
            self.batch(record.line, object, dialect);
        }
        Ok(())
    }

    fn damage(&mut self, record: &Record<'_>) {
        let rule = match record.class {
            Class::Tail => {
                self.report.tail = Some(record.line);
                "torn-tail"
            }
            class if class.is_bad() => "bad-line",
            _ => return,
        };
        let log = self.dialect.filter(|dialect| dialect.is_log());
        if self.plan.bad_lines {
            self.report.findings.push(Finding {
                fault: Fault::Offence,
                line: Some(record.line),
                rule,
                id: None,
                message: record.why_bad(),
            });
        } else if let Some(dialect) = log.filter(|_| !self.plan.batch) {
            self.report.add_damage(record, dialect);
        }
    }

    fn batch(&mut self, line: u64, object: &Object<'_>, dialect: &dyn Dialect) {
        let Some(conversation) = Conversation::of(object) else {
            self.report.no_conversation += 1;
            return;
        };
        let mut checked = ConversationCheck::new(dialect);
        for object in &conversation.messages {
            if let Some(outline) = dialect.outline(object) {
                checked.push(line, &outline, self.plan, || dialect.message(object));
            }
        }
        self.close(checked, Some(line));
    }

    /// The end of a conversation; `line` is its line in a batch.
    fn close(&mut self, checked: ConversationCheck, line: Option<u64>) {
        let ConversationCheck {
            validator,
            mut size,
        } = checked;
        let calibration = self.calibration.take().map(CalibrationPass::finish);
        if let Some(calibration) = calibration {
            size.calibrated = calibration.estimate.map(|estimate| estimate.high);
            size.window = calibration.window;
        }
        let (offences, open) = validator.finish_with_open();
        let report = &mut self.report;
        let findings = offences.into_iter().map(Finding::from);
        report.findings.extend(findings);
        if self.plan.strict {
            report.findings.extend(open.into_iter().map(Finding::from));
        } else {
            report.open += open.len();
        }
        report
            .findings
            .extend(self.plan.limits.exceeded(&size, line));
        report.size.messages += size.messages;
        report.size.turns += size.turns;
        report.size.tokens += size.tokens;
        report.size.calibrated = size.calibrated;
        report.size.window = size.window;
        report.size.tool_bytes += size.tool_bytes;
    }

    /// What was found; `bad` are the bad lines of the session, `flaws` what is wrong with it
    /// as a log.
    pub fn finish(mut self, bad: &BadLines, flaws: &[(u64, Flaw)]) -> Report {
        if let Some(session) = self.conversation.take() {
            self.close(session, None);
        }
        self.report.add_flaws(flaws, self.plan.strict);
        self.report.findings.sort();
        self.report.bad = bad.clone();
        self.report
    }
}

#[cfg(test)]
mod tests;
