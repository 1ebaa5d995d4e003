//! The report from a check.

use std::collections::BTreeMap;

use ctx_format::{Problem, counted};
use ctx_policy::trigger::Size;
use serde::Serialize;

use super::Plan;
use crate::{BadLines, Level, Notes};

/// The result of checking a session.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The name of the dialect, or `None` if the session is empty or its dialect is unknown.
    pub dialect: Option<&'static str>,
    /// The problems, sorted by line, followed by the exceeded limits.
    pub findings: Vec<Finding>,
    /// The number of unanswered calls at the end of the session.
    pub open: usize,
    /// The size of the session.
    pub size: Size,
    /// The total number of records of any kind.
    pub records: u64,
    /// Lines that are not JSON objects.
    pub bad: BadLines,
    /// The line number of an incomplete last line.
    pub tail: Option<u64>,
    /// Irregularities in an agent's log that do not keep the session from being continued.
    pub remarks: Vec<Remark>,
    /// For each rule whose violations are allowed, the number of problems.
    pub allowed: BTreeMap<&'static str, usize>,
    /// Whether there are more bad lines than allowed.
    pub(super) has_bad_lines: bool,
    /// For each rule, the number of problems omitted from `findings`. Unless all problems are
    /// requested, `findings` lists only the first problem for each rule.
    pub(super) unlisted: BTreeMap<&'static str, usize>,
}

impl Report {
    /// Returns the number of problems, including those that are not listed.
    pub fn problems(&self) -> usize {
        self.count(Fault::Problem) + self.unlisted.values().sum::<usize>()
    }

    /// Returns the number of exceeded limits.
    pub fn exceeded(&self) -> usize {
        self.count(Fault::Limit)
    }

    fn count(&self, fault: Fault) -> usize {
        self.findings.iter().filter(|finding| finding.fault == fault).count()
    }

    /// Returns true if the check has found a violation of the rule, even an allowed one.
    pub(super) fn has(&self, rule: &str) -> bool {
        let is_it = |finding: &Finding| finding.rule == rule;
        self.allowed.contains_key(rule) || self.findings.iter().any(is_it)
    }

    /// Adds a problem to the report. If violations of the rule are allowed or the rule is already
    /// listed, the problem is only counted, because every line in a long session may have a
    /// problem.
    pub(super) fn add(&mut self, finding: Finding, plan: &Plan) {
        let rule = finding.rule;
        if plan.allow.iter().any(|allowed| allowed.name == rule) {
            *self.allowed.entry(rule).or_default() += 1;
            return;
        }
        let mut listed = self.findings.iter_mut();
        match listed.find(|it| it.rule == rule).filter(|_| !plan.all) {
            None => self.findings.push(finding),
            Some(first) => {
                *self.unlisted.entry(rule).or_default() += 1;
                if finding < *first {
                    *first = finding;
                }
            }
        }
    }

    /// Adds a remark for each rule that has a violation, which only some models refuse.
    pub(super) fn add_remarks(&mut self, problems: Vec<Problem>) {
        for problem in problems {
            let finding = Finding::from(problem);
            if self.remarks.iter().all(|it| it.finding.rule != finding.rule) {
                self.remarks.push(Remark { finding, is_warning: false });
            }
        }
    }

