//! Scores how much of a session a compaction kept, by looking in the new session for the items from
//! the old session's ledger.
//!
//! An item is retained if the new session contains its words, or if the ledger of the new session
//! contains the item. White space is collapsed, and the words must not be part of longer words. The
//! score does not understand text, so a paraphrase counts as lost, and a list of bare values counts
//! as kept. [`Future`] also checks the words around a value.

mod future;
mod quotes;
mod report;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ctx_format::{Handle, Message, Part, ShortHash, ToolResult, Zone};
use ctx_redact::redact;
use ctx_text::one_line;

use crate::ledger::identifier::{WORD, class, class_at, run};
use crate::ledger::{Arguments, Item, ItemKind, Ledger, State, ends};

pub use future::{Future, Needed};
use quotes::with_results;
pub use quotes::{Quotes, add_said};
pub use report::{Class, Row, Score, Scored, Standing, rounded, rounded_share};

/// Searches the new session for the content of the old session.
#[derive(Debug, Default)]
pub struct Scorer {
    /// The new session.
    pub after: After,
    handles: HashSet<(ShortHash, u64)>,
    /// The texts that the new session refers to. Their line numbers in the old session are in
    /// `referred_lines`.
    referred: String,
    referred_lines: HashSet<u64>,
    /// Whether a snapshot contains the old session.
    pub saved: bool,
}

/// The character at the end of a truncated text.
const CUT: char = '…';
/// Text of at most this many bytes is complete unless it ends with [`CUT`].
const MAY_BE_CUT: usize = 100;

impl Scorer {
    /// Creates a scorer for the new session.
    pub fn new(after: After) -> Self {
        Self {
            handles: after.handles().iter().map(|it| (it.hash, it.bytes)).collect(),
            after,
            ..Self::default()
        }
    }

    /// Returns true if the new session contains handles, so that originals must be looked for in
    /// the old session.
    pub fn refers(&self) -> bool {
        !self.handles.is_empty()
    }

    /// Searches a message from the old session for text that the new session refers to.
    pub fn look_for_originals(&mut self, line: u64, message: &Message<'_>) {
        if self.handles.is_empty() {
            return;
        }
        for text in originals(message) {
            let length = text.len() as u64;
            // Compare the lengths first, because hashing every text would dominate the running
            // time.
            let may_be = self.handles.iter().any(|(_, bytes)| *bytes == length);
            if may_be && self.handles.contains(&(ShortHash::of(&text), length)) {
                add(&mut self.referred, &text);
                self.referred_lines.insert(line);
            }
        }
    }

    /// Adds text that the new session refers to but that is stored outside both sessions.
    pub fn add_referred(&mut self, text: &str) {
        add(&mut self.referred, text);
        // From now on, the line in the old session that contains this text counts as referred to.
        self.handles.insert((ShortHash::of(text), text.len() as u64));
    }

    /// Computes the score of a compaction. `ledger` is the ledger of the old session.
    pub fn finish(self, ledger: &Ledger) -> Score {
        let items = self.after.ledger.items.list.iter();
        let search = Search {
            scorer: &self,
            new: Hay::of(&self.after.text),
            items: items.map(|item| (item.kind, item.text.as_str())).collect(),
            referred: Hay::of(&self.referred),
        };
        let mut score = Score::default();
        for item in &ledger.items.list {
            let class = Class::Item(item.kind);
            if item.state == State::Current {
                score.items.push(Scored {
                    class,
                    standing: search.item(item),
                    text: item.text.clone(),
                    line: item.line,
                    weight: 1.0,
                });
            } else {
                score.retired.push(class);
            }
        }
        let identifiers = ledger.index.identifiers().into_iter();
        score.items.extend(identifiers.map(|identifier| Scored {
            class: Class::Identifiers,
            // Unlike a text search, the new session's index finds an identifier that is joined to
            // other text.
            standing: if self.after.ledger.index.knows(identifier.text) {
                Standing::Retained
            } else {
                search.text(identifier.text)
            },
            text: one_line(identifier.text),
            line: identifier.line,
            weight: identifier.chance,
        }));
        // The sort is stable, so the items of each class remain in order.
        let place = |item: &Scored| Class::ALL.iter().position(|class| *class == item.class);
        score.items.sort_by_key(place);
        score
    }
}

