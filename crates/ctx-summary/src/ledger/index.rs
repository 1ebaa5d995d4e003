//! The index of a session: its identifiers, the history of each identifier, and the segments that a
//! summary can quote.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread::{Builder, scope};

use ctx_text::{WordSet, hash};
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::ledger::call::{is_commit, is_untested};
use crate::ledger::form::OUTCOME;
use crate::ledger::relevance::{Facts, SessionPosition};
use crate::ledger::{
    Id, LISTS, Mark, Mention, Origin, Outcome, Reading, Scan, Segment, SegmentKind, Shape, Source,
    segments,
};

/// A name, number or address that a later call may need verbatim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identifier<'l> {
    /// The text of the identifier.
    pub text: &'l str,
    /// The line number of the last message that contains the identifier.
    pub line: u64,
    /// The probability that a later call needs the identifier, from 0 to 1.
    pub chance: f64,
}

/// The identifiers and segments of a session, collected in one pass.
#[derive(Debug, Default)]
pub struct Index {
    /// The id of each identifier, by the hash of its name.
    pub(crate) ids: HashTable<Id>,
    pub(crate) known: Vec<Entry>,
    /// The names of all identifiers in one string.
    pub(crate) names: String,
    /// How well the kept messages cover each identifier: 0 if no message contains the identifier,
    /// else 1 plus the number of words around it in the message that covers it best.
    pub(crate) coverage: Vec<u8>,
    /// The segments, in session order.
    pub segments: Vec<Segment>,
    pub(crate) marks: Vec<Mark>,
    /// The texts of all segments in one string.
    pub(crate) arena: String,
    /// The index of each segment, by the hash of its text.
    pub(crate) seen: HashMap<u64, usize, RandomState>,
    /// For each call that repeats an earlier one, the index of the earlier one.
    repeated: HashMap<usize, usize, RandomState>,
    turn: u32,
    /// The model's latest question to which the user has not replied yet.
    pub(crate) question: Option<usize>,
    now: SessionPosition,
}

/// The maximum length of an answer that means nothing without its question, in bytes.
const SHORT_ANSWER: usize = 32;

/// The beginning of a handle, which stands for the rest of a long result.
pub(crate) const HANDLE: &str = "⟦ctx:";

/// The minimum number of segments at which starting a second thread saves time.
const MANY_SEGMENTS: usize = 1 << 11;

/// Returns true if a call names a file with rules for a project, such as `AGENTS.md`.
fn has_rules(call: &str) -> bool {
    static FILES: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("files of rules"));
    call.split(['/', ' ', ';', '\\']).any(|word| FILES.contains(word))
}

/// An identifier in the session.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The start of the identifier's name in [`Index::names`]. The length of the name is in
    /// `facts`.
    pub(crate) start: usize,
    /// The line number of the last message that contains the identifier, or 0 if only system
    /// messages or earlier summaries contain it.
    pub(crate) line: u64,
    pub(crate) facts: Facts,
    /// True if a system message contains the identifier. Such an identifier cannot be lost, because
    /// system messages are always kept.
    pub(crate) is_given: bool,
}

impl Entry {
    pub(crate) fn name(&self) -> Range<usize> {
        self.start..self.start + self.facts.length()
    }
}

impl Index {
    /// Adds the identifiers from a system message.
    pub(crate) fn absorb_given(&mut self, reading: &Reading) {
        for mention in &reading.mentions.list {
            let id = self.id(mention.hash, reading.mentions.name(mention), mention.shape);
            self.known[id as usize].is_given = true;
        }
    }

