//! Reads one message independently of all others.
//!
//! Most of the work for a ledger is done here: secrets are redacted, sentences are judged, and
//! identifiers are found. A [`Reading`] can be made on any thread. The ledger then absorbs the
//! readings in session order.

mod calls;
mod message;
mod quotes;

use std::ops::Range;

use ctx_text::hash;
use hashbrown::HashTable;

use crate::ledger::{
    Action, Item, ItemKind, Origin, Origins, Outcome, RuleKind, SegmentKind, Shape,
};

/// The result of reading one message.
#[derive(Debug, Default)]
pub struct Reading {
    pub(crate) source: Source,
    pub(crate) events: Vec<Event>,
    pub(crate) mentions: Mentions,
    pub(crate) quotes: Vec<Quote>,
    /// The identifiers in all quotes, in order. The ids in this list are indexes into the reading's
    /// mentions.
    pub(crate) marks: Vec<Mark>,
    /// The hashes of the texts in a kept message. A summary need not quote these texts.
    pub(crate) kept: Vec<u64>,
    /// True if the message is a slash command that has a template.
    pub(crate) is_command: bool,
    /// The number of secrets that were redacted in the message.
    pub(crate) secrets: usize,
}

/// The minimum length of a template, in bytes. A shorter message after a slash command contains the
/// user's words.
const TEMPLATE: usize = 1_000;

impl Reading {
    /// Attributes a message after a slash command to the author of the command's template, marks the
    /// demands in it, and returns true, unless the message is short.
    pub(crate) fn hand_on_template(&mut self) -> bool {
        let is_request = self.source == (Source::Message { is_request: true });
        if !is_request || self.mentions.text.len() < TEMPLATE {
            return false;
        }
        self.source = Source::Message { is_request: false };
        self.events.retain(|event| !matches!(event, Event::Item(..)));
        for quote in self.quotes.iter_mut().filter(|quote| quote.origin == Origin::User) {
            quote.origin = Origin::Pasted;
            quote.rule = None;
            if RuleKind::of(self.mentions.text(&quote.text), Origin::Pasted, None).is_some() {
                quote.kind = SegmentKind::ProjectRule;
            }
            quote.begins_turn = false;
        }
        true
    }
}

/// The source of a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// A system message, which is always kept.
    #[default]
    System,
    /// Any other message. `is_request` is true if it contains the user's words.
    Message { is_request: bool },
    /// An earlier summary.
    Earlier,
    /// A kept message that was read a second time.
    Stays,
}

/// An item, a call or a result in a message.
#[derive(Debug)]
pub(crate) enum Event {
    /// An item, and whether it may supersede an earlier item. An item from an earlier summary
    /// already has its line number.
    Item(Item, bool),
    /// A call, and the index of its quote.
    Call(Action, Option<usize>),
    /// A result, and the indexes of its quotes.
    Result(Outcome, Range<usize>),
    /// The number of items of each kind that an earlier summary left out.
    LeftOut(Vec<(ItemKind, usize)>),
}

/// A segment that may be quoted.
#[derive(Debug)]
pub(crate) struct Quote {
    pub(crate) hash: u64,
    /// The range of the quote in the text that [`Mentions`] stores.
    pub(crate) text: Range<usize>,
    pub(crate) origin: Origin,
    pub(crate) kind: SegmentKind,
    /// The index of the quote to which this quote belongs, such as its heading.
    pub(crate) head: Option<usize>,
    /// What kind of rule the quote is, if the user means it to hold.
    pub(crate) rule: Option<RuleKind>,
    /// The number of identifiers in the quote.
    pub(crate) marks: usize,
    /// The line number that replaces the message's line number, if the quote comes from an earlier
    /// summary.
    pub(crate) line: Option<u64>,
    /// True if the quote begins a user request.
    pub(crate) begins_turn: bool,
}

/// The index of an identifier in the [`Index`](super::Index), or of a mention in a reading.
pub type Id = u32;

/// An identifier in a segment.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// The id of the identifier.
    pub id: Id,
    /// The number of nearby words that describe the identifier, up to two.
    pub words: u8,
}

/// An identifier in a message.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) hash: u64,
    place: Range<usize>,
    pub(crate) shape: Shape,
    /// The origins of the texts that contain the identifier. The set is empty if the identifier is
    /// only recorded as covered.
    pub(crate) origins: Origins,
    /// How well a kept message covers the identifier: 0 if it does not contain the identifier, else
    /// 1 plus the number of words around it.
    pub(crate) coverage: u8,
}

