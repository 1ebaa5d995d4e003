//! All rules by which something is found wrong with a session, with their names: one table for
//! reports, flags and documentation.

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRule {
    /// Its name in reports.
    pub name: &'static str,
    /// What is wrong where it is broken.
    pub what: &'static str,
    /// Whether it may be an offence; else it is only told.
    pub may_be_offence: bool,
}

const fn offence(name: &'static str, what: &'static str) -> NamedRule {
    NamedRule {
        name,
        what,
        may_be_offence: true,
    }
}

const fn told(name: &'static str, what: &'static str) -> NamedRule {
    NamedRule {
        may_be_offence: false,
        ..offence(name, what)
    }
}

/// All of them, in the order of the alphabet.
pub const RULES: [NamedRule; 25] = [
    offence("bad-line", "a line that is not one JSON object"),
    offence(
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
    offence(
        "item-not-read",
        "an item of a shape that Codex does not load",
    ),
    offence(
        "kept-entry-missing",
        "the first entry that a compaction keeps is not above it",
    ),
    offence(
        "kept-lines-missing",
        "lines that a compaction keeps are not in the file",
    ),
    offence("missing-parent", "the parent of a line is not in the file"),
    offence(
        "no-header",
        "the header is missing without which the agent loads nothing",
    ),
    offence(
        "no-message",
        "no message of a known format, or no message at all",
    ),
    offence(
        "no-ordinal",
        "the last line of a paginated file of Codex has no ordinal",
    ),
    offence(
        "no-timestamp",
        "a line without a time, which Codex passes over",
    ),
    offence(
        "orphan-result",
        "a result that answers no call where it stands",
    ),
    offence(
        "parent-loop",
        "a line that hangs on itself by way of others",
    ),
    offence("repeated-call-id", "two calls of one reply with one id"),
    told("repeated-id", "a line whose id a later one has as well"),
    offence(
        "rewind-to-nowhere",
        "the Gemini CLI is to go back to a message that is not there",
    ),
    told(
        "second-root",
        "a conversation that begins anew behind other lines",
    ),
    offence(
        "torn-tail",
        "a last line that is not complete, with --strict",
    ),
    offence("unanswered-call", "a call without its result"),
    offence("unknown-item", "a record whose type is none of the format"),
    offence("unknown-role", "a message whose role is none of the format"),
    offence(
        "unread-part",
        "a part of a message that is of no kind that is read",
    ),
    offence("user-first", "the first message is not the user's"),
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
            assert!(rule(name).is_some_and(|rule| rule.may_be_offence), "{name}");
        }
        assert!(rule("no-such-rule").is_none());
    }
}
