//! Recognizes what the user says once and means to hold: rules, preferences and decisions, and the
//! values of things.

use std::sync::LazyLock;

use ctx_format::Role;
use ctx_text::{Lists, Matcher, WordSet, is_unspaced};
use strum::{IntoStaticStr, VariantArray};

use crate::ledger::Origin;
use crate::ledger::intent::{asks_for, is_constraint};
use crate::ledger::patterns::{MemoryKind, Sentence};
use crate::ledger::segment::is_drawing;
use crate::ledger::sentence::without_marker;
use crate::ledger::subject::Subject;

pub(super) static LISTS: Lists = Lists::new(include_str!("rules.txt"));
static LABELS_OF_RULES: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("labels of rules"));
static LABELS_OF_FACTS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("labels of facts"));
static LEADS_OF_RULES: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("leads of rules"));
static RULES: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("rules"));
static NO_RULES: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("no rules"));
static ADDRESSED: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("addressed"));
static QUESTIONS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("questions"));
static LIFTS: LazyLock<Matcher> =
    LazyLock::new(|| Matcher::hinted(&LISTS.pattern("lifts"), LISTS.phrases("lifts, hints")));

/// The maximum length of a rule, in bytes.
const LONGEST: usize = 600;
/// The maximum length of a statement without a label that is a fact, in bytes.
const LONGEST_FACT: usize = 160;
/// The maximum length of a label before a statement, in bytes.
const LONGEST_LABEL: usize = 40;

/// What a statement that holds is. The order is that of the sections in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
pub enum RuleKind {
    /// A demand, a ban, a preference or a decision of the user.
    #[strum(serialize = "## Rules")]
    Rule,
    /// A value that the user gave.
    #[strum(serialize = "## Facts")]
    Fact,
    /// A demand in text that the user pasted, whose author may be another person.
    #[strum(serialize = "## Pasted")]
    Pasted,
}

impl RuleKind {
    /// Returns the kind of a statement that has a label such as `RULE:`.
    pub(crate) fn of_label(text: &str) -> Option<Self> {
        let label = labelled(text).0?;
        if is_label_of_rule(label) {
            return Some(Self::Rule);
        }
        is_marked(label).then_some(Self::Fact)
    }

    /// Returns what kind of rule a statement is, if it is one. `lead` is the text of the heading or
    /// introduction above the statement.
    pub(crate) fn of(text: &str, origin: Origin, lead: Option<&str>) -> Option<Self> {
        let bare = without_marker(text).1;
        if bare.len() > LONGEST || is_question(bare) {
            return None;
        }
        match origin {
            Origin::User => of_user(bare, lead),
            Origin::Pasted => {
                let is_rule = !is_drawing(bare) && (is_addressed(bare) || is_demand(bare));
                is_rule.then_some(Self::Pasted)
            }
            _ => None,
        }
    }
}

fn of_user(text: &str, lead: Option<&str>) -> Option<RuleKind> {
    let (label, rest) = labelled(text);
    let lead = lead.map(|lead| lead.trim_matches(['#', '*', ':', '：', ' ']));
    if label.is_some_and(is_label_of_rule)
        || lead.is_some_and(|lead| ends_with(lead, &LEADS_OF_RULES))
    {
        return Some(RuleKind::Rule);
    }
    if is_demand(rest) && !NO_RULES.is_match(rest) || LIFTS.is_match(rest) {
        return Some(RuleKind::Rule);
    }
    let is_fact = label.is_some_and(is_marked)
        || rest.len() <= LONGEST_FACT && !asks_for(rest) && Subject::gives_value(rest);
    is_fact.then_some(RuleKind::Fact)
}

/// Returns true if a statement demands, forbids, limits, prefers or decides something.
fn is_demand(text: &str) -> bool {
    let sentence = Sentence::new(text, Role::User);
    let [decision, preference] = [MemoryKind::Decision, MemoryKind::Preference];
    is_constraint(text)
        || sentence.is_a(preference)
        || sentence.is_a(decision)
        || RULES.is_match(text)
}

/// Returns true if a word before a colon says what the statement after it is.
pub(crate) fn is_label(name: &str) -> bool {
    is_label_of_rule(name) || is_marked(name)
}

fn is_label_of_rule(label: &str) -> bool {
    ends_with(label, &LABELS_OF_RULES) || ends_with(label, &LEADS_OF_RULES)
}

/// Returns true if the last word of `text` is in the list. In Chinese, any ending may be.
fn ends_with(text: &str, list: &WordSet) -> bool {
    let word = text.rsplit([' ', '_']).next().unwrap_or_default();
    list.contains(&word.to_lowercase())
        || text.ends_with(is_unspaced) && list.iter().any(|word| text.ends_with(word.as_str()))
}