/// All identifiers in a message, in order of first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    pub(crate) list: Vec<Mention>,
    /// The text of all quotes from the message, and of all identifiers outside quotes.
    text: String,
    numbers: HashTable<Id>,
}

impl Mentions {
    /// Reserves memory for the names in `quotes` quotes, and for `length` bytes of text.
    fn reserve(&mut self, quotes: usize, length: usize) {
        self.text.reserve(length);
        self.list.reserve(quotes);
        self.numbers.reserve(quotes, |id| self.list[*id as usize].hash);
    }

    pub(crate) fn name(&self, mention: &Mention) -> &str {
        &self.text[mention.place.clone()]
    }

    pub(crate) fn text(&self, place: &Range<usize>) -> &str {
        &self.text[place.clone()]
    }

    /// Adds text that may be quoted and may contain identifiers.
    pub(super) fn push_text(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// Returns the id of an identifier. `place` is the range of the identifier in the stored text,
    /// if the text contains it.
    pub(super) fn number(&mut self, name: &str, shape: Shape, place: Option<Range<usize>>) -> Id {
        let hash = hash(name);
        let (list, text) = (&self.list, &self.text);
        let is_same = |id: &Id| text[list[*id as usize].place.clone()] == *name;
        if let Some(id) = self.numbers.find(hash, is_same) {
            return *id;
        }
        let place = place.unwrap_or_else(|| self.push_text(name));
        let id = Id::try_from(self.list.len()).unwrap_or(Id::MAX);
        self.list.push(Mention { hash, place, shape, origins: Origins::default(), coverage: 0 });
        let list = &self.list;
        self.numbers.insert_unique(hash, id, |id| list[*id as usize].hash);
        id
    }

    /// Records an identifier in text of this origin, and returns its id.
    pub(super) fn seen(
        &mut self,
        name: &str,
        shape: Shape,
        place: Option<Range<usize>>,
        origin: Origin,
    ) -> Id {
        let id = self.number(name, shape, place);
        let mention = &mut self.list[id as usize];
        mention.origins.add(origin);
        // Any other shape is more specific than `Argument`.
        if mention.shape == Shape::Argument {
            mention.shape = shape;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Call, Message, Part, Role, ToolResult, Zone};
    use hashbrown::HashTable;

    use super::{Event, Mentions, Reading, Source};
    use crate::ledger::identifier::Shape;
    use crate::ledger::segment::Origin;
    use crate::ledger::{ItemKind, Ledger};

    fn says(role: Role, text: &str) -> Message<'_> {
        Message::new(role, vec![Part::Text(text.into())])
    }

    fn calls<'m>(name: &'m str, arguments: &'m str) -> Message<'m> {
        let call = Call {
            id: Some("c".into()),
            name: name.into(),
            arguments: arguments.into(),
            slot: None,
        };
        Message::new(Role::Assistant, vec![Part::Call(call)])
    }

    fn answers(text: &str) -> Message<'_> {
        let result = ToolResult {
            id: Some("c".into()),
            parts: vec![Part::Text(text.into())],
            ..ToolResult::default()
        };
        Message::new(Role::Tool, vec![Part::Result(result)])
    }

    fn names(reading: &Reading) -> Vec<&str> {
        let mentions = reading.mentions.list.iter();
        mentions.map(|mention| reading.mentions.name(mention)).collect()
    }

    fn quotes(reading: &Reading) -> Vec<(Origin, &str)> {
        let quotes = reading.quotes.iter();
        quotes.map(|quote| (quote.origin, reading.mentions.text(&quote.text))).collect()
    }