/// All places where an item may still be found.
struct Search<'s> {
    scorer: &'s Scorer,
    new: Hay<'s>,
    items: HashSet<(ItemKind, &'s str)>,
    referred: Hay<'s>,
}

impl Search<'_> {
    fn item(&self, item: &Item) -> Standing {
        if self.items.contains(&(item.kind, &item.text)) {
            return Standing::Retained;
        }
        // The ledger adds the tool's name before a command, so search only for the command.
        let command = item.text.split_once(": ").filter(|_| item.kind == ItemKind::Command);
        let words = command.map_or(&*item.text, |(_, words)| words);
        let is_referred = self.scorer.referred_lines.contains(&item.line);
        // The sentences of a request may be in different places.
        let has = |part: Range<usize>| {
            let sentence = words[part].trim();
            sentence.is_empty() || self.text(sentence) == Standing::Retained
        };
        match self.text(words) {
            Standing::Retained => Standing::Retained,
            _ if ends(words).into_iter().all(has) => Standing::Retained,
            // Errors are in the ledger's own words, so an error is found by its line number.
            _ if item.kind == ItemKind::Error && is_referred => Standing::Recoverable,
            other => other,
        }
    }

    fn text(&self, text: &str) -> Standing {
        let folded = one_line(text);
        let beginning = match folded.strip_suffix(CUT) {
            Some(beginning) => beginning.trim_end(),
            None if folded.len() > MAY_BE_CUT => &folded,
            None => "",
        };
        let is_in = |hay: &Hay<'_>| hay.has(&folded) || hay.has_beginning(beginning);
        if is_in(&self.new) {
            Standing::Retained
        } else if is_in(&self.referred) {
            Standing::Recoverable
        } else if self.scorer.saved {
            Standing::Saved
        } else {
            Standing::Lost
        }
    }
}

/// The texts of the new session, and its ledger.
///
/// Some items describe a call and its result in the ledger's own words, such as `Bash: cargo test:
/// error: …`. If the new session keeps the call and the result, no text contains these words, but
/// the new ledger contains the item.
#[derive(Debug, Default)]
pub struct After {
    /// The texts of all messages, one per line, with white space collapsed and secrets redacted.
    pub text: String,
    ledger: Ledger,
}

impl After {
    /// Adds the next message of the new session.
    pub fn push(&mut self, message: &Message<'_>) {
        add_parts(&mut self.text, &message.parts);
        self.ledger.push(0, message, Zone::Old);
    }

    /// Returns the handles in the texts of the session.
    pub fn handles(&self) -> Vec<Handle> {
        let starts = self.text.match_indices("⟦ctx:").map(|(at, _)| &self.text[at..]);
        let handle = |text: &str| Handle::parse(text.split_inclusive('⟧').next()?);
        starts.filter_map(handle).collect()
    }
}

/// Appends text as a single line without secrets, in the same form as the items in a ledger.
fn add(all: &mut String, text: &str) {
    let (clean, _) = redact(text);
    all.push_str(&one_line(&clean));
    all.push('\n');
}

