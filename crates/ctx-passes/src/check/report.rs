//! What a check found.

use ctx_select::trigger::Size;

use super::{Fault, Finding, Remark};
use crate::count::warn_no_conversation;
use crate::{BadLines, Level, Notes};

/// What was found in a session.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// `None` for an empty one.
    pub dialect: Option<&'static str>,
    /// Offences by line, then exceeded limits.
    pub findings: Vec<Finding>,
    /// Calls at the end that wait for their results.
    pub open: usize,
    /// How large it is.
    pub size: Size,
    /// Records, whatever they hold.
    pub records: u64,
    /// Lines that are no JSON object.
    pub bad: BadLines,
    /// The line of a tail that is still being written.
    pub tail: Option<u64>,
    /// What else there is to say of a log.
    pub remarks: Vec<Remark>,
    /// In a batch: objects that hold no list of messages.
    pub(super) no_conversation: u64,
}

impl Report {
    /// How many of the findings are offences.
    pub fn offences(&self) -> usize {
        self.count(Fault::Offence)
    }

    /// How many limits are exceeded.
    pub fn exceeded(&self) -> usize {
        self.count(Fault::Limit)
    }

    fn count(&self, fault: Fault) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.fault == fault).count()
    }

    /// The findings that are shown: of the offences the first, unless `all`.
    pub fn shown(&self, all: bool) -> impl Iterator<Item = &Finding> {
        let offences = self.offences();
        let shown = move |at: usize| all || at == 0 || at >= offences;
        let findings = self.findings.iter().enumerate();
        findings.filter_map(move |(at, finding)| shown(at).then_some(finding))
    }

    /// Warns of oddities that do not count as offences.
    pub fn warn(&self, bad_lines: bool, notes: &mut Notes) {
        if !bad_lines {
            self.bad.report(notes);
            if let Some(line) = self.tail {
                notes.warn(&[line], "the last line is not complete and is left out");
            }
        }
        for Remark {
            finding,
            is_warning,
        } in &self.remarks
        {
            let level = if *is_warning {
                Level::Warning
            } else {
                Level::Info
            };
            let line = finding.line.as_slice();
            notes.add(
                level,
                line,
                format_args!("{}: {}", finding.rule, finding.message),
            );
        }
        warn_no_conversation(self.no_conversation, notes);
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Finding, Report};
    use crate::Notes;

    fn report(faults: &[Fault]) -> Report {
        let finding = |(line, fault): (u64, &Fault)| Finding {
            fault: *fault,
            line: Some(line),
            rule: "",
            id: None,
            message: String::new(),
        };
        Report {
            findings: (1..).zip(faults).map(finding).collect(),
            ..Report::default()
        }
    }

    #[test]
    fn of_the_offences_the_first_is_shown_and_every_limit() {
        let (offence, limit) = (Fault::Offence, Fault::Limit);
        let shown = |report: &Report, all| {
            let lines = report.shown(all).filter_map(|finding| finding.line);
            lines.collect::<Vec<_>>()
        };
        let both = report(&[offence, offence, offence, limit, limit]);
        assert_eq!((both.offences(), both.exceeded()), (3, 2));
        assert_eq!(shown(&both, false), [1, 4, 5]);
        assert_eq!(shown(&both, true), [1, 2, 3, 4, 5]);
        assert_eq!(shown(&report(&[limit, limit]), false), [1, 2]);
        assert!(shown(&Report::default(), false).is_empty());
    }

    #[test]
    fn what_was_asked_for_as_an_offence_is_no_warning() {
        let report = Report {
            tail: Some(3),
            no_conversation: 1,
            ..Report::default()
        };
        let warned = |bad_lines| {
            let mut notes = Notes::new();
            report.warn(bad_lines, &mut notes);
            notes.take().len()
        };
        assert_eq!((warned(false), warned(true)), (2, 1));
    }
}
