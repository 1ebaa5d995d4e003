//! Checks whether a session is legal and within limits, and how large it is.

mod finding;
mod limits;
mod log;
mod repair;
mod report;
mod told;
mod understood;

use ctx_select::count::MessageCounter;
use ctx_select::trigger::Size;
use ctx_transcript::problems::NamedRule;
use ctx_transcript::{Class, Conversation, Dialect, Message, Object, Outline, Record, Validator};

use self::understood::{Listing, Understood};

use crate::Session;
use crate::count::CalibrationPass;
pub use finding::{Fault, Finding, Remark};
pub use limits::Limits;
pub use repair::{RepairPass, RepairedSession};
pub use report::Report;
pub use told::{Told, ToldDue, ToldRepair};

/// What is asked of a session.
#[derive(Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is a question of its own.
pub struct Plan {
    /// How large it may be.
    pub limits: Limits,
    /// Whether calls that wait for their results at the end are problems, and a last line that
    /// is not complete.
    pub strict: bool,
    /// Rules whose problems are none.
    pub allow: Vec<&'static NamedRule>,
    /// Whether each problem is wanted, and not only the first of its rule.
    pub all: bool,
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
    understood: Understood<'p>,
    report: Report,
}

impl Plan {
    fn listing(&self) -> Listing<'_> {
        Listing {
            all: self.all,
            allow: &self.allow,
        }
    }
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
            understood: Understood::new(
                dialect,
                plan.listing(),
                plan.limits.bad_lines,
                plan.strict,
            ),
            report: Report {
                dialect: dialect.map(Dialect::name),
                ..Report::default()
            },
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) {
        if record.piece.begins() {
            self.report.records += 1;
            if record.class.is_bad() || record.class == Class::Tail {
                self.understood
                    .damage(record, self.plan.batch, &mut self.report);
            }
        }
        let object = record.whole_object();
        if let (true, Some(object), Some(dialect)) = (self.plan.batch, object, self.dialect) {
            self.batch(record.line, object, dialect);
            return;
        }
        let Some(session) = &mut self.conversation else {
            self.understood.record(record, false, &mut self.report);
            return;
        };
        let outline = record.outline(self.dialect);
        self.understood
            .record(record, outline.is_some(), &mut self.report);
        let mut tokens = None;
        if let Some(outline) = outline {
            let message = || record.message(self.dialect);
            tokens = session.push(record.line, &outline, self.plan, message);
        }
        if let Some(calibration) = self.calibration.as_mut().filter(|_| object.is_some()) {
            calibration.push(record, tokens);
        }
    }

    fn batch(&mut self, line: u64, object: &Object<'_>, dialect: &dyn Dialect) {
        let report = &mut self.report;
        let no_message = |what: &str, report: &mut Report| {
            let finding = Finding::problem(Some(line), "no-message", what.to_owned());
            report.add(finding, self.plan.listing());
        };
        let Some(conversation) = Conversation::of(object) else {
            no_message("no list of messages", report);
            return;
        };
        let mut checked = ConversationCheck::new(dialect);
        let mut has_message = false;
        for (number, object) in conversation.messages.iter().enumerate() {
            if let Some(unread) = dialect.unread(object) {
                self.understood
                    .unread(line, Some(number), object, unread, report);
            }
            if let Some(outline) = dialect.outline(object) {
                has_message = true;
                checked.push(line, &outline, self.plan, || dialect.message(object));
            }
        }
        if !has_message {
            no_message("a conversation without a message", report);
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
        let (problems, open) = validator.finish_with_open();
        let report = &mut self.report;
        let mut problems = problems;
        if self.plan.strict {
            problems.extend(open);
        } else {
            report.open += open.len();
        }
        for problem in problems {
            report.add(problem.into(), self.plan.listing());
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

    /// What was found in `session`, of which all records were seen.
    pub fn finish(mut self, session: &Session) -> Report {
        if let Some(conversation) = self.conversation.take() {
            self.close(conversation, None);
        }
        let (plan, mut report) = (self.plan, self.report);
        self.understood.finish(session, plan.batch, &mut report);
        report.add_flaws(session.flaws(), plan.strict, plan.listing());
        report.findings.sort();
        report.bad = session.bad().clone();
        report
    }
}

#[cfg(test)]
mod tests;
