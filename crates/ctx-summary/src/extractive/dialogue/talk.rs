//! Splits a dialogue into messages with speakers and dates, and each message into statements.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::segment_worth::pattern;
use super::prefix::{Prefix, is_date, stamp};
use crate::ledger::{Index, Origin, Segment, SegmentKind, is_label};

/// How many messages must begin with the same text for it to count as a name.
const LEAST_NAMED: usize = 3;

/// A message in a dialogue.
pub(super) struct Utterance<'i> {
    /// The line number of the message in the session, or 0 if it is unknown.
    pub(super) line: u64,
    pub(super) origin: Origin,
    /// The name before the text, and the separator after the name.
    pub(super) name: Option<&'i str>,
    pub(super) colon: &'i str,
    /// The date in front of the message, or else the most recent date before it.
    pub(super) date: Option<&'i str>,
    /// The indexes of the message's statements.
    pub(super) statements: Range<usize>,
}

/// A statement, without the name and the date before it.
pub(super) struct Statement<'i> {
    /// The index of the message that contains the statement.
    pub(super) said: usize,
    pub(super) text: &'i str,
    pub(super) kind: SegmentKind,
    pub(super) head: Option<usize>,
    /// True if the statement may be chosen, because the kept messages do not already contain it.
    pub(super) is_open: bool,
}

/// A dialogue, split into messages and statements.
pub(super) struct Talk<'i> {
    pub(super) said: Vec<Utterance<'i>>,
    pub(super) statements: Vec<Statement<'i>>,
    /// The speakers' names, as found at the beginning of messages.
    pub(super) names: Vec<&'i str>,
}

impl<'i> Talk<'i> {
    pub(super) fn of(index: &'i Index) -> Self {
        Self::without(index, &[])
    }

    /// Splits a dialogue. No statement in a segment marked in `hidden` may be chosen.
    pub(super) fn without(index: &'i Index, hidden: &[bool]) -> Self {
        let names = names(index);
        let mut talk =
            Self { said: Vec::new(), statements: Vec::with_capacity(index.segments.len()), names };
        let mut before: Option<(u64, Origin, u32)> = None;
        // For each segment, the index of its first statement.
        let mut numbers = Vec::with_capacity(index.segments.len());
        for (number, segment) in index.segments.iter().enumerate() {
            let text = index.text(segment);
            let prefix = Prefix::of(text, &talk.names);
            let place = (segment.line, segment.origin, segment.turn);
            let begins = before != Some(place) || prefix.name.is_some();
            if begins {
                talk.begin(segment, &prefix);
            }
            before = Some(place);
            let head = segment.head.map(|head| numbers[head]);
            numbers.push(talk.statements.len());
            let text = if begins { prefix.rest } else { text };
            let (choice, question) = parted(segment, text);
            for text in std::iter::once(choice).chain(question) {
                talk.push(segment, text, head);
                if hidden.get(number).is_some_and(|hidden| *hidden) {
                    talk.statements.last_mut().expect("just pushed").is_open = false;
                }
            }
        }
        for said in &mut talk.said {
            if let [one] = &mut talk.statements[said.statements.clone()] {
                one.is_open &= !is_date(one.text);
            }
        }
        talk.name_the_others();
        talk
    }

    /// If all named messages with a role have the same name, adds this name to the other messages
    /// with that role. A message lacks a name if the index left out its beginning because it
    /// repeats earlier text.
    fn name_the_others(&mut self) {
        for origin in [Origin::User, Origin::Said] {
            let of_role = self.said.iter().filter(|said| said.origin == origin);
            let mut known = of_role.filter_map(|said| Some((said.name?, said.colon)));
            let Some((name, colon)) = known.next() else { continue };
            if known.any(|(other, _)| other != name) {
                continue;
            }
            let lacks = |said: &&mut Utterance<'_>| said.origin == origin && said.name.is_none();
            for said in self.said.iter_mut().filter(lacks) {
                said.name = Some(name);
                said.colon = colon;
            }
        }
    }

    fn begin(&mut self, segment: &Segment, prefix: &Prefix<'i>) {
        let at = self.statements.len();
        // If a message consists only of a date, the date applies to the messages after it.
        let last = self.said.last().and_then(|last| {
            let [one] = &self.statements[last.statements.clone()] else { return None };
            is_date(one.text).then_some(one.text)
        });
        let before = self.said.last().and_then(|last| last.date);
        self.said.push(Utterance {
            line: segment.line,
            origin: segment.origin,
            name: prefix.name,
            colon: prefix.colon,
            date: prefix.date.or(last).or(before),
            statements: at..at,
        });
    }

    fn push(&mut self, segment: &Segment, text: &'i str, head: Option<usize>) {
        let said = self.said.len() - 1;
        self.said[said].statements.end += 1;
        // Text after a speaker's name is never a quotation, even if it looks like one.
        let kind = match (segment.kind.is_said(), self.said[said].name) {
            (true, _) => segment.kind,
            (false, Some(_)) => SegmentKind::Sentence,
            (false, None) => SegmentKind::Quoted,
        };
        self.statements.push(Statement {
            said,
            text,
            kind,
            head,
            is_open: !segment.is_covered && text.contains(char::is_alphanumeric),
        });
    }
}

pub(super) static CHOICE: LazyLock<Regex> = LazyLock::new(|| pattern("choice"));
static ASKS: LazyLock<Regex> = LazyLock::new(|| pattern("question"));