    /// Adds a message or an earlier summary, and returns the segment index for each of its quotes.
    /// `first_request` is true if the user has made only one request so far.
    pub(crate) fn absorb(
        &mut self,
        line: u64,
        reading: &Reading,
        first_request: bool,
    ) -> Vec<usize> {
        self.now.messages += 1;
        self.now.first_request = first_request;
        let now = self.now;
        let mentions = &reading.mentions;
        let is_seen = |mention: &&Mention| !mention.origins.is_empty();
        let crowd = mentions.list.iter().filter(is_seen).count();
        // For each mention in this message, the id of the identifier.
        let mut ids = Vec::with_capacity(mentions.list.len());
        for mention in &mentions.list {
            // An identifier that is only recorded as covered has no id.
            let mut id = Id::MAX;
            if !mention.origins.is_empty() {
                id = self.id(mention.hash, mentions.name(mention), mention.shape);
                let known = &mut self.known[id as usize];
                known.facts.seen(mention.origins, mention.shape, crowd, now);
                known.line = line;
            }
            ids.push(id);
        }
        let mut marks = reading.marks.as_slice();
        let mut numbers: Vec<usize> = Vec::with_capacity(reading.quotes.len());
        for quote in &reading.quotes {
            let (own, others) = marks.split_at(quote.marks);
            marks = others;
            self.turn += u32::from(quote.begins_turn);
            // Repeated text is not added again, unless the user repeats it, which makes it current
            // again, or it is a call, which may have another outcome.
            let known = self.seen.get(&quote.hash).copied();
            let is_action = matches!(quote.kind, SegmentKind::Change | SegmentKind::Command);
            let is_new = quote.origin == Origin::User || quote.origin == Origin::Call && is_action;
            if let Some(number) = known.filter(|_| !is_new) {
                numbers.push(number);
                continue;
            }
            let number = self.segments.len();
            if let Some(known) = known.filter(|_| is_action) {
                self.repeated.insert(number, known);
            }
            let text = mentions.text(&quote.text);
            // A short answer means nothing without its question.
            let is_answer = quote.begins_turn && text.len() <= SHORT_ANSWER;
            let answered = if is_answer { self.question.take() } else { None };
            if quote.origin == Origin::Said {
                self.question = text.ends_with(['?', '？']).then_some(number).or(self.question);
            } else if quote.origin == Origin::User {
                self.question = None;
            }
            self.seen.insert(quote.hash, number);
            numbers.push(number);
            let (start, first_mark) = (self.arena.len(), self.marks.len());
            self.arena.push_str(text);
            self.marks.extend(
                own.iter().map(|mark| Mark { id: ids[mark.id as usize], words: mark.words }),
            );
            self.segments.push(Segment {
                line: quote.line.unwrap_or(line),
                origin: quote.origin,
                kind: quote.kind,
                // For a heading that repeats earlier text, this is the segment with the earlier
                // text.
                head: quote.head.map(|head| numbers[head]).or(answered),
                turn: self.turn,
                outcome: None,
                rule: quote.rule,
                is_covered: false,
                is_earlier: reading.source == Source::Earlier,
                text: start..self.arena.len(),
                marks: first_mark..self.marks.len(),
            });
        }
        numbers
    }

    /// Links the segments from a result to the call. If the call reads or changes a file, the lines
    /// of the result are file content, not outcomes.
    pub(crate) fn answer(&mut self, call: usize, segments: &[usize], is_file: bool) {
        let has_rules = has_rules(self.text(&self.segments[call]));
        for number in segments.iter().filter(|number| **number > call) {
            let says_itself = self.has_what_was_asked(*number, call);
            let segment = &mut self.segments[*number];
            if !says_itself {
                segment.head = segment.head.or(Some(call));
            }
            let is_no_rule = !has_rules && segment.kind == SegmentKind::ProjectRule;
            if is_no_rule || is_file && segment.kind == SegmentKind::Outcome {
                segment.kind = SegmentKind::Line;
            }
            // The content of a file can be read again without its handle.
            segment.is_covered |= is_file && self.arena[segment.text.clone()].starts_with(HANDLE);
        }
    }

    /// Returns true if a record in a result contains every value from the call, and is therefore
    /// clear without the call.
    fn has_what_was_asked(&self, number: usize, call: usize) -> bool {
        let text = |number: usize| &self.arena[self.segments[number].text.clone()];
        let pairs = || text(call).split("; ").filter_map(|it| it.split_once(": "));
        self.segments[number].kind == SegmentKind::Record
            && pairs().all(|(_, value)| text(number).contains(value))
    }

    /// Marks segments as covered, so that no summary quotes them.
    pub(crate) fn hide(&mut self, segments: &[usize]) {
        for number in segments {
            self.segments[*number].is_covered = true;
        }
    }

