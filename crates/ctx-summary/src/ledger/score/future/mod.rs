//! Measures whether a compaction kept what a session needed later. This requires the continuation
//! of the session. The score looks for values in later calls that occurred only in the earlier part
//! of the session, and for the words around these values. The score must not depend on what the
//! ledger considers context, so it has its own rules for which words around a value count.

mod values;

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_format::{Message, Part, Role};
use ctx_text::{WordSet, first_chars, last_chars, regex};
use ctx_tokens::Encoding;
use regex::Regex;

use crate::ledger::score::Hay;
use crate::ledger::score::quotes::with_results;
use crate::ledger::{Arguments, LISTS};

/// The number of tokens that each message takes up in addition to its text.
const FRAME: u64 = 4;
/// The minimum length, in characters, of a path suffix that is enough to identify the path.
const SHORTEST_SUFFIX: usize = 4;

/// Reads the old session, the new session, and the continuation of the old session.
#[derive(Debug, Default)]
pub struct Future {
    given: String,
    old: String,
    /// For each message after the last system message, its number of tokens and its start in `old`.
    places: Vec<(u64, usize)>,
    old_systems: usize,
    given_tokens: u64,
    new_systems: Vec<String>,
    new: String,
    new_tokens: u64,
    /// The tool results and user messages in the continuation.
    later: String,
    /// For each call in the continuation, its values and the length of `later` before the call.
    calls: Vec<(Vec<String>, usize)>,
}

/// Counts the values that were needed later, and how many of them a compaction kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// The number of needed values. A value is needed if a later call used it, the old session
    /// contained it, and no later message repeated it before the call.
    pub total: u64,
    /// The number of needed values that the new session contains (`A_must`).
    pub kept: u64,
    /// The number of needed values that the new session contains together with two of the words
    /// around them (`A_ctx`).
    pub in_context: u64,
    /// The number of needed values that would be lost if the compaction had kept only the latest
    /// messages, up to the size of the new session.
    pub far: u64,
    /// The number of values counted in `far` that the new session contains together with two of the
    /// words around them (`A_ctxfar`).
    pub far_in_context: u64,
}

impl Future {
    /// Adds the next message of the old session.
    pub fn push_before(&mut self, message: &Message<'_>) {
        let tokens = tokens(message);
        if message.role.is_system() {
            self.old_systems += 1;
            self.given_tokens += tokens;
            self.places.clear();
            add(&mut self.given, &text(message));
        } else {
            self.places.push((tokens, self.old.len()));
            add(&mut self.old, &text(message));
        }
    }

    /// Adds the next message of the new session.
    pub fn push_after(&mut self, message: &Message<'_>) {
        self.new_tokens += tokens(message);
        if message.role.is_system() {
            self.new_systems.push(text(message));
        } else {
            add(&mut self.new, &text(message));
        }
    }

    /// Adds the next message of the continuation.
    pub fn push_later(&mut self, message: &Message<'_>) {
        for call in message.calls() {
            self.calls.push((values::of_call(call), self.later.len()));
        }
        if matches!(message.role, Role::User | Role::Tool | Role::Function) {
            add(&mut self.later, &text(message));
        }
    }

    /// Computes how many of the needed values were kept. The new session is compared with a window
    /// that contains only the latest messages. `budget` is the size of this window in tokens,
    /// including system messages. By default, the window is as large as the new session.
    pub fn finish(self, budget: Option<u64>) -> Needed {
        let (given, old) = (Hay::of(&self.given), Hay::of(&self.old));
        let later = Hay::of(&self.later);
        // Skip the system messages that are already in the old session.
        let mut new = String::new();
        for system in self.new_systems.iter().skip(self.old_systems) {
            add(&mut new, system);
        }
        new.push_str(&self.new);
        let new = Hay::of(&new);
        let window = Hay::of(&self.old[self.window(budget)..]);

        let mut needed = Needed::default();
        for value in self.needed_values(&given, &old, &later) {
            let is_kept = new.has(&value);
            let in_context = is_kept && keeps_context(old.text, new.text, &value);
            let is_far = !window.has(&value);
            needed.total += 1;
            needed.kept += u64::from(is_kept);
            needed.in_context += u64::from(in_context);
            needed.far += u64::from(is_far);
            needed.far_in_context += u64::from(is_far && in_context);
        }
        needed
    }

    /// Returns the start in `old` of the latest messages that fit into a window of `budget` tokens.
    fn window(&self, budget: Option<u64>) -> usize {
        let budget = budget.unwrap_or(self.new_tokens);
        let mut left = budget.saturating_sub(self.given_tokens);
        let mut from = self.old.len();
        for (tokens, at) in self.places.iter().rev() {
            if *tokens > left {
                break;
            }
            left -= tokens;
            from = *at;
        }
        from
    }

