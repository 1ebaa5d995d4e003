//! What is to be pruned: every rule is off unless asked for.

use std::borrow::Cow;

use ctx_transcript::Saved;

use super::rule::Rule;
use super::tools::ToolFilter;
use crate::count::MessageCounter;
use crate::share::Share;

/// What a user asks for.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Shorten long results.
    pub trim: Option<Trim>,
    /// Put this text in the place of every old result.
    pub clear: Option<String>,
    /// What is needless: the rules that have nothing to set.
    pub drop: Vec<Rule>,
    /// Shorten the strings inside call arguments that have more characters.
    pub argument_chars: Option<usize>,
    /// Drop all but the last messages, system ones not counted.
    pub window_messages: Option<u64>,
    /// The last assistant messages, and all behind the first of them, stay as they are.
    pub protect_last: usize,
    /// What stands in the place of results that lie elsewhere: they stay as they are.
    pub references: Vec<ReferencePattern>,
    /// The tools whose results may be changed.
    pub tools: ToolFilter,
    /// Whether the API wants the user's message first.
    pub user_first: bool,
    /// What handles may promise of the originals.
    pub saved: Saved,
}

impl Policy {
    /// Whether any rule is asked for.
    pub fn does_anything(&self) -> bool {
        self.trim.is_some()
            || self.clear.is_some()
            || !self.drop.is_empty()
            || self.argument_chars.is_some()
            || self.window_messages.is_some()
    }

    /// Whether what this rule finds needless goes.
    pub fn drops(&self, rule: Rule) -> bool {
        self.drop.contains(&rule)
    }

    /// Whether handles may stand in the places of texts.
    pub(super) fn leaves_handles(&self) -> bool {
        self.trim.is_some() || self.leaves_notes() || self.drops(Rule::Noise)
    }

    /// Whether notes may take the places of results.
    pub(super) fn leaves_notes(&self) -> bool {
        self.clear.is_some() || self.drop.iter().any(|rule| rule.leaves_notes())
    }
}

/// What is asked of every message.
#[derive(Clone, Copy)]
pub struct Questions<'p> {
    /// The rules that are to be decided.
    pub policy: &'p Policy,
    /// What counts the tokens.
    pub counter: MessageCounter,
    /// Whether the size of the whole session is asked for: then all is counted, else
    /// only what may change.
    pub size: bool,
}

/// How a long text is shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Texts with more characters are shortened.
    pub max_chars: usize,
    /// The share of that limit that is kept of the text's beginning.
    pub head_share: Share,
    /// The share of that limit that is kept of its end.
    pub tail_share: Share,
    /// How many lines that look like errors are kept of what is between.
    pub rescue_lines: usize,
    /// What stands between the two; `{chars}` in it is how many are left out.
    pub cut: Cow<'static, str>,
}

impl Default for Trim {
    fn default() -> Self {
        Self {
            max_chars: 10_000,
            head_share: Share::of_percent(30),
            tail_share: Share::of_percent(30),
            rescue_lines: 10,
            cut: Cow::Borrowed("... ({chars} chars truncated) ..."),
        }
    }
}

/// A text of one line that only says where a result lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencePattern {
    /// What stands before, between and behind its slots.
    parts: Vec<String>,
}

impl ReferencePattern {
    /// Of a template such as `Tool result ({call}) is at: {path}`: known by what stands around
    /// its slots. `None` where nothing does.
    pub fn of(template: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = template;
        while let Some((before, slot)) = rest.split_once('{') {
            parts.push(before.to_owned());
            rest = slot.split_once('}').map_or("", |(_, behind)| behind);
        }
        parts.push(rest.to_owned());
        let is_known = parts.iter().any(|part| !part.is_empty());
        is_known.then_some(Self { parts })
    }

    /// What every such reference begins with.
    pub fn begin(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    /// Whether `text` is such a reference.
    pub fn is(&self, text: &str) -> bool {
        let [first, middle @ ..] = &self.parts[..] else {
            return false;
        };
        let Some(mut rest) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        let Some((last, middle)) = middle.split_last() else {
            return rest.is_empty();
        };
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, ReferencePattern, Rule, Trim};

    #[test]
    fn any_rule_does_something_and_only_some_leave_notes() {
        let nothing = Policy::default;
        assert!(!nothing().does_anything() && !nothing().leaves_notes());
        let dropping = |rule| Policy {
            drop: vec![rule],
            ..nothing()
        };
        let clear = Policy {
            clear: Some("[gone]".to_owned()),
            ..nothing()
        };
        let trim = Policy {
            trim: Some(Trim::default()),
            ..nothing()
        };
        let arguments = Policy {
            argument_chars: Some(1),
            ..nothing()
        };
        let window = Policy {
            window_messages: Some(1),
            ..nothing()
        };
        for (policy, leaves_notes) in [
            (clear, true),
            (dropping(Rule::Superseded), true),
            (dropping(Rule::Duplicates), true),
            (dropping(Rule::Noise), false),
            (dropping(Rule::Empty), false),
            (trim, false),
            (arguments, false),
            (window, false),
        ] {
            assert!(policy.does_anything(), "{policy:?}");
            assert_eq!(policy.leaves_notes(), leaves_notes, "{policy:?}");
        }
    }

    #[test]
    fn a_reference_is_known_by_what_stands_around_its_slots() {
        let is = |template: &str, text: &str| {
            let pattern = ReferencePattern::of(template).expect("something stands around");
            pattern.is(text)
        };
        assert!(is("at {path} of {tokens}.", "at /a of 9."));
        assert!(is("no slot", "no slot"));
        assert!(is("see {path}", "see "));
        let call = "Tool result ({call}, {bytes} bytes) is at: {path}";
        assert!(is(call, "Tool result (ls, 9 bytes) is at: /a"));
        assert!(!is(call, "Tool result (ls) is at: /a"));
        assert!(!is("no slot", "no slot at all"));
        assert!(!is("at {path}.", "at /a"));
        assert!(!is("see {path}", "I see /a"));
        assert_eq!(ReferencePattern::of("{path}"), None);
        assert_eq!(ReferencePattern::of(""), None);
    }
}