    /// Adds the report on other conversations in the same batch.
    pub(super) fn merge(&mut self, other: Self, plan: &Plan) {
        for finding in other.findings {
            match finding.fault {
                Fault::Problem => self.add(finding, plan),
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
        self.size.system_messages += other.size.system_messages;
        self.size.turns += other.size.turns;
        self.size.tokens += other.size.tokens;
        self.size.tool_bytes += other.size.tool_bytes;
    }

    /// Returns the findings to show. Only the first problem and the exceeded limits are shown
    /// unless `all` is set.
    pub fn shown(&self, all: bool) -> impl Iterator<Item = &Finding> {
        let problems = self.count(Fault::Problem);
        let shown = move |at: usize| all || at == 0 || at >= problems;
        let findings = self.findings.iter().enumerate();
        findings.filter_map(move |(at, finding)| shown(at).then_some(finding))
    }

    /// Warns about irregularities that are not problems.
    pub fn warn(&self, notes: &mut Notes) {
        if !self.has_bad_lines {
            self.bad.report(notes);
        }
        if let Some(line) = self.tail.filter(|_| !self.has("torn-tail")) {
            notes.warn_at(line, "the last line is incomplete and was left out");
        }
        for Remark { finding, is_warning } in &self.remarks {
            let level = if *is_warning { Level::Warning } else { Level::Info };
            let line = finding.line.as_slice();
            notes.add(level, line, format_args!("{}: {}", finding.rule, finding.message));
        }
        for (rule, count) in &self.allowed {
            let problems = counted(*count as u64, "problem");
            notes.add(Level::Info, &[], format_args!("{problems} allowed: {rule}"));
        }
    }
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The API would reject the session, or the file is damaged.
    Problem,
    /// A limit is exceeded.
    Limit,
}

/// A problem or exceeded limit found by a check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// Whether the finding is a problem or an exceeded limit.
    #[serde(skip)]
    pub fault: Fault,
    /// The line, or `None` for a finding about the session as a whole.
    pub line: Option<u64>,
    /// The name of the violated rule, for programs.
    pub rule: &'static str,
    /// The id of the tool call that the finding is about, if there is one.
    pub id: Option<String>,
    /// A description of what is wrong.
    pub message: String,
}

impl Finding {
    /// Creates a finding about a line that violates `rule`.
    pub(crate) fn problem(line: Option<u64>, rule: &'static str, message: String) -> Self {
        Self { fault: Fault::Problem, line, rule, id: None, message }
    }
}

/// An irregularity that does not keep the session from being continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The irregularity and its line.
    pub finding: Finding,
    /// Whether to show the irregularity as a warning.
    pub is_warning: bool,
}

impl From<Problem> for Finding {
    fn from(problem: Problem) -> Self {
        Self {
            fault: Fault::Problem,
            line: (problem.line > 0).then_some(problem.line),
            rule: problem.rule.into(),
            message: problem.why(),
            id: Some(problem.id).filter(|id| !id.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::problems::rule;

    use super::{Fault, Finding, Plan, Report};
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
            let mut notes = Notes::default();
            report.warn(&mut notes);
            notes.take().len()
        };
        assert_eq!(warned(&report), 1);
        let torn = Finding::problem(Some(3), "torn-tail", String::new());
        report.add(torn, &Plan::default());
        assert_eq!(warned(&report), 0);
    }

    /// An allowed finding is counted and reported, but is not a problem.
    #[test]
    fn of_each_rule_the_first_problem_is_kept_and_all_are_counted() {
        let allow = [rule("bad-line").expect("a rule")];
        let listed = |all| {
            let mut report = Report::default();
            let plan = Plan { all, allow: allow.to_vec(), ..Plan::default() };
            for (line, rule) in
                [(1, "bad-line"), (3, "unread-part"), (2, "unread-part"), (4, "bad-line")]
            {
                report.add(Finding::problem(Some(line), rule, String::new()), &plan);
            }
            let lines = report.findings.iter().filter_map(|it| it.line);
            (lines.collect::<Vec<_>>(), report.problems(), report.allowed["bad-line"])
        };
        assert_eq!(listed(false), (vec![2], 2, 2));
        assert_eq!(listed(true), (vec![3, 2], 2, 2));
    }
}

#[cfg(test)]
mod finding_tests {
    use ctx_format::{Problem, Rule};

    use super::{Fault, Finding};

    #[test]
    fn a_problem_has_a_line_and_an_id_where_it_is_about_them() {
        let problem = |line, id: &str| {
            Finding::from(Problem { line, rule: Rule::OrphanResult, id: id.to_owned() })
        };
        let found = problem(7, "c1");
        assert_eq!((found.line, found.id.as_deref()), (Some(7), Some("c1")));
        assert_eq!(found.rule, "orphan-result");
        let found = problem(0, "");
        assert_eq!((found.line, found.id), (None, None));
    }

    #[test]
    fn problems_come_by_line_before_limits() {
        let finding =
            |fault, line| Finding { fault, line, rule: "", id: None, message: String::new() };
        let sorted = [
            finding(Fault::Problem, Some(2)),
            finding(Fault::Problem, Some(10)),
            finding(Fault::Limit, None),
        ];
        assert!(sorted.is_sorted());
    }
}
