//! The findings of a check.

use ctx_format::Problem;
use serde::Serialize;

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The API would refuse the session, or the file is damaged.
    Problem,
    /// A limit is exceeded.
    Limit,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The kind of problem.
    #[serde(skip)]
    pub fault: Fault,
    /// The line; `None` for what is wrong with the session as a whole.
    pub line: Option<u64>,
    /// A word for programs.
    pub rule: &'static str,
    /// The id of the tool call.
    pub id: Option<String>,
    /// The message for people.
    pub message: String,
}

impl Finding {
    /// A problem against `rule`.
    pub(super) fn problem(line: Option<u64>, rule: &'static str, message: String) -> Self {
        Self { fault: Fault::Problem, line, rule, id: None, message }
    }
}

/// A remark: something odd that does not keep a session from continuing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The finding.
    pub finding: Finding,
    /// Whether the user should know in any case.
    pub is_warning: bool,
}

impl From<Problem> for Finding {
    fn from(problem: Problem) -> Self {
        Self {
            fault: Fault::Problem,
            line: (problem.line > 0).then_some(problem.line),
            rule: problem.rule.as_str(),
            message: problem.why(),
            id: Some(problem.id).filter(|id| !id.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
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