    /// Returns the needed values, in order. Later calls used these values, the old session
    /// contained them, and no later message repeated them before the call.
    fn needed_values(&self, given: &Hay<'_>, old: &Hay<'_>, later: &Hay<'_>) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (values, before) in &self.calls {
            for value in values.iter().filter(|value| !given.has(value)) {
                let Some(known) = known(old, value) else { continue };
                let is_given = known != value && given.has(known);
                let is_new = !is_given && !is_common(known) && seen.insert(known);
                if is_new && !later.has_within(known, *before) {
                    found.push(known.to_owned());
                }
            }
        }
        found
    }
}

/// Returns the value as the old session contains it. A path may be shortened to a suffix.
fn known<'v>(old: &Hay<'_>, value: &'v str) -> Option<&'v str> {
    if old.has(value) {
        return Some(value);
    }
    if value.starts_with("http") {
        return None;
    }
    let ends = value.match_indices('/').map(|(at, _)| &value[at + 1..]);
    ends.filter(|end| end.chars().count() >= SHORTEST_SUFFIX && end.contains(['/', '.']))
        .find(|end| old.has(end))
}

fn add(all: &mut String, text: &str) {
    if !all.is_empty() {
        all.push('\n');
    }
    all.push_str(text);
}

/// Returns the searchable text of a message: its texts and results, and the names, keys and values
/// of its calls.
fn text(message: &Message<'_>) -> String {
    let mut lines: Vec<String> = said(&message.parts).map(str::to_owned).collect();
    for call in message.calls() {
        lines.push(call.name.to_string());
        let Some(arguments) = Arguments::parse(&call.arguments) else {
            lines.push(call.arguments.to_string());
            continue;
        };
        lines.extend(arguments.keys);
        let values = arguments.leaves.into_iter().map(|leaf| match leaf.value.as_str() {
            // Leave out JSON keywords, which look like words.
            "true" | "false" | "null" => String::new(),
            _ => leaf.value,
        });
        lines.extend(values);
    }
    lines.join("\n")
}

fn said<'m>(parts: &'m [Part<'_>]) -> impl Iterator<Item = &'m str> {
    with_results(parts).filter_map(Part::text)
}

/// Returns the number of tokens in the texts and calls of a message, plus a fixed number for its
/// frame.
fn tokens(message: &Message<'_>) -> u64 {
    let counter = Encoding::default().counter();
    let said: u64 = said(&message.parts).map(|text| counter.count(text)).sum();
    let calls = message.calls();
    let called: u64 =
        calls.map(|call| counter.count(&call.name) + counter.count(&call.arguments)).sum();
    FRAME + said + called
}

/// The number of characters on each side of a value that count as its context.
const SPAN: usize = 70;
/// The maximum number of occurrences to examine for each value.
const MOST: usize = 12;
/// The number of words that are enough to describe a value.
const ENOUGH: usize = 2;
/// The minimum length of a word. Shorter words are articles and prepositions.
const SHORTEST: usize = 4;

static LETTERS: LazyLock<Regex> = LazyLock::new(|| regex("[A-Za-z]+"));
static KEY: LazyLock<Regex> = LazyLock::new(|| regex(r#""([a-z_]{3,})"\s*:"#));

/// Returns true if `new` contains `value` near enough of the words that surround it in `old`.
fn keeps_context(old: &str, new: &str, value: &str) -> bool {
    let known: HashSet<&str> = occurrences(old, value).flat_map(|(a, b)| words(a, b)).collect();
    let enough = known.len().min(ENOUGH);
    occurrences(new, value)
        .any(|(before, behind)| words(before, behind).intersection(&known).count() >= enough)
}

/// Returns the text before and after each occurrence of `value`.
fn occurrences<'t>(text: &'t str, value: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let found = text.match_indices(value).take(MOST);
    found.map(|(at, found)| {
        (last_chars(&text[..at], SPAN), first_chars(&text[at + found.len()..], SPAN))
    })
}

fn words<'t>(before: &'t str, behind: &'t str) -> HashSet<&'t str> {
    let mut found = HashSet::new();
    for text in [before, behind] {
        let plain = LETTERS
            .find_iter(text)
            .filter(|word| word.len() >= SHORTEST && is_plain(text, word.start(), word.end()));
        found.extend(plain.map(|word| word.as_str()));
        found.extend(KEY.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())));
    }
    found.retain(|word| !STOP.contains(&word.to_lowercase()));
    found
}

/// Returns true if a run of letters is a word, not a part of a path or a name.
fn is_plain(text: &str, start: usize, end: usize) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let joins = |c: char| is_letter(c) || matches!(c, '/' | '-');
    if text[..start].ends_with(|c| joins(c) || c == '.') {
        return false;
    }
    let mut behind = text[end..].chars();
    match behind.next() {
        Some('.') => !behind.next().is_some_and(is_letter),
        Some(next) => !joins(next),
        None => true,
    }
}

static COMMON: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("common values"));
static STOP: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("stop words"));

/// Returns true if a value is too common to be informative.
fn is_common(value: &str) -> bool {
    COMMON.contains(&value.to_lowercase())
}

#[cfg(test)]
mod tests {
    use ctx_format::Role;