    /// Marks the content of a kept message as covered, so that no summary quotes it.
    pub(crate) fn cover(&mut self, reading: &Reading) {
        let mentions = reading.mentions.list.iter();
        for mention in mentions.filter(|mention| mention.coverage > 0) {
            if let Some(id) = self.find(mention.hash, reading.mentions.name(mention)) {
                let coverage = &mut self.coverage[id as usize];
                *coverage = (*coverage).max(mention.coverage);
            }
        }
        let kept = reading.kept.iter().filter_map(|kept| self.seen.get(kept)).copied();
        self.hide(&kept.collect::<Vec<_>>());
    }

    /// Returns how well `text` and the kept messages cover each identifier. The coverage is 0 if
    /// the identifier does not occur in these texts, and otherwise 1 plus the number of words
    /// around it, up to two.
    pub fn coverage_with(&self, text: &str) -> Vec<u8> {
        let mut coverage = self.coverage.clone();
        let mut scan = Scan::default();
        segments(text, |segment| {
            for found in scan.read(segment, true, true) {
                let name = &segment[found.place.clone()];
                if let Some(id) = self.find(hash(name), name) {
                    let known = &mut coverage[id as usize];
                    *known = (*known).max(1 + found.words);
                }
            }
        });
        coverage
    }

    fn find(&self, hash: u64, name: &str) -> Option<Id> {
        let is_same = |id: &Id| self.names[self.known[*id as usize].name()] == *name;
        self.ids.find(hash, is_same).copied()
    }

    fn id(&mut self, hash: u64, name: &str, shape: Shape) -> Id {
        if let Some(id) = self.find(hash, name) {
            return id;
        }
        let known = Entry {
            start: self.names.len(),
            line: 0,
            facts: Facts::new(shape, name.len(), self.now),
            is_given: false,
        };
        self.names.push_str(name);
        self.coverage.push(0);
        self.insert(hash, known)
    }

    /// Adds an identifier that is not in the index yet, and returns its id.
    pub(crate) fn insert(&mut self, of_name: u64, known: Entry) -> Id {
        let id = Id::try_from(self.known.len()).unwrap_or(Id::MAX);
        self.known.push(known);
        let (known, names) = (&self.known, &self.names);
        let rehash = |id: &Id| hash(&names[known[*id as usize].name()]);
        self.ids.insert_unique(of_name, id, rehash);
        id
    }

    /// Calls `of` for each half of the segments, and returns both results. Uses two threads if
    /// there are many segments.
    pub(crate) fn in_halves<T: Send>(&self, of: impl Fn(Range<usize>) -> T + Sync) -> [T; 2] {
        let count = self.segments.len();
        let second = || of(count / 2..count);
        scope(|scope| {
            let start = || Builder::new().spawn_scoped(scope, second).ok();
            let thread = (count >= MANY_SEGMENTS).then(start).flatten();
            let first = of(0..count / 2);
            let second = match thread {
                Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                None => second(),
            };
            [first, second]
        })
    }

    /// Records what came of a call.
    pub(crate) fn conclude(&mut self, call: usize, outcome: &Outcome, segments: &[usize]) {
        let outcomes =
            segments.iter().filter(|number| self.segments[**number].kind == SegmentKind::Outcome);
        let outcomes: Vec<usize> = outcomes.copied().collect();
        let texts: Vec<&str> =
            outcomes.iter().map(|number| self.text(&self.segments[*number])).collect();
        let line = outcome.line(&texts);
        // What the line says need not be quoted again.
        let is_told = |text: &&str| {
            let is_error =
                outcome.error.as_ref().is_some_and(|error| text.contains(error.as_str()));
            is_error || text.starts_with("ok ") || is_untested(text) || line.contains(text.trim())
        };
        let told = texts.iter().map(is_told);
        let told: Vec<bool> = told.collect();
        for (number, is_told) in outcomes.into_iter().zip(told) {
            self.segments[number].is_covered |= is_told && number > call;
        }
        let outcome = (!line.is_empty()).then(|| line.into());
        // Of runs of a command with the same outcome, the last one says how things are.
        if let Some(before) = self.repeated.get(&call) {
            let before = &mut self.segments[*before];
            before.is_covered |= before.outcome == outcome;
        }
        self.segments[call].outcome = outcome;
    }

