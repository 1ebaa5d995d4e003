//! Quotes the segments of a message, and finds the identifiers in them.

use std::borrow::Cow;

use ctx_format::Message;
use ctx_redact::redact;
use ctx_text::{hash, head_and_tail};
use hashbrown::HashTable;

use crate::ledger::items::takes_back;
use crate::ledger::output::pieces;
use crate::ledger::segment::is_drawing;
use crate::ledger::statement::statements;
use crate::ledger::{
    Arguments, Event, Item, ItemKind, Mark, Origin, Quote, Reading, RuleKind, Scan, SegmentKind,
    Source, segments, without_marker,
};

/// A message with more statements than this is long.
const MANY_STATEMENTS: usize = 8;

/// Reads a message part by part.
pub(super) struct Reader {
    pub(super) reading: Reading,
    pub(super) scan: Scan,
    /// True if the message will be summarized, so that its text may be quoted.
    pub(super) leaves: bool,
    /// In an earlier summary, the index of the quote for the last call.
    pub(super) call: Option<usize>,
    /// The origin of the quoted lines that follow, as the earlier summary states it.
    pub(super) quoted: Origin,
}

impl Reader {
    pub(super) fn new(source: Source, leaves: bool) -> Self {
        Self {
            reading: Reading { source, ..Reading::default() },
            scan: Scan::default(),
            leaves,
            call: None,
            quoted: Origin::Result,
        }
    }

    pub(super) fn finish(mut self) -> Reading {
        // The table of names is needed only while identifiers are added.
        self.reading.mentions.numbers = HashTable::new();
        self.reading
    }

    pub(super) fn item(&mut self, item: Item) {
        let takes_back = item.kind == ItemKind::Decision && takes_back(&item.text);
        self.reading.events.push(Event::Item(item, takes_back));
    }

    /// Returns the index of the last quote if it introduces the text after it.
    pub(super) fn lead(&self) -> Option<usize> {
        let last = self.reading.quotes.last()?;
        matches!(last.kind, SegmentKind::Lead | SegmentKind::Heading)
            .then(|| self.reading.quotes.len() - 1)
    }

    /// Reserves memory for `quotes` quotes with a total length of `length` bytes.
    fn reserve(&mut self, quotes: usize, length: usize) {
        if self.leaves {
            self.reading.quotes.reserve(quotes);
            self.reading.marks.reserve(quotes);
            self.reading.mentions.reserve(quotes, length);
        }
    }

    /// Quotes the statements in redacted text.
    pub(super) fn said(&mut self, text: &str, origin: Origin, head: Option<usize>) {
        let statements = statements(text);
        let mut quotes: Vec<Option<usize>> = Vec::with_capacity(statements.len());
        self.reserve(statements.len(), text.len());
        // In a long message, values belong to the task, and only what is marked is a fact.
        let is_long = statements.len() > MANY_STATEMENTS;
        // What follows a labelled sentence in the same paragraph belongs to it.
        let mut labelled: Option<RuleKind> = None;
        for one in statements {
            let is_drawn = origin == Origin::Said && is_drawing(&one.text);
            if one.kind == SegmentKind::Quoted && is_drawn {
                quotes.push(None);
                continue;
            }
            let head = one.head.map_or(head, |head| quotes[head]);
            let lead = head.filter(|_| origin == Origin::User).map(|head| self.text(head));
            let mut rule =
                RuleKind::of(&one.text, origin, lead).filter(|_| one.kind.is_statement());
            if origin == Origin::User {
                let goes_on = labelled.filter(|_| one.kind == SegmentKind::Sentence && !one.begins);
                labelled = RuleKind::of_label(&one.text).or(goes_on);
                let is_fact = |rule: &RuleKind| *rule == RuleKind::Fact;
                let is_of_task = is_long && labelled.is_none();
                rule = rule.filter(|rule| !(is_of_task && is_fact(rule))).or(goes_on);
            }
            quotes.push(self.quote_rule(&one.text, origin, one.kind, head, rule));
        }
    }

    /// Quotes the lines of redacted text that has no speaker, such as tool output.
    pub(super) fn lines(&mut self, text: &str, origin: Origin, head: Option<usize>) {
        self.lines_with_rules(text, origin, head, |_| None);
    }

    /// Quotes the lines of redacted text that the user pasted. Demands in it are marked as pasted.
    pub(super) fn pasted(&mut self, text: &str, head: Option<usize>) {
        let rule = |piece: &str| RuleKind::of(piece, Origin::Pasted, None);
        self.lines_with_rules(text, Origin::Pasted, head, rule);
    }