fn add_parts(all: &mut String, parts: &[Part<'_>]) {
    for part in with_results(parts) {
        match part {
            Part::Text(text) | Part::Refusal(text) => add(all, text),
            Part::Call(call) => {
                add(all, &call.name);
                let Some(arguments) = Arguments::parse(&call.arguments) else {
                    add(all, &call.arguments);
                    continue;
                };
                let values = arguments.leaves.iter().map(|leaf| &leaf.value);
                let texts = arguments.keys.iter().chain(values);
                texts.for_each(|text| add(all, text));
            }
            _ => {}
        }
    }
}

/// Returns everything in a message that a handle can refer to: each text and each whole result.
fn originals<'m>(message: &'m Message<'_>) -> impl Iterator<Item = Cow<'m, str>> {
    let texts = message.parts.iter().filter_map(Part::text).map(Cow::Borrowed);
    message.results().filter_map(ToolResult::text).chain(texts)
}

/// Stores text with the positions of its words, so that thousands of searches need not each read
/// the whole text.
struct Hay<'t> {
    text: &'t str,
    places: HashMap<&'t str, Vec<usize>>,
}

impl<'t> Hay<'t> {
    fn of(text: &'t str) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for word in words(text) {
            places.entry(&text[word.clone()]).or_default().push(word.start);
        }
        Self { text, places }
    }

    /// Returns true if the text contains `needle`, but not as a part of longer words.
    fn has(&self, needle: &str) -> bool {
        self.has_within(needle, self.text.len())
    }

    /// Returns true if the first `length` bytes contain `needle`, but not as a part of longer
    /// words.
    fn has_within(&self, needle: &str, length: usize) -> bool {
        !needle.is_empty() && self.find(needle, length, true)
    }

    /// Returns true if the text contains `beginning`, which may end within a word.
    fn has_beginning(&self, beginning: &str) -> bool {
        !beginning.is_empty() && self.find(beginning, self.text.len(), false)
    }

    fn find(&self, needle: &str, length: usize, whole_end: bool) -> bool {
        let is_here = |at: usize| {
            let end = at + needle.len();
            end <= length
                && self.text.as_bytes()[at..].starts_with(needle.as_bytes())
                && self.is_bordered(at..end, whole_end)
        };
        let whole = |word: &Range<usize>| whole_end || word.end < needle.len();
        let mut rarest: Option<(usize, &[usize])> = None;
        for word in words(needle).filter(whole) {
            let Some(places) = self.places.get(&needle[word.clone()]) else { return false };
            if rarest.is_none_or(|(_, least)| places.len() < least.len()) {
                rarest = Some((word.start, places));
            }
        }
        match rarest {
            Some((offset, places)) => {
                places.iter().filter_map(|place| place.checked_sub(offset)).any(is_here)
            }
            None => self.text.match_indices(needle).any(|(at, _)| is_here(at)),
        }
    }

    fn is_bordered(&self, range: Range<usize>, whole_end: bool) -> bool {
        let bytes = self.text.as_bytes();
        let is_word = |at: usize| class_at(bytes, at) & WORD != 0;
        let inside = |right: usize| right > 0 && is_word(right - 1) && is_word(right);
        !(inside(range.start) || whole_end && inside(range.end))
    }
}

/// Returns the ranges of the ASCII words in `text`. Other characters are not grouped into words.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_word = |byte: &u8| class(*byte) & WORD != 0;
        let start = at + bytes[at..].iter().position(is_word)?;
        at = start + run(bytes, start, WORD);
        Some(start..at)
    })
}

#[cfg(test)]
mod after_tests {
    use ctx_format::{Message, Part, Role, ShortHash};

    use super::{After, originals};
    use crate::ledger::ItemKind;
    use crate::ledger::fixtures::{answers, calls, result, says};