    use super::{Future, Hay, Needed, known, text, tokens};
    use crate::ledger::fixtures::{answers, calls, says};

    /// Returns the figures for a session `before`, its compacted form `after`, and a later call
    /// that uses the value `later`.
    fn needed(before: &[&str], after: &str, later: &str, budget: Option<u64>) -> Needed {
        let mut future = Future::default();
        future.push_before(&says(Role::System, "You serve the harbour of Bergen."));
        for text in before {
            future.push_before(&says(Role::User, text));
        }
        future.push_after(&says(Role::System, "You serve the harbour of Bergen."));
        future.push_after(&says(Role::User, after));
        let arguments = serde_json::json!({ "id": later }).to_string();
        future.push_later(&calls("get", &arguments));
        future.finish(budget)
    }

    #[test]
    fn without_a_future_nothing_is_needed() {
        assert_eq!(Future::default().finish(None), Needed::default());
        assert_eq!(needed(&[], "", "order_17", None), Needed::default());
    }

    #[test]
    fn a_value_that_only_the_past_has_is_needed() {
        let before = ["ship order_17 today", "and then rest"];
        let lost = needed(&before, "rest", "order_17", Some(0));
        assert_eq!((lost.total, lost.kept, lost.far), (1, 0, 1));
        let kept = needed(&before, "ship order_17 today", "order_17", Some(0));
        assert_eq!((kept.total, kept.kept, kept.in_context), (1, 1, 1));
        assert_eq!(kept.far_in_context, 1);
        let bare = needed(&before, "order_17", "order_17", Some(0));
        assert_eq!((bare.kept, bare.in_context), (1, 0));
        // A window of this size would contain the whole session.
        assert_eq!(needed(&before, "rest", "order_17", Some(10_000)).far, 0);
    }

    #[test]
    fn what_the_system_says_and_what_nobody_said_is_not_needed() {
        assert_eq!(needed(&["to Bergen"], "", "Bergen", None).total, 0);
        assert_eq!(needed(&["to Oslo"], "", "order_99", None).total, 0);
    }

    #[test]
    fn what_was_repeated_is_not_needed() {
        let mut future = Future::default();
        future.push_before(&says(Role::User, "ship order_17 and order_18"));
        future.push_later(&answers("order_17 is ready"));
        future.push_later(&calls("ship", r#"{"id":"order_17"}"#));
        future.push_later(&calls("ship", r#"{"id":"order_18"}"#));
        // The value is repeated only after the call, which is too late.
        future.push_later(&answers("order_18 is shipped"));
        assert_eq!(future.finish(None).total, 1);
    }

    #[test]
    fn a_path_is_known_by_its_longest_end() {
        let old = Hay::of("see src/main.rs and lib.rs, https://a.example/b.rs");
        assert_eq!(known(&old, "/work/src/main.rs"), Some("src/main.rs"));
        assert_eq!(known(&old, "lib.rs"), Some("lib.rs"));
        assert_eq!(known(&old, "/x/y.rs"), None);
        // A URL must match as a whole.
        assert_eq!(known(&old, "https://other.example/lib.rs"), None);
        assert_eq!(known(&old, ""), None);
    }

    #[test]
    fn a_message_says_its_texts_and_the_values_of_its_calls() {
        let call = calls("get", r#"{"订单":"十七","all":true,"none":null}"#);
        assert_eq!(text(&call), "get\n订单\nall\nnone\n十七\n\n");
        assert_eq!(text(&calls("run", "no JSON")), "run\nno JSON");
        assert_eq!(text(&answers("done")), "done");
        // Even an empty message has a frame.
        assert!(tokens(&says(Role::User, "")) > 0);
        assert!(tokens(&call) > tokens(&answers("done")));
    }
}

#[cfg(test)]
mod context_tests {
    use super::{is_common, keeps_context, words};

    #[test]
    fn words_and_keys_but_no_pieces() {
        let mut found: Vec<_> = words(
            r#"order number. "zip": 5, src/main some_name file.txt"#,
            " shipped to the re-run with",
        )
        .into_iter()
        .collect();
        found.sort_unstable();
        assert_eq!(found, ["number", "order", "shipped", "zip"]);
    }

    #[test]
    fn two_words_must_stay_beside_it() {
        let old = "the order #W12 was shipped yesterday";
        assert!(keeps_context(old, "shipped: order #W12", "#W12"));
        assert!(!keeps_context(old, "order #W12", "#W12"));
        assert!(!keeps_context(old, "#W12", "#W12"));
        assert!(keeps_context("#W12", "#W12", "#W12"));
        assert!(!keeps_context("#W12", "", "#W12"));
    }

    #[test]
    fn words_that_are_far_away_do_not_count() {
        let far = format!("shipped order {} #W12", "- ".repeat(40));
        assert!(!keeps_context("shipped order #W12", &far, "#W12"));
    }

    #[test]
    fn common_values_have_no_case() {
        assert!(is_common("True") && !is_common("HAT030"));
    }
}
