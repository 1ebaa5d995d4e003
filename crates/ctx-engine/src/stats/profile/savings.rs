//! What pruning would free, by what it would remove. The numbers are those of `ctx-prune`.

use std::collections::{BTreeMap, HashMap};

use ctx_format::Message;
use ctx_policy::Rule;

use crate::call_names::CallNames;
use crate::prune::{Decision, Sum};

/// So many groups are listed; the others are summarized.
pub const MOST_GROUPS: usize = 30;

/// What would be freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Savings {
    /// By rule, as `ctx-prune -n` tells it.
    pub rules: Vec<(Rule, Sum)>,
    /// All of them.
    pub total: Sum,
    /// The same by rule and by what the results are of; those that free most come first.
    pub groups: Vec<Group>,
    /// How many more groups there are.
    pub more: usize,
}

/// Results of calls that are called alike, which go by the same rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The rule.
    pub rule: Rule,
    /// The call that they answer, in few words.
    pub call: String,
    /// How many, and their tokens before and after.
    pub sum: Sum,
    /// The line of the first one.
    pub line: u64,
}

/// The tools of the results in each line.
#[derive(Default)]
pub(super) struct Calls(HashMap<u64, String>);

impl Calls {
    pub(super) fn push(&mut self, line: u64, message: &Message<'_>, names: &CallNames) {
        let mut results = message.results();
        let Some(first) = results.next() else {
            return;
        };
        let mut called = names.of(first);
        match results.count() {
            0 => {}
            more => called = format!("{called} and {more} more"),
        }
        self.0.insert(line, called);
    }

    /// What a decision would free.
    pub(super) fn savings(&self, decision: &Decision<'_>) -> Savings {
        let mut groups: BTreeMap<(Rule, &str), (Sum, u64)> = BTreeMap::new();
        for (line, freed) in decision.freed() {
            let call = self.0.get(&line).map_or("", String::as_str);
            let (sum, _) =
                groups.entry((freed.rule, call)).or_insert_with(|| (Sum::default(), line));
            sum.add(freed.into());
        }
        let groups = groups.into_iter().map(|((rule, call), (sum, line))| Group {
            rule,
            call: call.to_owned(),
            sum,
            line,
        });
        let mut groups: Vec<Group> = groups.collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.sum.gain()), group.line));
        let more = groups.len().saturating_sub(MOST_GROUPS);
        groups.truncate(MOST_GROUPS);
        Savings {
            rules: decision.sums.by_rule().collect(),
            total: decision.sums.total(),
            groups,
            more,
        }
    }
}