    /// Returns the text of a segment. For a call, what came of it follows.
    pub fn line(&self, segment: &Segment) -> Cow<'_, str> {
        match segment.outcome.as_deref() {
            // The outcome contains the message of the commit.
            Some(outcome) if outcome.split("; ").next().is_some_and(is_commit) => {
                let tool = self.text(segment).split(": ").next().unwrap_or_default();
                format!("{tool}: git commit{OUTCOME}{outcome}").into()
            }
            Some(outcome) => format!("{}{OUTCOME}{outcome}", self.text(segment)).into(),
            None => self.text(segment).into(),
        }
    }

    /// Returns the text of a segment.
    pub fn text(&self, segment: &Segment) -> &str {
        &self.arena[segment.text.clone()]
    }

    /// Returns the identifiers in a segment.
    pub fn marks(&self, segment: &Segment) -> &[Mark] {
        &self.marks[segment.marks.clone()]
    }

    /// Returns the probability that each identifier is needed again.
    pub fn chances(&self) -> Vec<f64> {
        let chance = |known: &Entry| {
            if known.is_given { 0.0 } else { known.facts.chance(self.now) }
        };
        self.known.iter().map(chance).collect()
    }

    /// Returns the identifiers that no system message contains, ordered from most to least likely
    /// to be needed again.
    pub fn identifiers(&self) -> Vec<Identifier<'_>> {
        let all = self.known.iter().zip(self.chances());
        let all = all.map(|(known, chance)| Identifier {
            text: &self.names[known.name()],
            line: known.line,
            chance,
        });
        let mut found: Vec<_> = all.filter(|identifier| identifier.chance > 0.0).collect();
        found.sort_by(|a, b| {
            let by_place = || a.line.cmp(&b.line).then_with(|| a.text.cmp(b.text));
            b.chance.total_cmp(&a.chance).then_with(by_place)
        });
        found
    }

    /// Returns true if the session contains the identifier.
    pub fn knows(&self, identifier: &str) -> bool {
        self.find(hash(identifier), identifier).is_some()
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Role, Zone};

    use super::{Index, MANY_SEGMENTS};
    use crate::ledger::fixtures::{answers, calls, says};
    use crate::ledger::reading::Reading;

    fn read(role: Role, text: &str) -> Reading {
        Reading::of(&says(role, text), Zone::Old)
    }

    fn names(index: &Index) -> Vec<&str> {
        let found = index.identifiers();
        found.iter().map(|identifier| identifier.text).collect()
    }

    #[test]
    fn an_empty_index_knows_nothing() {
        let mut index = Index::default();
        for text in ["", " \n", "..."] {
            index.absorb(1, &read(Role::User, text), true);
        }
        assert_eq!(index.arena.len(), 0);
        assert!(index.segments.is_empty() && index.chances().is_empty());
        assert!(names(&index).is_empty() && !index.knows(""));
        assert!(index.coverage_with("user_1 is not known").is_empty());
    }

    #[test]
    fn the_halves_are_all_segments_in_order() {
        for count in [0, 1, MANY_SEGMENTS - 1, MANY_SEGMENTS + 1] {
            let mut index = Index::default();
            let text: Vec<String> = (0..count).map(|number| format!("line {number}\n")).collect();
            index.absorb(1, &read(Role::Assistant, &text.concat()), true);
            assert_eq!(index.segments.len(), count);
            let numbers = index.in_halves(Iterator::collect::<Vec<usize>>).concat();
            assert_eq!(numbers, (0..count).collect::<Vec<usize>>());
        }
    }

    #[test]
    fn a_segment_is_kept_once_with_its_first_line() {
        let mut index = Index::default();
        index.absorb(3, &read(Role::Assistant, "订单 W8123 已发货"), true);
        index.absorb(7, &read(Role::Assistant, "订单 W8123 已发货"), false);
        let [segment] = &index.segments[..] else {
            panic!("{:?}", &index.segments);
        };
        assert_eq!(segment.line, 3);
        assert_eq!(index.text(segment), "订单 W8123 已发货");
        assert_eq!(index.marks(segment).len(), 1);
        assert_eq!(index.arena.len(), "订单 W8123 已发货".len());
        // The line number is that of the second message, the last to contain the identifier.
        assert_eq!(index.identifiers()[0].line, 7);
    }

    #[test]
    fn what_a_user_says_again_he_means_again() {
        let mut index = Index::default();
        for line in [3, 7] {
            index.absorb(line, &read(Role::User, "run the tests"), true);
        }
        let turns = index.segments.iter().map(|segment| segment.turn);
        assert_eq!(turns.collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn marks_name_the_identifiers_of_the_whole_session() {
        let mut index = Index::default();
        index.absorb(1, &read(Role::User, "call user_1"), true);
        index.absorb(2, &read(Role::Assistant, "user_2 and user_1 are called"), false);
        let of = |number: usize| -> Vec<u32> {
            let marks = index.marks(&index.segments[number]).iter();
            marks.map(|mark| mark.id).collect()
        };
        assert_eq!(of(0), [0]);
        assert_eq!(of(1), [1, 0]);
    }

    #[test]
    fn what_the_system_gives_is_never_missing() {
        let mut index = Index::default();
        let system = Reading::of(&says(Role::System, "you serve user_1"), Zone::Old);
        index.absorb_given(&system);
        index.absorb(2, &read(Role::User, "user_1 asks for user_2"), true);
        assert!(index.knows("user_1"));
        assert_eq!(names(&index), ["user_2"]);
        let chances = index.chances();
        assert!(chances[0].abs() < 1e-12 && chances[1] > 0.0, "{chances:?}");
    }

    #[test]
    fn the_likeliest_comes_first_and_equals_by_their_place() {
        let mut index = Index::default();
        index.absorb(1, &answers_of("name_of_b name_of_a"), false);
        index.absorb(2, &Reading::of(&calls("get", r#"{"id":"user_9"}"#), Zone::Old), false);
        assert_eq!(names(&index), ["user_9", "name_of_a", "name_of_b"]);
        assert!(index.identifiers().is_sorted_by(|a, b| a.chance >= b.chance));
    }

    #[test]
    fn a_record_that_has_what_was_asked_for_needs_no_call_above_it() {
        let mut index = Index::default();
        let call = Reading::of(&calls("get", r#"{"order":"W8123"}"#), Zone::Old);
        let call = index.absorb(1, &call, false)[0];
        let text = r#"[{"order":"W8123","item":"item_17"},{"order":"W9999","item":"item_18"}]"#;
        let found = index.absorb(2, &answers_of(text), false);
        index.answer(call, &found, false);
        let heads = index.segments.iter().map(|segment| segment.head);
        assert_eq!(heads.collect::<Vec<_>>(), [None, None, Some(call)]);
    }

    fn answers_of(text: &str) -> Reading {
        Reading::of(&answers(text), Zone::Old)
    }

    #[test]
    fn what_stays_tells_what_is_known_and_nothing_else() {
        let mut index = Index::default();
        index.absorb(1, &read(Role::User, "the order W8123 for user_1"), true);
        index.cover(&Reading::of_stay(&says(Role::User, "the order W8123 was shipped by user_7")));
        // The coverage is 1 plus the number of words around the identifier.
        assert_eq!(index.coverage, [3, 0]);
        assert!(!index.knows("user_7"));
        // A mention with fewer words does not reduce the coverage.
        index.cover(&Reading::of_stay(&says(Role::User, "W8123")));
        assert_eq!(index.coverage, [3, 0]);
    }

    #[test]
    fn a_text_may_be_looked_at_for_one_use() {
        let mut index = Index::default();
        index.absorb(1, &read(Role::User, "the order W8123 for user_1"), true);
        assert_eq!(index.coverage_with("W8123\n\nand user_7"), [1, 0]);
        assert_eq!(index.coverage, [0, 0]);
    }

    #[test]
    fn very_long_words_are_cut_and_hide_no_names() {
        let mut index = Index::default();
        let data = "aB3".repeat(2_000);
        index.absorb(1, &answers_of(&format!("id_17 {data}")), false);
        let names = names(&index);
        assert_eq!(names[0], "id_17");
        assert!(names.iter().all(|name| name.len() < 300), "{names:?}");
    }
}