/// Returns true if `text` is a question.
pub(super) fn is_question(text: &str) -> bool {
    ASKS.is_match(text)
}

/// Splits a sentence that contains a choice and then a question, such as `那我去一号店吧，地址在哪？`.
fn parted<'i>(segment: &Segment, text: &'i str) -> (&'i str, Option<&'i str>) {
    let is_users = segment.origin == Origin::User && segment.kind == SegmentKind::Sentence;
    let comma = text.rfind('，').filter(|_| is_users && ASKS.is_match(text));
    let parts = comma.map(|at| text.split_at(at + '，'.len_utf8()));
    let parts = parts.filter(|(choice, _)| CHOICE.is_match(choice));
    parts.map_or((text, None), |(choice, question)| (choice, Some(question)))
}

/// Finds the names at the beginning of messages. Returns no names if most messages do not begin
/// with a name.
fn names(index: &Index) -> Vec<&str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut messages = 0;
    let mut before = None;
    for segment in &index.segments {
        let text = index.text(segment);
        let named = Prefix::named(stamp(text).1).filter(|_| !is_date(text));
        let name = named.and_then(|named| named.name);
        let place = Some((segment.line, segment.origin, segment.turn));
        messages += usize::from(before != place || name.is_some());
        if let Some(name) = name {
            *counts.entry(name).or_default() += 1;
        }
        before = place;
    }
    // A label such as `NOTE:` is no name.
    counts.retain(|name, count| *count >= LEAST_NAMED && !is_label(name));
    if counts.values().sum::<usize>() * 2 < messages {
        return Vec::new();
    }
    let mut names: Vec<&str> = counts.into_keys().collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use crate::ledger::{Ledger, Origin};

    use super::super::fixtures::ledger;
    use super::Talk;

    fn said(ledger: &Ledger) -> Vec<(Option<String>, Option<String>, Vec<String>)> {
        let talk = Talk::of(&ledger.index);
        let owned = |text: &str| text.to_owned();
        let texts = |said: &super::Utterance<'_>| {
            let statements = talk.statements[said.statements.clone()].iter();
            statements.map(|one| owned(one.text)).collect()
        };
        let said = talk.said.iter();
        said.map(|said| (said.name.map(owned), said.date.map(owned), texts(said))).collect()
    }

    #[test]
    fn names_and_dates_before_the_words_are_no_words() {
        let ledger = ledger(&[
            "[8 May 2023, 10:12] Ann Lee: Hello Bo! I moved to Oslo.",
            "Bo: Note: it rains.",
            "[D1:3] Ann Lee: Yes. [2019] It does.",
            "Bo: So it does.",
            "[9 May 2023, 7:01] Ann Lee: I left again.",
            "Bo (10 May): Oh.",
        ]);
        let found = said(&ledger);
        let (ann, bo) = (Some("Ann Lee".to_owned()), Some("Bo".to_owned()));
        let (first, second) =
            (Some("8 May 2023, 10:12".to_owned()), Some("9 May 2023, 7:01".to_owned()));
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(
            found[0],
            (ann.clone(), first.clone(), texts(&["Hello Bo!", "I moved to Oslo."]))
        );
        assert_eq!(found[1], (bo.clone(), first, texts(&["Note: it rains."])));
        assert_eq!(found[4], (ann, second, texts(&["I left again."])));
        assert_eq!(found[2].2, ["Yes.", "[2019] It does."]);
        assert_eq!(found[5], (bo, Some("10 May".to_owned()), texts(&["Oh."])));
    }

    #[test]
    fn a_message_whose_beginning_was_said_before_has_its_name() {
        let ledger = ledger(&[
            "Ann: Hello Bo!",
            "Bo: Oh! I moved to Oslo.",
            "Ann: Why?",
            "Bo: Oh! I like the sea.",
            "Ann: And now?",
            "Bo: Now I row.",
            "Ann: Where?",
            "Bo: Here.",
        ]);
        let found = said(&ledger);
        assert_eq!(found[3].0, Some("Bo".to_owned()));
        assert_eq!(found[3].2, ["I like the sea."]);
    }

    #[test]
    fn what_few_messages_begin_with_is_no_name() {
        let ledger = ledger(&[
            "Note: I moved.",
            "Where to?",
            "Note: to Oslo.",
            "Why?",
            "Note: for work.",
            "I see.",
            "It is cold.",
            "Is it?",
        ]);
        assert!(said(&ledger).iter().all(|(name, ..)| name.is_none()));
        let talk = Talk::of(&ledger.index);
        assert_eq!(talk.said[1].origin, Origin::Said);
    }

    #[test]
    fn a_choice_and_the_question_behind_it_are_two_statements() {
        let ledger = ledger(&["那我去老码头面馆吧，它家电话是多少？", "谢谢你，它家电话是多少？"]);
        let talk = Talk::of(&ledger.index);
        let texts: Vec<&str> = talk.statements.iter().map(|one| one.text).collect();
        assert_eq!(texts[..2], ["那我去老码头面馆吧，", "它家电话是多少？"]);
        assert_eq!(texts.len(), 3);
    }

    #[test]
    fn a_message_may_be_a_date() {
        let ledger = ledger(&["DATE: 8 May 2023", "Hello.", "I moved to Oslo."]);
        let talk = Talk::of(&ledger.index);
        assert!(!talk.statements[0].is_open);
        assert_eq!(talk.said[2].date, Some("DATE: 8 May 2023"));
    }
}