    fn lines_with_rules(
        &mut self,
        text: &str,
        origin: Origin,
        head: Option<usize>,
        rule: impl Fn(&str) -> Option<RuleKind>,
    ) {
        let pieces = pieces(text, self.leaves);
        self.reserve(pieces.len(), text.len());
        for (kind, piece) in pieces {
            let is_rule = || {
                let is_item = kind == SegmentKind::Line && without_marker(&piece).0;
                is_item && RuleKind::of(&piece, Origin::Pasted, None).is_some()
            };
            let kind = match origin {
                Origin::Pasted => SegmentKind::Quoted,
                // The index knows whether the call read a file with rules.
                Origin::Result if self.leaves && is_rule() => SegmentKind::ProjectRule,
                _ => kind,
            };
            self.quote_rule(&piece, origin, kind, head, rule(&piece));
        }
    }

    pub(super) fn text(&self, quote: usize) -> &str {
        self.reading.mentions.text(&self.reading.quotes[quote].text)
    }

    /// Quotes a segment if it contains identifiers or if its kind is worth quoting. Returns the
    /// index of the quote, if any.
    pub(super) fn quote(
        &mut self,
        text: &str,
        origin: Origin,
        kind: SegmentKind,
        head: Option<usize>,
    ) -> Option<usize> {
        self.quote_rule(text, origin, kind, head, None)
    }

    /// Quotes a segment like [`Self::quote`]. A rule is always worth quoting.
    pub(super) fn quote_rule(
        &mut self,
        text: &str,
        origin: Origin,
        kind: SegmentKind,
        head: Option<usize>,
        rule: Option<RuleKind>,
    ) -> Option<usize> {
        use SegmentKind::{Change, Command, Outcome, ProjectRule, Reason};
        let prose = !matches!(origin, Origin::Call | Origin::Result);
        let found = self.scan.read(text, prose, self.leaves);
        let tells = kind.is_said()
            || matches!(kind, Outcome | Change | Command | Reason | ProjectRule)
            || rule.is_some();
        if found.is_empty() && !(tells && self.leaves) {
            return None;
        }
        let Reading { mentions, marks, quotes, .. } = &mut self.reading;
        // Text in a kept message is not quoted, but the identifiers in it are recorded.
        let quoted = self.leaves.then(|| mentions.push_text(text));
        let (start, first) = (quoted.as_ref().map(|text| text.start), marks.len());
        for found in found {
            let name = &text[found.place.clone()];
            let place = start.map(|at| at + found.place.start..at + found.place.end);
            let id = mentions.seen(name, found.shape, place, origin);
            match marks[first..].iter_mut().find(|mark| mark.id == id) {
                Some(mark) => mark.words = mark.words.max(found.words),
                None => marks.push(Mark { id, words: found.words }),
            }
        }
        let Some(text_place) = quoted else {
            marks.truncate(first);
            return None;
        };
        quotes.push(Quote {
            hash: hash(text),
            text: text_place,
            origin,
            kind,
            head,
            rule,
            marks: marks.len() - first,
            line: None,
            begins_turn: false,
        });
        Some(quotes.len() - 1)
    }

    /// Redacts and counts the secrets in `text`. If the text is too long, its middle is cut out.
    pub(super) fn clean<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let (clean, secrets) = redact(text);
        self.reading.secrets += secrets;
        head_and_tail(clean)
    }

    /// Records what a kept message covers: its original texts and its calls.
    pub(super) fn stays(&mut self, message: &Message<'_>) {
        for text in message.texts() {
            // Only the beginning and the end of long text can be quoted, so only these need to be
            // covered.
            let text = head_and_tail(text.into());
            self.add_coverage(&text);
            let kept = &mut self.reading.kept;
            kept.extend(statements(&text).iter().map(|one| hash(&one.text)));
            kept.extend(pieces(&text, false).iter().map(|(_, piece)| hash(piece)));
        }
        for call in message.calls() {
            let arguments = Arguments::parse(&call.arguments).unwrap_or_default();
            let values = arguments.leaves.iter().map(|leaf| leaf.value.as_str());
            let text = std::iter::once(call.name.as_ref()).chain(values);
            self.add_coverage(&text.collect::<Vec<_>>().join(" "));
        }
    }

    pub(super) fn add_coverage(&mut self, text: &str) {
        segments(text, |segment| {
            let mentions = &mut self.reading.mentions;
            for found in self.scan.read(segment, true, true) {
                let number = mentions.number(&segment[found.place.clone()], found.shape, None);
                let coverage = &mut mentions.list[number as usize].coverage;
                *coverage = (*coverage).max(1 + found.words);
            }
        });
    }
}
