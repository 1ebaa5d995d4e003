//! The report of a check.

use std::collections::BTreeMap;

use ctx_policy::trigger::Size;

use super::understood::Listing;
use super::{Fault, Finding, Remark};
use crate::{BadLines, Level, Notes};
use ctx_format::counted;

/// The report about a session.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// `None` for an empty one.
    pub dialect: Option<&'static str>,
    /// Problems by line, then exceeded limits.
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
    /// Remarks about a log.
    pub remarks: Vec<Remark>,
    /// How many problems were allowed, by their rule.
    pub allowed: BTreeMap<&'static str, usize>,
    /// For a session in an unknown dialect, the line of the first object.
    pub unknown: Option<u64>,
    /// Whether bad lines are more than may be.
    pub(super) has_bad_lines: bool,
    /// Problems that are not among the findings, by their rule: one was enough.
    pub(super) unlisted: BTreeMap<&'static str, usize>,
}

impl Report {
    /// How many of the findings are problems.
    pub fn problems(&self) -> usize {
        self.listed_problems() + self.unlisted.values().sum::<usize>()
    }

    fn listed_problems(&self) -> usize {
        self.count(Fault::Problem)
    }

    /// How many limits are exceeded.
    pub fn exceeded(&self) -> usize {
        self.count(Fault::Limit)
    }

    fn count(&self, fault: Fault) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.fault == fault).count()
    }

    /// Whether a problem against the rule was found, or allowed.
    pub(super) fn has(&self, rule: &str) -> bool {
        let is_it = |finding: &Finding| finding.rule == rule;
        self.allowed.contains_key(rule) || self.findings.iter().any(is_it)
    }

    /// Adds a problem, of which a session may have as many as it has lines.
    pub(super) fn add(&mut self, finding: Finding, listing: Listing<'_>) {
        let rule = finding.rule;
        if listing.allow.iter().any(|allowed| allowed.name == rule) {
            *self.allowed.entry(rule).or_default() += 1;
            return;
        }
        let mut listed = self.findings.iter_mut();
        match listed.find(|it| it.rule == rule).filter(|_| !listing.all) {
            None => self.findings.push(finding),
            Some(first) => {
                *self.unlisted.entry(rule).or_default() += 1;
                if finding < *first {
                    *first = finding;
                }
            }
        }
    }

    /// Adds that of other conversations of the same batch.
    pub(super) fn merge(&mut self, other: Self, listing: Listing<'_>) {
        for finding in other.findings {
            match finding.fault {
                Fault::Problem => self.add(finding, listing),
                Fault::Limit => self.findings.push(finding),
            }
        }
        for (rule, count) in other.unlisted {
            *self.unlisted.entry(rule).or_default() += count;
        }
        for (rule, count) in other.allowed {
            *self.allowed.entry(rule).or_default() += count;
        }
        self.open += other.open;
        self.size.messages += other.size.messages;
        self.size.turns += other.size.turns;
        self.size.tokens += other.size.tokens;
        self.size.tool_bytes += other.size.tool_bytes;
    }

    /// The findings that are shown: of the problems the first, unless `all`.
    pub fn shown(&self, all: bool) -> impl Iterator<Item = &Finding> {
        let problems = self.listed_problems();
        let shown = move |at: usize| all || at == 0 || at >= problems;
        let findings = self.findings.iter().enumerate();
        findings.filter_map(move |(at, finding)| shown(at).then_some(finding))
    }

    /// Warns of oddities that do not count as problems.
    pub fn warn(&self, notes: &mut Notes) {
        if !self.has_bad_lines {
            self.bad.report(notes);
        }
        if let Some(line) = self.tail.filter(|_| !self.has("torn-tail")) {
            notes.warn(&[line], "the last line is not complete and is left out");
        }
        for Remark { finding, is_warning } in &self.remarks {
            let level = if *is_warning { Level::Warning } else { Level::Info };
            let line = finding.line.as_slice();
            notes.add(level, line, format_args!("{}: {}", finding.rule, finding.message));
        }
        for (rule, count) in &self.allowed {
            let problems = counted(*count as u64, "problem");
            let text = format_args!("{problems} allowed: {rule}");
            notes.add(Level::Info, &[], text);
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::problems::rule;

    use super::{Fault, Finding, Listing, Report};
    use crate::Notes;

    fn report(faults: &[Fault]) -> Report {
        let finding = |(line, fault): (u64, &Fault)| Finding {
            fault: *fault,
            line: Some(line),
            rule: "",
            id: None,
            message: String::new(),
        };
        Report { findings: (1..).zip(faults).map(finding).collect(), ..Report::default() }
    }

    #[test]
    fn of_the_problems_the_first_is_shown_and_every_limit() {
        let (problem, limit) = (Fault::Problem, Fault::Limit);
        let shown = |report: &Report, all| {
            let lines = report.shown(all).filter_map(|finding| finding.line);
            lines.collect::<Vec<_>>()
        };
        let both = report(&[problem, problem, problem, limit, limit]);
        assert_eq!((both.problems(), both.exceeded()), (3, 2));
        assert_eq!(shown(&both, false), [1, 4, 5]);
        assert_eq!(shown(&both, true), [1, 2, 3, 4, 5]);
        assert_eq!(shown(&report(&[limit, limit]), false), [1, 2]);
        assert!(shown(&Report::default(), false).is_empty());
    }

    #[test]
    fn what_is_a_problem_is_no_warning() {
        let mut report = Report { tail: Some(3), ..Report::default() };
        let warned = |report: &Report| {
            let mut notes = Notes::new();
            report.warn(&mut notes);
            notes.take().len()
        };
        assert_eq!(warned(&report), 1);
        let torn = Finding::problem(Some(3), "torn-tail", String::new());
        report.add(torn, Listing { all: false, allow: &[] });
        assert_eq!(warned(&report), 0);
    }

    /// What is allowed is counted and reported, and is not a problem.
    #[test]
    fn of_each_rule_the_first_problem_is_kept_and_all_are_counted() {
        let allow = [rule("bad-line").expect("a rule")];
        let listed = |all| {
            let mut report = Report::default();
            let listing = Listing { all, allow: &allow };
            for (line, rule) in
                [(1, "bad-line"), (3, "unread-part"), (2, "unread-part"), (4, "bad-line")]
            {
                report.add(Finding::problem(Some(line), rule, String::new()), listing);
            }
            let lines = report.findings.iter().filter_map(|it| it.line);
            (lines.collect::<Vec<_>>(), report.problems(), report.allowed["bad-line"])
        };
        assert_eq!(listed(false), (vec![2], 2, 2));
        assert_eq!(listed(true), (vec![3, 2], 2, 2));
    }
}