    #[test]
    fn readings_made_in_another_thread_give_the_same_ledger() {
        let messages = [
            says(Role::System, "you serve user_0001"),
            says(Role::User, "Please refund order W8123. Never call user_0001."),
            calls("refund", r#"{"order":"W8123","note":"see src/main.rs"}"#),
            answers("Error: order W8123 is closed"),
        ];
        let mut pushed = Ledger::default();
        let mut absorbed = Ledger::default();
        for (line, message) in (1..).zip(&messages) {
            pushed.push(line, message, Zone::Old);
            let reading = std::thread::scope(|scope| {
                let reader = scope.spawn(|| Reading::of(message, Zone::Old));
                reader.join().expect("it does not panic")
            });
            absorbed.absorb(line, reading);
        }
        assert_eq!(&absorbed.items.list, &pushed.items.list);
        assert!(absorbed.items.list.iter().any(|item| item.kind == ItemKind::Error));
        assert_eq!(absorbed.index.identifiers(), pushed.index.identifiers());
        assert_eq!(absorbed.index.identifiers().len(), 4);
    }

    #[test]
    fn a_message_that_leaves_can_be_quoted_and_one_that_stays_tells() {
        let message = says(Role::User, "the order W8123 was shipped\n\nnothing in here");
        let old = Reading::of(&message, Zone::Old);
        assert_eq!(
            quotes(&old),
            [(Origin::User, "the order W8123 was shipped"), (Origin::User, "nothing in here")]
        );
        assert!(old.mentions.list.iter().all(|mention| mention.coverage == 0));
        let keep = Reading::of(&message, Zone::Keep);
        assert_eq!(quotes(&keep), []);
        assert!(keep.events.is_empty() && keep.marks.is_empty());
        let coverage: Vec<u8> = keep.mentions.list.iter().map(|mention| mention.coverage).collect();
        assert_eq!((names(&keep), coverage), (vec!["W8123"], vec![3]));
    }

    #[test]
    fn what_stays_only_tells() {
        let stay = Reading::of_stay(&calls("refund", r#"{"order":"W8123"}"#));
        assert_eq!(stay.source, Source::Stays);
        assert_eq!(names(&stay), ["W8123"]);
        assert!(stay.mentions.list.iter().all(|mention| mention.origins.is_empty()));
    }

    #[test]
    fn only_what_the_user_says_is_a_request() {
        let source = |message| Reading::of(&message, Zone::Old).source;
        let message = |is_request| Source::Message { is_request };
        assert_eq!(source(says(Role::User, "go on")), message(true));
        assert_eq!(source(says(Role::Assistant, "go on")), message(false));
        let mut results = answers("done");
        results.role = Role::User;
        assert_eq!(source(results), message(false));
        assert_eq!(source(says(Role::Developer, "go on")), Source::System);
    }

    #[test]
    fn an_empty_message_reads_as_nothing() {
        for message in [
            Message::new(Role::User, vec![]),
            says(Role::User, ""),
            says(Role::Tool, " \n\t\n"),
            says(Role::System, ""),
        ] {
            let reading = Reading::of(&message, Zone::Old);
            assert!(reading.events.is_empty() && reading.quotes.is_empty());
            assert_eq!(names(&reading), [""; 0]);
        }
    }

    #[test]
    fn secrets_are_counted_and_stand_nowhere() {
        let secret = ["sk-proj-", "aB3dE5gH7jK9mN1pQ2rS4tU6"].concat();
        let text = format!("the key {secret} is for user_4711");
        let arguments = format!(r#"{{"key":"{secret}"}}"#);
        for message in [says(Role::User, &text), calls("login", &arguments), answers(&text)] {
            let reading = Reading::of(&message, Zone::Old);
            assert_eq!(reading.secrets, 1);
            assert!(!format!("{reading:?}").contains(&secret));
        }
    }

    #[test]
    fn arguments_are_a_line_and_long_ones_are_texts() {
        let arguments = format!(
            r#"{{"path":"src/a.rs","limit":20,"empty":"","body":"fn one_fn() {{\n{}W8123"}}"#,
            "word ".repeat(30)
        );
        let message = calls("Edit", &arguments);
        let reading = Reading::of(&message, Zone::Old);
        let found = quotes(&reading);
        assert_eq!(found[0], (Origin::Call, "Edit path: src/a.rs; limit: 20"));
        assert_eq!(found[1], (Origin::Call, "fn one_fn() {"));
        assert!(found[2].1.ends_with("W8123"));
        // The arguments of a call are recorded before the line that quotes it.
        assert_eq!(names(&reading), ["src/a.rs", "a.rs", "one_fn", "W8123"]);
        let free = calls("Bash", "ls src/a.rs");
        let free = Reading::of(&free, Zone::Old);
        assert_eq!(quotes(&free), [(Origin::Call, "Bash ls src/a.rs")]);
    }

    #[test]
    fn a_comment_that_gives_a_reason_is_quoted_without_any_name_in_it() {
        let text = "// It must end here, so that nothing more is written.\n// It ends here and there is no more.";
        let of = |text: &str| quotes(&Reading::of(&answers(text), Zone::Old)).len();
        assert_eq!(of(text), 1);
        assert_eq!(of("// It ends here and there is no more."), 0);
    }

    #[test]
    fn each_mark_belongs_to_its_quote() {
        let message = answers("user_1, user_2 and user_1\nuser_2 alone");
        let reading = Reading::of(&message, Zone::Old);
        let marks: Vec<usize> = reading.quotes.iter().map(|quote| quote.marks).collect();
        assert_eq!(marks, [2, 1]);
        let ids: Vec<u32> = reading.marks.iter().map(|mark| mark.id).collect();
        assert_eq!(ids, [0, 1, 1]);
    }

    #[test]
    fn an_earlier_summary_is_read_by_its_lines() {
        let reading = Reading::of_earlier(
            "## Decisions\n- use order_17 instead ⟦4⟧\n## Details (> quotes tool results)\n> row W8123\n⟦left out: 2 commands⟧",
        );
        assert_eq!(reading.source, Source::Earlier);
        // The items in the earlier summary become items again, not quotes.
        assert_eq!(quotes(&reading), [(Origin::Result, "row W8123")]);
        assert_eq!(names(&reading), ["order_17", "W8123"]);
        assert!(matches!(
            reading.events.as_slice(),
            [Event::Item(item, true), Event::LeftOut(counts)]
                if item.line == 4 && *counts == [(ItemKind::Command, 2)]
        ));
        let free = Reading::of_earlier("it was about W8123");
        assert_eq!(quotes(&free), [(Origin::Said, "it was about W8123")]);
        let drafted = Reading::of_earlier(
            "What came before in this session was compacted. Its summary:\n\nThis session is being continued from a previous conversation.\nAnalysis:\nit began with W8123\nSummary:\nit was about W8123",
        );
        assert_eq!(quotes(&drafted), [(Origin::Said, "it was about W8123")]);
    }

    fn names_of(mentions: &Mentions) -> Vec<&str> {
        mentions.list.iter().map(|mention| mentions.name(mention)).collect()
    }

    #[test]
    fn a_name_has_one_number_wherever_it_stands() {
        let mut mentions = Mentions::default();
        let quote = mentions.push_text("see user_1 and user_2");
        let first = mentions.number("user_1", Shape::Keyed, Some(4..10));
        let second = mentions.number("user_2", Shape::Keyed, Some(15..21));
        assert_eq!((first, second), (0, 1));
        assert_eq!(mentions.number("user_1", Shape::Keyed, None), first);
        // The third identifier does not occur in a quote.
        let third = mentions.number("订单17", Shape::Mixed, None);
        assert_eq!(third, 2);
        assert_eq!(names_of(&mentions), ["user_1", "user_2", "订单17"]);
        assert_eq!(mentions.text(&quote), "see user_1 and user_2");
        mentions.numbers = HashTable::new();
        assert_eq!(names_of(&mentions).len(), 3);
    }

    #[test]
    fn many_names_are_told_apart() {
        let mut mentions = Mentions::default();
        let names: Vec<String> = (0..2_000).map(|n| format!("name_{n}")).collect();
        for _ in 0..2 {
            for (number, name) in (0..).zip(&names) {
                assert_eq!(mentions.number(name, Shape::Keyed, None), number);
            }
        }
        assert_eq!(mentions.list.len(), names.len());
    }

    #[test]
    fn only_an_argument_takes_another_shape() {
        let mut mentions = Mentions::default();
        let id = mentions.number("W812", Shape::Argument, None);
        assert!(mentions.list[id as usize].origins.is_empty());
        for (shape, expected) in [
            (Shape::Argument, Shape::Argument),
            (Shape::Code, Shape::Code),
            (Shape::Number, Shape::Code),
        ] {
            assert_eq!(mentions.seen("W812", shape, None, Origin::Call), id);
            assert_eq!(mentions.list[id as usize].shape, expected);
        }
        assert!(!mentions.list[id as usize].origins.is_empty());
    }

    #[test]
    fn there_may_be_none() {
        let mut mentions = Mentions::default();
        assert_eq!(mentions.push_text(""), 0..0);
        mentions.numbers = HashTable::new();
        assert_eq!(names_of(&mentions), [""; 0]);
    }
}
