//! Checks whether a session is legal and within limits, and how large it is.

mod batch;
mod finding;
mod limits;
mod log;
mod repair;
mod report;
mod told;
mod understood;

use crate::counter::MessageCounter;
use ctx_format::problems::NamedRule;
use ctx_format::{Class, Dialect, Message, Outline, Record, Validator};
use ctx_policy::trigger::Size;

use self::batch::Checking;
use self::understood::{Listing, Understood};

use crate::Session;
use crate::estimate::CalibrationPass;
use crate::in_turn::InTurn;
pub use finding::{Fault, Finding, Remark};
pub use limits::Limits;
pub use repair::{RepairPass, RepairedSession};
pub use report::Report;
pub use told::{Told, ToldDue, ToldRepair};

/// Options of a check.
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
    /// How many threads check the conversations of a batch.
    pub threads: usize,
    /// Set if tokens and bytes of results are asked for.
    pub counter: Option<MessageCounter>,
    /// Whether the usage that an agent has recorded says how large its session is.
    pub calibrate: bool,
}

/// Checks the records of a session.
pub struct CheckPass<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    /// The session, unless it is a batch.
    conversation: Option<ConversationCheck>,
    /// The conversations of a batch.
    batch: Option<Batch>,
    /// Set where the size is what an agent has recorded.
    calibration: Option<CalibrationPass>,
    understood: Understood<'p>,
    report: Report,
}

/// The checker of the conversations of a batch.
enum Batch {
    Here(Checking),
    Threads(InTurn<Checking>),
}

impl Plan {
    fn listing(&self) -> Listing<'_> {
        Listing { all: self.all, allow: &self.allow }
    }
}

/// A conversation, as far as it was checked.
struct ConversationCheck {
    validator: Validator,
    size: Size,
}

impl ConversationCheck {
    fn new(dialect: &dyn Dialect) -> Self {
        Self { validator: Validator::new(dialect.rules()), size: Size::default() }
    }

    /// Adds a message. Returns its tokens if they are needed.
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
            return Some(crate::counter::add_to_size(&mut self.size, outline, &message, counter));
        }
        self.size.add_outline(outline);
        None
    }

    /// The end of a conversation; `line` is its line in a batch.
    fn close(self, line: Option<u64>, plan: &Plan, report: &mut Report) {
        let Self { validator, size } = self;
        let (mut problems, open) = validator.finish_with_open();
        if plan.strict {
            problems.extend(open);
        } else {
            report.open += open.len();
        }
        for problem in problems {
            report.add(problem.into(), plan.listing());
        }
        report.findings.extend(plan.limits.exceeded(&size, line));
        report.size = size;
    }
}

impl Batch {
    fn start(plan: &Plan, dialect: &'static dyn Dialect) -> Self {
        let plan = plan.clone();
        let threads = plan.threads;
        let checking = Checking { plan, dialect };
        if threads > 1 {
            return Self::Threads(InTurn::start_on(threads, checking, Report::default()));
        }
        Self::Here(checking)
    }
}

impl<'p> CheckPass<'p> {
    /// A new check.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        let log = dialect.filter(|dialect| !plan.batch && dialect.is_linked());
        let counter = plan.counter.filter(|_| plan.calibrate && log.is_some());
        Self {
            plan,
            dialect,
            calibration: counter.map(|counter| CalibrationPass::new(counter, dialect)),
            conversation: dialect.filter(|_| !plan.batch).map(ConversationCheck::new),
            batch: dialect.filter(|_| plan.batch).map(|dialect| Batch::start(plan, dialect)),
            understood: Understood::new(
                dialect,
                plan.listing(),
                plan.limits.bad_lines,
                plan.strict,
            ),
            report: Report { dialect: dialect.map(Dialect::name), ..Report::default() },
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) {
        if record.piece.begins() {
            self.report.records += 1;
            if record.class.is_bad() || record.class == Class::Tail {
                self.understood.damage(record, self.plan.batch, &mut self.report);
            }
        }
        let object = record.whole_object();
        if let (Some(batch), Some(object)) = (&mut self.batch, object) {
            match batch {
                Batch::Here(checking) => {
                    let found = checking.conversation(record.line, object);
                    self.report.merge(found, self.plan.listing());
                }
                Batch::Threads(threads) => {
                    let text = object.text();
                    threads.push((record.line, text.to_owned()), text.len());
                }
            }
            return;
        }
        let Some(session) = &mut self.conversation else {
            self.understood.record(record, false, &mut self.report);
            return;
        };
        let outline = record.outline(self.dialect);
        self.understood.record(record, outline.is_some(), &mut self.report);
        let mut tokens = None;
        if let Some(outline) = outline {
            let message = || record.message(self.dialect);
            tokens = session.push(record.line, &outline, self.plan, message);
        }
        if let Some(calibration) = self.calibration.as_mut().filter(|_| object.is_some()) {
            calibration.push(record, tokens);
        }
    }

    /// The report about `session` after all its records.
    pub fn finish(mut self, session: &Session) -> Report {
        let (plan, mut report) = (self.plan, self.report);
        if let Some(mut conversation) = self.conversation.take() {
            if let Some(calibration) = self.calibration.take().map(CalibrationPass::finish) {
                let estimate = calibration.estimate;
                conversation.size.calibrated = estimate.map(|estimate| estimate.tokens);
                conversation.size.window = calibration.window;
            }
            conversation.close(None, plan, &mut report);
        }
        if let Some(Batch::Threads(threads)) = self.batch {
            report.merge(threads.finish(), plan.listing());
        }
        self.understood.finish(session, plan.batch, &mut report);
        report.add_flaws(session.flaws(), plan.strict, plan.listing());
        report.findings.sort();
        report.bad = session.bad().clone();
        report
    }
}

#[cfg(test)]
mod tests;
