//! Checks whether a session is valid and within limits, and measures its size.

mod repair;
mod report;
#[cfg(test)]
mod tests;
mod understood;

use std::borrow::Cow;

use ctx_format::problems::NamedRule;
use ctx_format::{Class, Dialect, Message, Object, Outline, Record, Validator};
use ctx_policy::trigger::Size;
use understood::unread;

use self::understood::Understood;
use crate::estimate::CalibrationPass;
use crate::message_counter::{MessageCounter, add_to_size};
use crate::parallel::{InTurn, Work};
use crate::{Result, Session};

pub(crate) use repair::report_of;
pub use repair::{RepairPass, RepairedSession};
pub use report::{Fault, Finding, Remark, Report};

/// Options for a check.
#[derive(Clone, Default)]
pub struct Plan {
    /// The limits on the size of the session.
    pub limits: Limits,
    /// Whether unanswered calls at the end and an incomplete last line count as problems.
    pub strict: bool,
    /// The rules whose violations are allowed.
    pub allow: Vec<&'static NamedRule>,
    /// The model for which the session must be legal, if not the one that the session states.
    pub model: Option<String>,
    /// Whether to return every problem instead of only the first for each rule.
    pub all: bool,
    /// Whether the input is a batch, in which each record is a whole conversation.
    pub batch: bool,
    /// The number of threads that check the conversations in a batch.
    pub threads: usize,
    /// Counts tokens and the bytes in tool results, if any check needs these counts.
    pub counter: Option<MessageCounter>,
    /// Whether to estimate the size of an agent's session from its recorded usage.
    pub calibrate: bool,
}

/// Checks the records of a session.
pub struct CheckPass<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    /// The check for the session, or `None` for a batch or an unknown dialect.
    conversation: Option<ConversationCheck>,
    /// Checks the conversations in a batch on several threads.
    batch: Option<InTurn<Checking>>,
    /// Estimates the size from recorded usage, if the plan requests this.
    calibration: Option<CalibrationPass>,
    understood: Understood<'p>,
    report: Report,
}

/// Checks one conversation and adds up its size.
struct ConversationCheck {
    validator: Validator,
    size: Size,
}

impl ConversationCheck {
    fn new(dialect: &dyn Dialect, model: Option<String>) -> Self {
        let mut validator = Validator::new(dialect.rules());
        validator.model = model;
        Self { validator, size: Size::default() }
    }

    /// Checks a message, and returns its token count if one is needed.
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
            return Some(add_to_size(&mut self.size, outline, &message, counter));
        }
        self.size.add_outline(outline);
        None
    }

    /// Finishes checking a conversation, and adds its problems to the report. In a batch, `line` is
    /// the conversation's line number.
    fn close(self, line: Option<u64>, plan: &Plan, report: &mut Report) {
        let Self { validator, size } = self;
        let (mut problems, open, remarks) = validator.finish_with_open();
        report.add_remarks(remarks);
        if plan.strict {
            problems.extend(open);
        } else {
            report.open += open.len();
        }
        for problem in problems {
            report.add(problem.into(), plan);
        }
        report.findings.extend(plan.limits.exceeded(&size, line));
        report.size = size;
    }
}

impl<'p> CheckPass<'p> {
    /// Checks all records of `session`.
    pub fn run(plan: &'p Plan, session: &mut Session) -> Result<Report> {
        let mut pass = Self::new(plan, session);
        session.visit(|record| pass.push(record))?;
        Ok(pass.finish(session))
    }