    fn after(messages: &[Message<'_>]) -> After {
        let mut after = After::default();
        for message in messages {
            after.push(message);
        }
        after
    }

    #[test]
    fn texts_arguments_and_results_are_lines() {
        let after = after(&[
            says(Role::User, "one\n  two\t三"),
            calls("Read", r#"{"path":"a.rs","range":{"from":3}}"#),
            answers("fn  a()"),
            calls("Bash", "not JSON"),
        ]);
        assert_eq!(
            &after.text,
            "one two 三\nRead\npath\nrange\nfrom\na.rs\n3\nfn a()\nBash\nnot JSON\n"
        );
        let mut items = after.ledger.items.list.iter();
        assert!(items.any(|item| item.kind == ItemKind::File && item.text == "a.rs"));
        assert!(after.ledger.index.knows("a.rs") && !after.ledger.index.knows("b.rs"));
    }

    #[test]
    fn what_nobody_reads_is_not_searched() {
        let hidden = Message::new(Role::Assistant, vec![Part::Reasoning("hidden".into())]);
        let after = after(&[hidden, Message::new(Role::User, vec![])]);
        assert_eq!(&after.text, "");
        assert!(after.handles().is_empty() && after.ledger.items.list.is_empty());
    }

    #[test]
    fn handles_are_found_where_they_are_whole() {
        let hash = ShortHash::of("the original");
        let text = format!(
            "⟦ctx: Read a, all 12 bytes: ctx-offload --show {hash}⟧ and ⟦ctx:no handle⟧ and ⟦ctx: all 12 bytes"
        );
        let after = after(&[says(Role::User, &text)]);
        let handles = after.handles();
        assert_eq!(handles.len(), 1);
        assert_eq!((handles[0].hash, handles[0].bytes), (hash, 12));
    }

    #[test]
    fn secrets_are_not_searched() {
        let secret = ["sk-proj-", "aB3dE5gH7jK9mN1pQ2rS4tU6"].concat();
        let after = after(&[says(Role::User, &format!("the key {secret} is new"))]);
        assert!(!after.text.contains(&secret));
        assert!(after.text.ends_with("is new\n"));
    }

    #[test]
    fn a_handle_may_stand_for_a_result_or_a_text() {
        let mut message = says(Role::User, "a text");
        message.parts.push(Part::Result(result("a result")));
        message.parts.push(Part::Reasoning("not this".into()));
        assert!(originals(&message).eq(["a result", "a text"]));
        assert_eq!(originals(&Message::new(Role::User, vec![])).next(), None);
    }
}

#[cfg(test)]
mod hay_tests {
    use proptest::prelude::*;

    use super::Hay;

    #[test]
    fn whole_words_only() {
        let hay = Hay::of("open src/main.rs, user_12 and 文件user_3被");
        for found in ["src/main.rs", "main.rs", "user_12", "user_3", "件", ", user_12 and", "open"]
        {
            assert!(hay.has(found), "{found}");
        }
        for missing in ["rc/main.rs", "user_1", "main.r", "12", "ope", "", "user_12and"] {
            assert!(!hay.has(missing), "{missing}");
        }
    }

    #[test]
    fn a_cut_text_may_end_in_a_word() {
        let hay = Hay::of("do not touch the tests");
        assert!(hay.has_beginning("do not touch the te"));
        assert!(hay.has_beginning("d"));
        assert!(!hay.has_beginning("o not"));
        assert!(!hay.has_beginning(""));
    }

    #[test]
    fn only_what_ends_in_the_beginning_counts() {
        let hay = Hay::of("first 4711 second 4712");
        assert!(hay.has_within("4711", 10));
        assert!(!hay.has_within("4711", 9));
        assert!(!hay.has_within("4712", 17));
    }

    proptest! {
        #[test]
        fn it_finds_what_a_plain_search_finds(text in "[ab_ ./文]{0,30}", needle in "[ab_ ./文]{1,4}") {
            let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            // The expected result comes from a slow search at every position.
            let expected = text.char_indices().any(|(at, _)| {
                let Some(rest) = text[at..].strip_prefix(needle.as_str()) else { return false };
                let before = word(text[..at].chars().next_back()) && word(needle.chars().next());
                let behind = word(rest.chars().next()) && word(needle.chars().next_back());
                !before && !behind
            });
            prop_assert_eq!(Hay::of(&text).has(&needle), expected);
        }
    }
}
