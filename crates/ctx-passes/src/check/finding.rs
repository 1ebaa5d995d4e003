//! What is wrong with a session, one finding each.

use ctx_transcript::Offence;
use serde::Serialize;

/// What is found fault with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The API would refuse the session, or the file is damaged.
    Offence,
    /// A limit is exceeded.
    Limit,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// What kind of wrong it is.
    #[serde(skip)]
    pub fault: Fault,
    /// The line; `None` for what is wrong with the session as a whole.
    pub line: Option<u64>,
    /// A word for programs.
    pub rule: &'static str,
    /// The id of the tool call.
    pub id: Option<String>,
    /// What is wrong, for people.
    pub message: String,
}

impl Finding {
    /// An offence against `rule`.
    pub(super) fn offence(line: Option<u64>, rule: &'static str, message: String) -> Self {
        Self {
            fault: Fault::Offence,
            line,
            rule,
            id: None,
            message,
        }
    }
}

/// What is told beside the findings: not what keeps a session from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What it is about.
    pub finding: Finding,
    /// Whether the user should know in any case.
    pub is_warning: bool,
}

impl From<Offence> for Finding {
    fn from(offence: Offence) -> Self {
        Self {
            fault: Fault::Offence,
            line: (offence.line > 0).then_some(offence.line),
            rule: offence.rule.as_str(),
            message: offence.why(),
            id: Some(offence.id).filter(|id| !id.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Offence, Rule};

    use super::{Fault, Finding};

    #[test]
    fn an_offence_has_a_line_and_an_id_where_it_is_about_them() {
        let offence = |line, id: &str| {
            Finding::from(Offence {
                line,
                rule: Rule::OrphanResult,
                id: id.to_owned(),
            })
        };
        let found = offence(7, "c1");
        assert_eq!((found.line, found.id.as_deref()), (Some(7), Some("c1")));
        assert_eq!(found.rule, "orphan-result");
        let found = offence(0, "");
        assert_eq!((found.line, found.id), (None, None));
    }

    #[test]
    fn offences_come_by_line_before_limits() {
        let finding = |fault, line| Finding {
            fault,
            line,
            rule: "",
            id: None,
            message: String::new(),
        };
        let sorted = [
            finding(Fault::Offence, Some(2)),
            finding(Fault::Offence, Some(10)),
            finding(Fault::Limit, None),
        ];
        assert!(sorted.is_sorted());
    }
}
