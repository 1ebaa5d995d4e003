//! All rules by which something is found wrong with a session, with their names: one table for
//! reports, flags and documentation.

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRule {
    /// Its name in reports.
    pub name: &'static str,
    /// What is wrong where it is broken.
    pub what: &'static str,
    /// Whether it may be a problem; else it is only told.
    pub may_be_problem: bool,
}

const fn problem(name: &'static str, what: &'static str) -> NamedRule {
    NamedRule {
        name,
        what,
        may_be_problem: true,
    }
}

const fn told(name: &'static str, what: &'static str) -> NamedRule {
    NamedRule {
        may_be_problem: false,
        ..problem(name, what)
    }
}

/// All of them, in the order of the alphabet.
pub const RULES: [NamedRule; 25] = [
    problem("bad-line", "a line that is not one JSON object"),
    problem(
        "bare-items",
        "items as Codex wrote them before September 2025, which it does not load",
    ),
    told(
        "boundary-off-path",
        "a compaction that the agent does not go on from",
    ),
    told(
        "compaction-not-read",
        "a compaction with an item of a shape that Codex does not load",
    ),
    told(
        "compaction-off-path",
        "a compaction that a rollback has taken back",
    ),
    problem(
        "item-not-read",
        "an item of a shape that Codex does not load",
    ),
    problem(
        "kept-entry-missing",
        "the first entry that a compaction keeps is not above it",
    ),
    problem(
        "kept-lines-missing",
        "lines that a compaction keeps are not in the file",
    ),
    problem("missing-parent", "the parent of a line is not in the file"),
    problem(
        "no-header",
        "the header is missing without which the agent loads nothing",
    ),
    problem(
        "no-message",
        "no message of a known format, or no message at all",
    ),
    problem(
        "no-ordinal",
        "the last line of a paginated file of Codex has no ordinal",
    ),
    problem(
        "no-timestamp",
        "a line without a time, which Codex passes over",
    ),
    problem(
        "orphan-result",
        "a result that answers no call where it stands",
    ),
    problem(
        "parent-loop",
        "a line that hangs on itself by way of others",
    ),
    problem("repeated-call-id", "two calls of one reply with one id"),
    told("repeated-id", "a line whose id a later one has as well"),
    problem(
        "rewind-to-nowhere",
        "the Gemini CLI is to go back to a message that is not there",
    ),
    told(
        "second-root",
        "a conversation that begins anew behind other lines",
    ),
    problem(
        "torn-tail",
        "a last line that is not complete, with --strict",
    ),
    problem("unanswered-call", "a call without its result"),
    problem("unknown-item", "a record whose type is none of the format"),
    problem("unknown-role", "a message whose role is none of the format"),
    problem(
        "unread-part",
        "a part of a message that is of no kind that is read",
    ),
    problem("user-first", "the first message is not the user's"),
];

/// The rule of that name.
pub fn rule(name: &str) -> Option<&'static NamedRule> {
    RULES.iter().find(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::{RULES, rule};
    use crate::{Rule, UnreadRule};

    #[test]
    fn each_rule_is_listed_once_and_found_by_its_name() {
        assert!(RULES.is_sorted_by(|a, b| a.name < b.name));
        let of_pairs = [
            Rule::UnansweredCall,
            Rule::OrphanResult,
            Rule::RepeatedCallId,
            Rule::UserFirst,
        ];
        let unread = [UnreadRule::Role, UnreadRule::Item, UnreadRule::Part];
        let names = of_pairs.map(Rule::as_str).into_iter();
        for name in names.chain(unread.map(UnreadRule::as_str)) {
            assert!(rule(name).is_some_and(|rule| rule.may_be_problem), "{name}");
        }
        assert!(rule("no-such-rule").is_none());
    }
}
