//! Every identifier of a session with what is known of it, and the segments that
//! hold one: what a summary can quote.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use crate::context::Words;
use crate::facts::{Facts, Now, Origin};
use crate::identifier::{self, Shape};
use crate::item::Identifier;
use crate::segment::segments;
use crate::term;

/// Number of an identifier.
pub type Id = u32;

/// Identifiers and segments, gathered in one pass.
#[derive(Debug, Default)]
pub struct Index {
    pub(crate) ids: HashMap<Box<str>, Id>,
    pub(crate) facts: Vec<Facts>,
    /// The line that had each last; 0 for those of the system's.
    pub(crate) lines: Vec<u64>,
    /// How well texts that stay tell each: 0 for not at all, else one more than
    /// the words beside it.
    pub(crate) told: Vec<u8>,
    /// Those in the system messages: always there, so never missing.
    pub(crate) given: HashSet<Id>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) marks: Vec<Mark>,
    /// The texts of all segments.
    pub(crate) arena: String,
    pub(crate) seen: HashSet<u64>,
    now: Now,
    /// The identifiers of the current message.
    pub(crate) current: Vec<Id>,
    /// The line of the current message.
    line: u64,
}

/// A piece of a message.
#[derive(Debug)]
pub struct Segment {
    /// Line of its record.
    pub line: u64,
    /// Who it comes from.
    pub origin: Origin,
    text: Range<usize>,
    marks: Range<usize>,
}

/// An identifier in a segment.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Which.
    pub id: Id,
    /// How many words beside it say what it is, up to [`ENOUGH`].
    pub words: u8,
}

impl Segment {
    /// The same, elsewhere.
    pub(crate) fn moved(&self, text: Range<usize>, marks: Range<usize>) -> Self {
        Self {
            line: self.line,
            origin: self.origin,
            text,
            marks,
        }
    }
}

impl Index {
    /// A new message begins.
    pub(crate) fn begin(&mut self, first_request: bool) {
        self.now.messages += 1;
        self.now.first_request = first_request;
    }

    /// The current message stands in this line.
    pub(crate) fn at(&mut self, line: u64) {
        self.line = line;
    }

    /// The message ends.
    pub(crate) fn end(&mut self) {
        let crowd = self.current.len();
        for id in self.current.drain(..) {
            self.facts[id as usize].crowded(crowd);
            self.lines[id as usize] = self.line;
        }
        if self.is_full() {
            self.shrink();
        }
    }

    /// A text of the system's.
    pub(crate) fn add_given(&mut self, text: &str) {
        let now = self.now;
        let mut found = Vec::new();
        identifier::scan(text, |range, shape| found.push((range, shape)));
        for (range, shape) in found {
            let id = self.id(&text[range], shape, now);
            self.given.insert(id);
        }
    }

    /// A text of the current message. `quotable`: its segments may be quoted.
    pub(crate) fn add(&mut self, text: &str, line: u64, origin: Origin, quotable: bool) {
        for range in segments(text) {
            self.add_segment(&text[range], line, origin, quotable);
        }
    }

    /// One segment of the current message.
    pub(crate) fn add_segment(&mut self, text: &str, line: u64, origin: Origin, quotable: bool) {
        let now = self.now;
        let first_mark = self.marks.len();
        let mut words = None;
        scan(
            text,
            matches!(origin, Origin::User | Origin::Said),
            |range, shape| {
                let id = self.id(&text[range.clone()], shape, now);
                self.saw(id, origin, shape, now);
                let words = words.get_or_insert_with(|| Words::of(text)).beside(&range);
                let known = self.marks[first_mark..]
                    .iter_mut()
                    .find(|mark| mark.id == id);
                match known {
                    Some(mark) => mark.words = mark.words.max(words),
                    None => self.marks.push(Mark { id, words }),
                }
            },
        );
        if self.marks.len() == first_mark {
            return;
        }
        if !quotable || !self.seen.insert(hash(text)) {
            self.marks.truncate(first_mark);
            return;
        }
        let start = self.arena.len();
        self.arena.push_str(text);
        self.segments.push(Segment {
            line,
            origin,
            text: start..self.arena.len(),
            marks: first_mark..self.marks.len(),
        });
    }