    fn new(plan: &'p Plan, session: &Session) -> Self {
        let dialect = session.dialect();
        let log = dialect.filter(|dialect| !plan.batch && dialect.is_linked());
        let counter = plan.counter.filter(|_| plan.calibrate && log.is_some());
        Self {
            plan,
            dialect,
            calibration: counter.map(|counter| CalibrationPass::new(counter, dialect)),
            conversation: dialect.filter(|_| !plan.batch).map(|dialect| {
                let of_request = || session.records.model.as_deref().map(Into::into);
                let model = plan.model.clone().or_else(of_request);
                ConversationCheck::new(dialect, model)
            }),
            batch: dialect.filter(|_| plan.batch).map(|dialect| {
                let checking = Checking { plan: plan.clone(), dialect };
                InTurn::start_on(plan.threads, checking, Report::default())
            }),
            understood: Understood::new(plan, dialect),
            report: Report { dialect: dialect.map(Dialect::name), ..Report::default() },
        }
    }

    /// Checks the next record.
    fn push(&mut self, record: &Record<'_>) {
        if record.piece.begins() {
            self.report.records += 1;
            if record.class.is_bad() || record.class == Class::Tail {
                self.understood.damage(record, &mut self.report);
            }
        }
        if record.class == Class::Object && record.piece.ends() && record.line_end().is_empty() {
            self.understood.end(record, &mut self.report);
        }
        let object = record.whole_object();
        if let (Some(batch), Some(object)) = (&mut self.batch, object) {
            let text = object.text();
            batch.push((record.line, text.to_owned()), text.len());
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

    /// Returns the report on `session`. Must be called after all records have been pushed.
    fn finish(mut self, session: &Session) -> Report {
        let (plan, mut report) = (self.plan, self.report);
        if let Some(mut conversation) = self.conversation.take() {
            if let Some(calibration) = self.calibration.take().map(CalibrationPass::finish) {
                let estimate = calibration.estimate;
                conversation.size.calibrated = estimate.map(|estimate| estimate.tokens);
                conversation.size.window = calibration.window;
            }
            conversation.close(None, plan, &mut report);
        }
        if let Some(batch) = self.batch {
            report.merge(batch.finish(), plan);
        }
        self.understood.finish(session, &mut report);
        report.add_flaws(session.records.flaws(), plan);
        report.findings.sort();
        report.bad = session.bad.clone();
        report
    }
}

/// Checks the conversations in a batch on several threads.
struct Checking {
    plan: Plan,
    dialect: &'static dyn Dialect,
}

impl Work for Checking {
    /// A conversation's line number and the text of its JSON object.
    type Item = (u64, String);
    type Done = Report;
    type State = Report;

    fn work(&self, portion: &[(u64, String)]) -> Report {
        let mut report = Report::default();
        for (line, text) in portion {
            if let Ok(object) = Object::parse(text) {
                report.merge(self.conversation(*line, &object), &self.plan);
            }
        }
        report
    }

    fn absorb(&self, report: &mut Report, _: &[(u64, String)], done: Report) {
        report.merge(done, &self.plan);
    }
}

impl Checking {
    /// Checks one conversation in a batch.
    fn conversation(&self, line: u64, object: &Object<'_>) -> Report {
        let mut report = Report::default();
        let no_message = |what: &str| Finding::problem(Some(line), "no-message", what.to_owned());
        let Some(messages) = object.conversation() else {
            report.add(no_message("the record has no list of messages"), &self.plan);
            return report;
        };
        let of_file = || object.text_of("model").map(Cow::into_owned);
        let model = self.plan.model.clone().or_else(of_file);
        let mut checked = ConversationCheck::new(self.dialect, model);
        let mut has_message = false;
        for (number, object) in messages.iter().enumerate() {
            if let Some(found) = self.dialect.unread(object) {
                let place = (line, Some(number));
                let finding = unread(place, object, found, Some(self.dialect), &report);
                report.add(finding, &self.plan);
            }
            if let Some(outline) = self.dialect.outline(object) {
                has_message = true;
                checked.push(line, &outline, &self.plan, || self.dialect.message(object));
            }
        }
        if !has_message {
            report.add(no_message("the conversation has no message"), &self.plan);
        }
        checked.close(Some(line), &self.plan, &mut report);
        report
    }
}

/// The limits that a session may not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Limits {
    /// Report sessions with more than N tokens
    #[cfg_attr(feature = "clap", arg(id = "max_tokens", long = "max-tokens", value_name = "N", value_parser = ctx_policy::parse_count, help_heading = "Limits"))]
    pub tokens: Option<u64>,
    /// Report sessions with more than N messages, not counting system messages
    #[cfg_attr(feature = "clap", arg(id = "max_messages", long = "max-messages", value_name = "N", value_parser = ctx_policy::parse_count, help_heading = "Limits"))]
    pub messages: Option<u64>,
    /// Report sessions with more than N bytes of tool results
    #[cfg_attr(feature = "clap", arg(id = "max_tool_bytes", long = "max-tool-bytes", value_name = "N", value_parser = ctx_policy::parse_count, help_heading = "Limits"))]
    pub tool_bytes: Option<u64>,
    /// Allow up to N lines that are not JSON objects
    #[cfg_attr(feature = "clap", arg(id = "max_bad_lines", long = "max-bad-lines", value_name = "N", value_parser = ctx_policy::parse_count, default_value_t, help_heading = "Limits"))]
    pub bad_lines: u64,
}

impl Limits {
    /// Returns true if message content must be decoded to check these limits.
    pub fn need_content(&self) -> bool {
        self.tokens.is_some() || self.tool_bytes.is_some()
    }