/// Returns true if a statement is a question, even if it has no question mark.
fn is_question(text: &str) -> bool {
    let mut words = text.split(' ');
    let first = words.next().unwrap_or_default().to_lowercase();
    let is_asked = QUESTIONS.contains(&first) && words.next().is_none_or(|next| next != "not");
    is_asked || text.ends_with(['?', '？'])
}

/// Returns true if a line of pasted text begins like a person's words.
fn is_addressed(text: &str) -> bool {
    ADDRESSED.iter().any(|begin| {
        text.get(..begin.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(begin))
    })
}

/// Returns true if a label marks what follows as worth noting. A label in capitals does.
fn is_marked(label: &str) -> bool {
    ends_with(label, &LABELS_OF_FACTS)
        || label.len() > 1 && label.is_ascii() && !label.contains(char::is_lowercase)
}

/// Returns true if a statement lifts an earlier rule.
pub(crate) fn lifts(text: &str) -> bool {
    LIFTS.is_match(text)
}

/// Returns the label of a statement that says what the statement is.
pub(crate) fn label_of(text: &str) -> Option<&str> {
    labelled(text).0.filter(|label| is_label(label))
}

/// Returns a statement without its label, if the label only says what the statement is.
pub(crate) fn without_label(text: &str) -> &str {
    let (label, rest) = labelled(text);
    if label.is_some_and(is_label) { rest } else { text }
}

/// Splits off a label such as `IMPORTANT:` or `Note:`.
fn labelled(text: &str) -> (Option<&str>, &str) {
    const FRAME: [char; 6] = ['*', '_', '[', ']', '【', '】'];
    let Some((label, rest)) = text.split_once([':', '：']) else { return (None, text) };
    let is_wide = text[label.len()..].starts_with('：');
    let label = label.trim_matches(FRAME);
    let is_label = !label.is_empty()
        && label.len() <= LONGEST_LABEL
        && label.split([' ', '_', '-']).count() <= 3
        && label.chars().all(|c| c.is_alphabetic() || " _-'’".contains(c));
    if is_label && (is_wide || rest.starts_with([' ', '*'])) {
        return (Some(label), rest.trim_start_matches(['*', ' ']));
    }
    (None, text)
}

#[cfg(test)]
mod tests {
    use super::{RuleKind, without_label};
    use crate::ledger::Origin;

    fn of(text: &str) -> Option<RuleKind> {
        RuleKind::of(text, Origin::User, None)
    }

    #[test]
    fn demands_bans_wishes_and_decisions_are_rules() {
        for text in [
            "Never push to main.",
            "IMPORTANT: the tables are read by the billing team.",
            "No pull request without a changelog entry.",
            "All dates must be given as ISO 8601.",
            "Only Ines Prado may approve a release.",
            "I prefer small commits with a test each.",
            "Please always run the linter before you commit.",
            "We decided to keep the old format.",
            "From now on use British spelling.",
            "You can push to main now.",
            "Bitte niemals die Tabelle löschen.",
            "不要修改配置文件。",
            "所有日志都必须用英文写。",
        ] {
            assert_eq!(of(text), Some(RuleKind::Rule), "{text}");
        }
    }

    #[test]
    fn values_are_facts_and_other_words_are_neither() {
        for text in [
            "The staging server listens on port 8443.",
            "NB: the importer was written by an agency.",
            "Ines Prado now owns the pager.",
        ] {
            assert_eq!(of(text), Some(RuleKind::Fact), "{text}");
        }
        for text in [
            "Why does it never work?",
            "why is it showing such a high number, it must be some cache",
            "I don't know why.",
            "Please fix the login of user_4711.",
            "The test fails on my machine.",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn items_under_a_heading_of_rules_are_rules() {
        let of = |lead| RuleKind::of("- tabs, two columns", Origin::User, Some(lead));
        assert_eq!(of("## Coding conventions"), Some(RuleKind::Rule));
        assert_eq!(of("Please follow these rules:"), Some(RuleKind::Rule));
        assert_eq!(of("What I see:"), None);
    }

    #[test]
    fn in_pasted_text_a_demand_is_pasted() {
        let of = |text| RuleKind::of(text, Origin::Pasted, None);
        assert_eq!(of("Do not edit this file by hand."), Some(RuleKind::Pasted));
        assert_eq!(of("I want the entry under another heading."), Some(RuleKind::Pasted));
        assert_eq!(of("2026-01-01 INFO started"), None);
        assert_eq!(RuleKind::of("Never stop.", Origin::Result, None), None);
    }

    #[test]
    fn a_label_that_says_what_follows_is_left_out() {
        for (text, bare) in [
            ("RULE: no tabs", "no tabs"),
            ("**Note:** no tabs", "no tabs"),
            ("规则：不要用制表符", "不要用制表符"),
            ("src/a.rs: no tabs", "src/a.rs: no tabs"),
            ("Ana: no tabs", "Ana: no tabs"),
        ] {
            assert_eq!(without_label(text), bare);
        }
    }
}