    /// A short argument of a call, whatever it looks like.
    pub(crate) fn add_argument(&mut self, text: &str) {
        let now = self.now;
        let id = self.id(text, Shape::Argument, now);
        self.saw(id, Origin::Call, Shape::Argument, now);
    }

    /// An identifier stands in the current message.
    fn saw(&mut self, id: Id, origin: Origin, shape: Shape, now: Now) {
        if self.facts[id as usize].seen(origin, shape, now) {
            self.current.push(id);
        }
    }

    fn id(&mut self, name: &str, shape: Shape, now: Now) -> Id {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = u32::try_from(self.facts.len()).unwrap_or(u32::MAX);
        self.facts.push(Facts::new(shape, name.len(), now));
        self.lines.push(0);
        self.told.push(0);
        self.ids.insert(name.into(), id);
        id
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.arena.len() as u64
    }

    /// The segments.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Its words.
    pub fn text(&self, segment: &Segment) -> &str {
        &self.arena[segment.text.clone()]
    }

    /// The identifiers in it.
    pub fn marks(&self, segment: &Segment) -> &[Mark] {
        &self.marks[segment.marks.clone()]
    }

    /// For each identifier the chance that it is needed again.
    pub fn chances(&self) -> Vec<f64> {
        let chance = |(id, facts): (usize, &Facts)| {
            let given = u32::try_from(id).is_ok_and(|id| self.given.contains(&id));
            if given { 0.0 } else { facts.chance(self.now) }
        };
        self.facts.iter().enumerate().map(chance).collect()
    }

    /// Each identifier that is not the system's, with the line that had it last and
    /// the chance that it is needed again; the greatest chance first.
    pub(crate) fn identifiers(&self) -> Vec<Identifier<'_>> {
        let chances = self.chances();
        let all = self.ids.iter().map(|(text, id)| Identifier {
            text: text.as_ref(),
            line: self.lines[*id as usize],
            chance: chances[*id as usize],
        });
        let mut found: Vec<_> = all.filter(|identifier| identifier.chance > 0.0).collect();
        // The text last, so that the order of the hash table does not show.
        found.sort_by(|a, b| {
            let by_place = || a.line.cmp(&b.line).then_with(|| a.text.cmp(b.text));
            b.chance.total_cmp(&a.chance).then_with(by_place)
        });
        found
    }

    /// Whether it was seen.
    pub fn knows(&self, identifier: &str) -> bool {
        self.ids.contains_key(identifier)
    }

    /// A text that stays: what it tells need not be quoted.
    pub(crate) fn tell(&mut self, text: &str) {
        let mut told = std::mem::take(&mut self.told);
        self.tell_in(text, &mut told);
        self.told = told;
    }

    /// The same, for one use only.
    pub fn tell_in(&self, text: &str, told: &mut [u8]) {
        for range in segments(text) {
            let text = &text[range];
            let mut words = None;
            scan(text, true, |range, _| {
                if let Some(id) = self.ids.get(&text[range.clone()]) {
                    let words = words.get_or_insert_with(|| Words::of(text));
                    let known = &mut told[*id as usize];
                    *known = (*known).max(1 + words.beside(&range));
                }
            });
        }
    }

    /// How well texts that stay tell each identifier: 0 for not at all, else one
    /// more than the words beside it, up to [`ENOUGH`] words.
    pub fn told(&self) -> &[u8] {
        &self.told
    }
}

/// Identifiers, and in prose names and figures that are none.
fn scan(text: &str, prose: bool, mut found: impl FnMut(Range<usize>, Shape)) {
    let mut known: Vec<Range<usize>> = Vec::new();
    identifier::scan(text, |range, shape| {
        known.push(range.clone());
        found(range, shape);
    });
    if prose {
        term::scan(text, |range| {
            if !known.contains(&range) {
                found(range, Shape::Term);
            }
        });
    }
}

/// The same in every run.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