    /// Returns the limits exceeded by `size`. In a batch, `line` is the conversation's line number.
    pub fn exceeded(self, size: &Size, line: Option<u64>) -> impl Iterator<Item = Finding> {
        let what_tokens = if size.calibrated.is_some() { "tokens (calibrated)" } else { "tokens" };
        let limits = [
            ("max-tokens", what_tokens, size.context(), self.tokens),
            ("max-messages", "messages", size.conversation(), self.messages),
            ("max-tool-bytes", "bytes of tool results", size.tool_bytes, self.tool_bytes),
        ];
        limits.into_iter().filter_map(move |(rule, what, value, limit)| {
            let limit = limit.filter(|limit| value > *limit)?;
            Some(Finding {
                fault: Fault::Limit,
                line,
                rule,
                id: None,
                message: format!("{value} {what}, {limit} allowed"),
            })
        })
    }
}

#[cfg(test)]
mod limits_tests {
    use ctx_policy::trigger::Size;

    use super::Limits;

    #[test]
    fn a_limit_is_the_last_value_that_is_allowed() {
        let size = Size { tokens: 100, messages: 5, tool_bytes: 7, ..Size::default() };
        let found = |limits: Limits| -> Vec<String> {
            let found = limits.exceeded(&size, Some(3));
            found.map(|finding| finding.message).collect()
        };
        assert!(found(Limits::default()).is_empty());
        let exact =
            Limits { tokens: Some(100), messages: Some(5), tool_bytes: Some(7), bad_lines: 0 };
        assert!(found(exact).is_empty());
        let less =
            Limits { tokens: Some(99), messages: Some(0), tool_bytes: Some(6), bad_lines: 0 };
        assert_eq!(
            found(less),
            [
                "100 tokens, 99 allowed",
                "5 messages, 0 allowed",
                "7 bytes of tool results, 6 allowed"
            ]
        );
    }

    #[test]
    fn a_calibrated_size_is_held_against_the_limit() {
        let size = Size { tokens: 100, calibrated: Some(900), ..Size::default() };
        let limits = Limits { tokens: Some(500), ..Limits::default() };
        let found: Vec<String> = limits.exceeded(&size, None).map(|it| it.message).collect();
        assert_eq!(found, ["900 tokens (calibrated), 500 allowed"]);
    }

    #[test]
    fn the_number_of_messages_needs_no_content() {
        let limits =
            |tokens, messages, tool_bytes| Limits { tokens, messages, tool_bytes, bad_lines: 0 };
        assert!(!limits(None, Some(1), None).need_content());
        assert!(limits(Some(1), None, None).need_content());
        assert!(limits(None, None, Some(1)).need_content());
    }
}
