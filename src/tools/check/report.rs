//! One file, checked.

use std::path::Path;

use ctx_cli::{Failure, Io};
use ctx_select::trigger::Size;
use ctx_transcript::{
    Class, Conversation, Dialect, Message, Object, Outline, Piece, Record, Validator,
};

use super::finding::{Finding, Kind};
use super::{Args, Plan};
use crate::session::{ReadArgs, report_bad};
use ctx_passes::{BadLines, Invalid};

/// What was found in a file.
pub(super) struct Report {
    /// As the user named it.
    pub(super) name: String,
    /// `None` for an empty file.
    pub(super) dialect: Option<&'static str>,
    /// Offences by line, then exceeded limits.
    pub(super) findings: Vec<Finding>,
    /// Calls at the end that wait for their results.
    pub(super) open: usize,
    pub(super) size: Size,
    pub(super) records: u64,
    pub(super) bad: BadLines,
    /// The line of a tail that is still being written.
    pub(super) tail: Option<u64>,
    /// With `--batch`: objects that hold no list of messages.
    no_conversation: u64,
}

impl Report {
    /// Reads one operand; with its name.
    pub(super) fn of(path: &Path, args: &Args, plan: &Plan) -> (String, Result<Self, Failure>) {
        let name = match path.to_str() {
            Some("-") => ctx_cli::STDIN_NAME.to_owned(),
            _ => path.display().to_string(),
        };
        (name, read(path, args, plan))
    }

    pub(super) fn is_legal(&self) -> bool {
        self.offences() == 0
    }

    pub(super) fn offences(&self) -> usize {
        let offences = self.findings.iter();
        offences
            .filter(|finding| finding.kind == Kind::Offence)
            .count()
    }

    /// The findings that are shown: of the offences the first, unless `all`.
    pub(super) fn shown(&self, all: bool) -> impl Iterator<Item = &Finding> {
        let offences = self.offences();
        let shown = move |at: usize| all || at == 0 || at >= offences;
        let findings = self.findings.iter().enumerate();
        findings.filter_map(move |(at, finding)| shown(at).then_some(finding))
    }

    /// Warns of what is no offence and still odd.
    pub(super) fn warn(&self, invalid: Invalid, io: &mut Io) {
        let name = &self.name;
        if invalid != Invalid::Fail {
            report_bad(&self.bad, name, io);
            if let Some(line) = self.tail {
                io.warn(format_args!(
                    "{name}:{line}: the last line is not complete and is left out"
                ));
            }
        }
        if self.no_conversation > 0 {
            io.warn(format_args!(
                "{name}: lines that hold no conversation (\"messages\"): {}",
                self.no_conversation
            ));
        }
    }
}

fn read(path: &Path, args: &Args, plan: &Plan) -> Result<Report, Failure> {
    // Bad lines are findings here, not failures.
    let lenient = ReadArgs {
        invalid: Invalid::Keep,
        ..args.read.clone()
    };
    let mut session = lenient.open(path)?;
    let dialect = session.dialect();
    let mut reading = Reading::new(&session.name, dialect, args, plan);
    session.each(|record| reading.record(record))?;
    let mut report = reading.finish();
    report.bad = session.bad().clone();
    Ok(report)
}

/// A file in the reading.
struct Reading<'a> {
    args: &'a Args,
    plan: &'a Plan,
    dialect: Option<&'static dyn Dialect>,
    /// The session; with `--batch` none of it is used.
    conversation: Option<(Validator, Size)>,
    report: Report,
}

impl<'a> Reading<'a> {
    fn new(
        name: &str,
        dialect: Option<&'static dyn Dialect>,
        args: &'a Args,
        plan: &'a Plan,
    ) -> Self {
        let begin = |dialect: &dyn Dialect| (Validator::new(dialect.rules()), Size::default());
        Self {
            args,
            plan,
            dialect,
            conversation: dialect.filter(|_| !args.read.batch).map(begin),
            report: Report {
                name: name.to_owned(),
                dialect: dialect.map(Dialect::name),
                findings: Vec::new(),
                open: 0,
                size: Size::default(),
                records: 0,
                bad: BadLines::default(),
                tail: None,
                no_conversation: 0,
            },
        }
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        let begins = matches!(record.piece, Piece::Whole | Piece::First);
        self.report.records += u64::from(begins);
        if begins {
            self.damage(record);
        }
        let Some(object) = record.whole_object() else {
            return Ok(());
        };
        let Some(dialect) = self.dialect else {
            return Err(Failure::new("no message of a known format")
                .at(&self.report.name, Some(record.line))
                .hint("--dialect or --batch says how to read it"));
        };
        if self.args.read.batch {
            self.batch(record.line, object, dialect);
        } else if let (Some((validator, size)), Some(outline)) =
            (&mut self.conversation, record.outline(self.dialect))
        {
            validator.push(record.line, &outline);
            measure(size, &outline, self.plan, || record.message(self.dialect));
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
        if self.args.read.invalid == Invalid::Fail {
            self.report.findings.push(Finding::of_line(rule, record));
        }
    }

    fn batch(&mut self, line: u64, object: &Object<'_>, dialect: &dyn Dialect) {
        let Some(conversation) = Conversation::of(object) else {
            self.report.no_conversation += 1;
            return;
        };
        let (mut validator, mut size) = (Validator::new(dialect.rules()), Size::default());
        for object in &conversation.messages {
            if let Some(outline) = dialect.outline(object) {
                validator.push(line, &outline);
                measure(&mut size, &outline, self.plan, || dialect.message(object));
            }
        }
        self.close(validator, &size, Some(line));
    }

    /// The end of a conversation; `line` is its line in a batch.
    fn close(&mut self, validator: Validator, size: &Size, line: Option<u64>) {
        let report = &mut self.report;
        let (offences, open) = validator.finish_with_open();
        report
            .findings
            .extend(offences.into_iter().map(Finding::from));
        if self.args.strict {
            report.findings.extend(open.into_iter().map(Finding::from));
        } else {
            report.open += open.len();
        }
        report
            .findings
            .extend(self.args.limits.exceeded(size, line));
        report.size.messages += size.messages;
        report.size.turns += size.turns;
        report.size.tokens += size.tokens;
        report.size.tool_bytes += size.tool_bytes;
    }

    fn finish(mut self) -> Report {
        if let Some((validator, size)) = self.conversation.take() {
            self.close(validator, &size, None);
        }
        self.report.size.overflow = self.args.triggers.overflow;
        self.report.findings.sort();
        self.report
    }
}

fn measure<'m>(
    size: &mut Size,
    outline: &Outline<'_>,
    plan: &Plan,
    message: impl FnOnce() -> Option<Message<'m>>,
) {
    match plan.measure.then(message).flatten() {
        Some(message) => size.add(outline, &message, &plan.counting.counter),
        None => size.add_outline(outline),
    }
}
