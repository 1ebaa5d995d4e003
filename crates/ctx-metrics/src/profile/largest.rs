//! The largest things in a context.

use std::collections::{BTreeMap, HashMap};

use ctx_engine::calls::CallNames;
use ctx_engine::prune::{Decision, Sum};
use ctx_format::{Message, Part};
use ctx_policy::Rule;
use ctx_redact::redact;
use ctx_text::{first_chars, one_line};
use serde::Serialize;

use super::kind::{ContentKind, Counted};

/// So many are listed.
pub const MOST_ITEMS: usize = 20;

/// So much of a text is shown.
const SHOWN_CHARS: usize = 120;

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its kind.
    pub kind: ContentKind,
    /// The call, or the call that a result answers, in few words; empty for what is neither.
    pub call: String,
    /// Its line.
    pub line: u64,
    /// Its tokens.
    pub tokens: u64,
    /// How it begins, on one line, without secrets.
    pub text: String,
}

/// The largest so far, the largest first.
#[derive(Default)]
pub(super) struct Largest(pub(super) Vec<Item>);

impl Largest {
    /// The parts of the next message.
    pub(super) fn push(
        &mut self,
        line: u64,
        message: &Message<'_>,
        counted: &Counted,
        names: &CallNames,
    ) {
        for (part, (kind, tokens)) in message.parts.iter().zip(&counted.parts) {
            let least = self.0.get(MOST_ITEMS - 1).map_or(0, |item| item.tokens);
            // Among equals the first one stays.
            if *tokens <= least {
                continue;
            }
            let place = self.0.partition_point(|item| item.tokens >= *tokens);
            let item = Item {
                kind: *kind,
                call: called(part, names),
                line,
                tokens: *tokens,
                text: beginning(part),
            };
            self.0.insert(place, item);
            self.0.truncate(MOST_ITEMS);
        }
    }
}

fn called(part: &Part<'_>, names: &CallNames) -> String {
    match part {
        Part::Call(call) => ctx_engine::calls::called(call),
        Part::Result(result) => names.of(result),
        _ => String::new(),
    }
}

fn beginning(part: &Part<'_>) -> String {
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => shown(text),
        Part::Call(call) => shown(&call.arguments),
        Part::Result(result) => {
            let first = result.parts.first().map(beginning);
            first.unwrap_or_default()
        }
        Part::Media(media) => media.kind.to_owned(),
        Part::Opaque(raw) => shown(raw),
    }
}

/// The beginning of a text on one line, without secrets. More than is shown is looked at, so
/// that no secret is known too late because it was cut.
fn shown(text: &str) -> String {
    let looked_at = first_chars(text, SHOWN_CHARS * 20);
    let line = one_line(&redact(looked_at).0);
    let shown = first_chars(&line, SHOWN_CHARS);
    let is_cut = shown.len() < line.len() || looked_at.len() < text.len();
    shown.to_owned() + if is_cut { "…" } else { "" }
}

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

#[cfg(test)]
mod tests {
    use ctx_engine::counter::MessageCounter;
    use ctx_format::{Message, Part, Role};
    use ctx_tokens::Encoding;

    use super::super::kind::{ContentKind, count};
    use super::{Largest, MOST_ITEMS, shown};
    use ctx_engine::calls::CallNames;

    /// The largest come first, earlier ones first among equals, and no more than fit on a page.
    #[test]
    fn the_largest_come_first() {
        let chars = MessageCounter::new(Encoding::Chars4);
        let mut largest = Largest::default();
        for line in 1..=100_u64 {
            let text = "x".repeat((line % 50) as usize * 8);
            let message = Message::new(Role::User, vec![Part::Text(text.into())]);
            let counted = count(&chars, &message, ContentKind::User);
            largest.push(line, &message, &counted, &CallNames::default());
        }
        let items = largest.0;
        assert_eq!(items.len(), MOST_ITEMS);
        let lines: Vec<u64> = items.iter().map(|item| item.line).take(4).collect();
        assert_eq!(lines, [49, 99, 48, 98]);
        assert_eq!((items[0].tokens, items[0].kind), (98, ContentKind::User));
    }

    /// The displayed text is short, on one line, and without secrets.
    #[test]
    fn a_text_is_shown_on_one_line_without_secrets() {
        assert_eq!(shown("a\n\t b  c"), "a b c");
        assert_eq!(shown(&"日".repeat(120)), "日".repeat(120));
        assert_eq!(shown(&"日".repeat(121)), "日".repeat(120) + "…");
        let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        assert!(!shown(&format!("token: {secret}")).contains("0123456789"));
        let cut = format!("{} {secret}", "word ".repeat(22));
        assert!(!shown(&cut).contains("ghp_0123"), "{}", shown(&cut));
    }
}
