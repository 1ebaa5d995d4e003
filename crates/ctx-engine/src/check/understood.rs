//! Checks whether a session is fully understood. Finds bad lines, objects that look like messages
//! but cannot be read, and sessions without messages.

use ctx_format::repair::Salvage;
use ctx_format::{Class, Dialect, Effect, Flaw, Foreign, Object, Record, Unread};

use super::{Finding, Plan, Remark, Report};
use crate::Session;

/// Checks whether each record in a session is understood.
pub(super) struct Understood<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    /// The bad lines so far, stored only as long as their number is within the limit.
    bad: Vec<Remark>,
    bad_lines: u64,
    /// The line number of the first JSON object.
    first: Option<u64>,
    has_message: bool,
}

impl<'p> Understood<'p> {
    pub(super) fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        Self { plan, dialect, bad: Vec::new(), bad_lines: 0, first: None, has_message: false }
    }

    /// Records a bad line or an incomplete last line. In an agent's log, the finding also says what
    /// the agent does with such a line.
    pub(super) fn damage(&mut self, record: &Record<'_>, report: &mut Report) {
        let log = self.dialect.filter(|it| it.is_log() && !self.plan.batch);
        let damage = log.map(|dialect| damage(record, dialect));
        let what = damage.as_ref().map_or_else(String::new, |(_, what)| format!(": {what}"));
        let message = record.why_bad() + &what;
        let is_warning = damage.is_some_and(|(effect, _)| effect.is_problem());
        let of = |rule| Remark {
            finding: Finding::problem(Some(record.line), rule, message),
            is_warning,
        };
        if record.class == Class::Tail {
            report.tail = Some(record.line);
            let remark = of("torn-tail");
            if self.plan.strict || is_warning {
                report.add(remark.finding, self.plan);
            } else if log.is_some() {
                report.remarks.push(remark);
            }
            return;
        }
        self.bad_lines += 1;
        self.bad.push(of("bad-line"));
        if self.bad_lines > self.plan.limits.bad_lines {
            for remark in self.bad.drain(..) {
                report.add(remark.finding, self.plan);
            }
        }
    }

    /// Checks that the agent can append to the last record.
    pub(super) fn end(&self, record: &Record<'_>, report: &mut Report) {
        let log = self.dialect.filter(|_| !self.plan.batch).and_then(Dialect::log);
        let Some((effect, what)) = log.and_then(|log| log.on_damage("no-line-end")) else { return };
        let what = format!("a last line without a line ending: {what}");
        let finding = Finding::problem(Some(record.line), "no-line-end", what);
        if effect.is_problem() {
            report.add(finding, self.plan);
        } else {
            report.remarks.push(Remark { finding, is_warning: true });
        }
    }

    /// Checks a complete record of a session. `is_message` is true if the record is a message in
    /// the context.
    pub(super) fn record(&mut self, record: &Record<'_>, is_message: bool, report: &mut Report) {
        let Some(object) = record.whole_object() else { return };
        self.first.get_or_insert(record.line);
        let Some(dialect) = self.dialect else { return };
        self.has_message = self.has_message || is_message || dialect.outline(object).is_some();
        if let Some(found) = record.unread(dialect) {
            let finding = unread((record.line, None), object, found, self.dialect, report);
            report.add(finding, self.plan);
        }
    }

    /// Finishes checking the session. Input without a message is not a session.
    pub(super) fn finish(self, session: &Session, report: &mut Report) {
        let is_batch = self.plan.batch;
        let of_log = self.dialect.is_some_and(Dialect::is_log) && !is_batch;
        report.remarks.extend(self.bad.into_iter().filter(|_| of_log));
        report.has_bad_lines = self.bad_lines > self.plan.limits.bad_lines;
        let is_batch = is_batch && self.dialect.is_some();
        if self.has_message || is_batch {
            return;
        }
        if session.records.is_other_document {
            // The input is a single JSON value, so its lines are not bad lines.
            report.findings.retain(|finding| finding.rule != "bad-line");
            report.unlisted.remove("bad-line");
        }
        let what = match self.dialect {
            Some(dialect) => format!("no message of {}", dialect.name()),
            None if self.first.is_none() => "the input has no message".to_owned(),
            None => "no message of a known format".to_owned(),
        };
        report.add(Finding::problem(self.first, "no-message", what), self.plan);
    }
}

/// Returns the finding about a part of a line that is not understood. In a batch, `number` is the
/// 0-based index of the message in its conversation.
pub(super) fn unread(
    (line, number): (u64, Option<usize>),
    object: &Object<'_>,
    found: Unread,
    dialect: Option<&'static dyn Dialect>,
    report: &Report,
) -> Finding {
    let rule = found.rule.into();
    let mut message = match number {
        Some(number) => format!("message {}: {found}", number + 1),
        None => found.why,
    };
    // It is enough to explain the foreign format once per session.
    if !report.has(rule)
        && let Some(foreign) = dialect.and_then(|own| Foreign::of(object, own))
    {
        message = format!("{message}: {foreign}; {}", foreign.remedy);
    }
    Finding::problem(Some(line), rule, message)
}

impl Report {
    /// Adds the flaws that the dialect found, sorted by line. If the plan is strict, an unanswered
    /// call at the end of the session is a problem.
    pub(super) fn add_flaws(&mut self, flaws: &[(u64, Flaw)], plan: &Plan) {
        for (line, flaw) in flaws {
            let is_waiting = flaw.effect == Effect::Waits;
            if is_waiting && !plan.strict {
                self.open += 1;
                continue;
            }
            let finding = Finding {
                id: flaw.id.clone(),
                ..Finding::problem(Some(*line), flaw.rule, flaw.message.clone())
            };
            if is_waiting || flaw.effect.is_problem() {
                self.add(finding, plan);
            } else {
                let is_warning = flaw.effect == Effect::Ignored;
                self.remarks.push(Remark { finding, is_warning });
            }
        }
    }
}

/// Returns the effect of a damaged line, and a description of what the agent does with it.
pub(super) fn damage(record: &Record<'_>, dialect: &dyn Dialect) -> (Effect, String) {
    let text = String::from_utf8_lossy(record.bytes);
    let begins_whole = record.class != Class::NotUtf8 && Object::parse(&text).is_ok();
    let class = match record.class {
        Class::Broken | Class::Nul if begins_whole => Class::Concatenated,
        class => class,
    };
    let said = dialect.log().and_then(|log| log.on_damage(class.into()));
    let passed_over = "the agent skips the line";
    let (effect, what) = said.unwrap_or((Effect::Lost, passed_over));
    if effect != Effect::Lost {
        return (effect, what.to_owned());
    }
    let salvage = Salvage::of(record, dialect).filter(|_| record.class.is_bad());
    // If the agent reads only the first of several objects in a line, the other objects are lost.
    let read = usize::from(said.is_some());
    let lines = salvage.map(|salvage| salvage.lines).unwrap_or_default();
    let is_message = |line: &&String| {
        let object = Object::parse(line);
        object.is_ok_and(|object| dialect.outline(&object).is_some())
    };
    let lost = lines.iter().skip(read).filter(is_message).count();
    match lost {
        0 => (Effect::Harmless, what.to_owned()),
        1 => (Effect::Lost, format!("{what}, so a message is lost")),
        _ => (Effect::Lost, format!("{what}, so {lost} messages are lost")),
    }
}
