//! The largest parts of a context, and the tokens that would be freed by pruning.

use std::collections::{BTreeMap, HashMap};

use ctx_engine::calls::CallNames;
use ctx_engine::prune::{Decision, Sum};
use ctx_format::{Message, Part};
use ctx_policy::Rule;
use ctx_redact::redact;
use ctx_text::{first_chars, one_line};
use serde::Serialize;

use super::kind::{ContentKind, Counted};

/// The maximum number of parts to list.
pub const MOST_ITEMS: usize = 20;

/// How many characters of a part's text to show.
const SHOWN_CHARS: usize = 120;

/// One of the largest parts of a context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// The kind of the part.
    pub kind: ContentKind,
    /// The name of the call if the part is a call or its result; otherwise empty.
    pub call: String,
    /// The line number of the message that contains the part.
    pub line: u64,
    /// The part's token count.
    pub tokens: u64,
    /// The beginning of the part's text, on one line and without secrets.
    pub text: String,
}

/// The largest parts so far, in decreasing order of size.
#[derive(Default)]
pub(super) struct Largest(pub(super) Vec<Item>);

impl Largest {
    /// Adds the parts of the next message.
    pub(super) fn push(
        &mut self,
        line: u64,
        message: &Message<'_>,
        counted: &Counted,
        names: &CallNames,
    ) {
        for (part, (kind, tokens)) in message.parts.iter().zip(&counted.parts) {
            let least = self.0.get(MOST_ITEMS - 1).map_or(0, |item| item.tokens);
            // Among parts with the same number of tokens, the first ones are kept.
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
        Part::Result(result) => result.parts.first().map(beginning).unwrap_or_default(),
        Part::Media(media) => media.kind.to_owned(),
        Part::Opaque(raw) => shown(raw),
    }
}

/// Returns the beginning of `text`, on one line and without secrets. More text is searched for
/// secrets than is shown, because a truncated secret might not be recognized.
fn shown(text: &str) -> String {
    let looked_at = first_chars(text, SHOWN_CHARS * 20);
    let line = one_line(&redact(looked_at).0);
    let shown = first_chars(&line, SHOWN_CHARS);
    let is_cut = shown.len() < line.len() || looked_at.len() < text.len();
    shown.to_owned() + if is_cut { "…" } else { "" }
}

/// The maximum number of groups to list. Groups that are not listed are only counted.
pub const MOST_GROUPS: usize = 30;

/// The tokens that would be freed by pruning a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Savings {
    /// The savings from each rule, as reported by `ctx-prune -n`.
    pub rules: Vec<(Rule, Sum)>,
    /// The total savings from all rules.
    pub total: Sum,
    /// The savings for each rule and call name, largest first.
    pub groups: Vec<Group>,
    /// The number of groups that are not listed.
    pub more: usize,
}

/// Results of calls with the same name that are removed or shortened by the same rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The rule that removes or shortens these results.
    pub rule: Rule,
    /// The name of the calls that returned these results.
    pub call: String,
    /// The number of results, and their token counts before and after pruning.
    pub sum: Sum,
    /// The line number of the first result.
    pub line: u64,
}

/// For each line that contains tool results, the names of the calls that returned them.
#[derive(Default)]
pub(super) struct Calls(HashMap<u64, String>);

impl Calls {
    pub(super) fn push(&mut self, line: u64, message: &Message<'_>, names: &CallNames) {
        let mut results = message.results();
        let Some(first) = results.next() else { return };
        let mut called = names.of(first);
        match results.count() {
            0 => {}
            more => called = format!("{called} and {more} more"),
        }
        self.0.insert(line, called);
    }

    /// Returns the tokens that would be freed by applying the decision.
    pub(super) fn savings(&self, decision: &Decision<'_>) -> Savings {
        let mut groups: BTreeMap<(Rule, &str), (Sum, u64)> = BTreeMap::new();
        for (line, freed) in decision.freed() {
            let call = self.0.get(&line).map_or("", String::as_str);
            let (sum, _) =
                groups.entry((freed.rule, call)).or_insert_with(|| (Sum::default(), line));
            *sum += freed.into();
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
    use ctx_engine::message_counter::MessageCounter;
    use ctx_format::{Message, Part, Role};
    use ctx_tokens::Encoding;

    use super::super::kind::{ContentKind, count};
    use super::{Largest, MOST_ITEMS, shown};
    use ctx_engine::calls::CallNames;

    /// The largest parts come first. Parts of equal size are in session order. The list is limited
    /// in length.
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

    /// The displayed text is short, fits on one line, and contains no secrets.
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
