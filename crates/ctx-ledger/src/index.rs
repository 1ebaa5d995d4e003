//! Every identifier of a session with what is known of it, and the segments that
//! hold one: what a summary can quote.

use std::ops::Range;

use hashbrown::HashTable;

use crate::facts::{Facts, Now, Origin};
use crate::hash::hash;
use crate::identifier::Shape;
use crate::item::Identifier;
use crate::reading::{Quote, Reading};
use crate::scan::Scan;
use crate::segment::segments;

/// Number of an identifier.
pub type Id = u32;

/// Identifiers and segments, gathered in one pass.
#[derive(Debug, Default)]
pub struct Index {
    /// The numbers of the identifiers, found by the hash of the name.
    pub(crate) ids: HashTable<Id>,
    pub(crate) known: Vec<Known>,
    /// The names of all identifiers.
    pub(crate) names: String,
    /// How well texts that stay tell each: 0 for not at all, else one more than
    /// the words beside it.
    pub(crate) told: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) marks: Vec<Mark>,
    /// The texts of all segments.
    pub(crate) arena: String,
    /// The hashes of all segments.
    pub(crate) seen: HashTable<u64>,
    now: Now,
    /// Of the mentions of the current message, their numbers here.
    current: Vec<Id>,
}

/// An identifier that was seen.
#[derive(Debug)]
pub(crate) struct Known {
    /// Where its name begins in the names; the facts have the length.
    start: usize,
    /// The line that had it last; 0 for the system's own.
    line: u64,
    pub(crate) facts: Facts,
    /// Whether a system message has it: always there, so never missing.
    pub(crate) is_given: bool,
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
    /// How many words beside it say what it is, up to two.
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

impl Known {
    pub(crate) fn name(&self) -> Range<usize> {
        self.start..self.start + self.facts.length()
    }

    /// The same, with its name elsewhere.
    pub(crate) fn moved(&self, start: usize) -> Self {
        Self { start, ..*self }
    }
}

impl Index {
    /// The identifiers of a system message.
    pub(crate) fn absorb_given(&mut self, reading: &Reading) {
        for mention in reading.mentions.iter() {
            let id = self.id(mention.hash, reading.mentions.name(mention), mention.shape);
            self.known[id as usize].is_given = true;
        }
    }

    /// A message, or an earlier summary; `first_request`: whether only one request of
    /// the user came so far.
    pub(crate) fn absorb(&mut self, line: u64, reading: &Reading, first_request: bool) {
        self.now.messages += 1;
        self.now.first_request = first_request;
        let now = self.now;
        let mentions = &reading.mentions;
        let is_seen = mentions.iter().map(|mention| !mention.origins.is_empty());
        let crowd = is_seen.filter(|is_seen| *is_seen).count();
        let mut current = std::mem::take(&mut self.current);
        for mention in mentions.iter() {
            // No mark has the number of one that is only told.
            let mut id = Id::MAX;
            if !mention.origins.is_empty() {
                id = self.id(mention.hash, mentions.name(mention), mention.shape);
                let known = &mut self.known[id as usize];
                known.facts.seen(mention.origins, mention.shape, crowd, now);
                known.line = line;
            }
            current.push(id);
        }
        let mut first = 0;
        for quote in &reading.quotes {
            let marks = first..first + quote.marks;
            first = marks.end;
            self.add_quote(line, quote, mentions.text(&quote.text), || {
                let marks = reading.marks[marks].iter();
                marks.map(|mark| Mark {
                    id: current[mark.id as usize],
                    words: mark.words,
                })
            });
        }
        current.clear();
        self.current = current;
        if self.is_full() {
            self.shrink();
        }
    }

    fn add_quote<M: Iterator<Item = Mark>>(
        &mut self,
        line: u64,
        quote: &Quote,
        text: &str,
        marks: impl FnOnce() -> M,
    ) {
        let hash = quote.hash;
        if self.seen.find(hash, |seen| *seen == hash).is_some() {
            return;
        }
        self.seen.insert_unique(hash, hash, |seen| *seen);
        let (start, first_mark) = (self.arena.len(), self.marks.len());
        self.arena.push_str(text);
        self.marks.extend(marks());
        self.segments.push(Segment {
            line,
            origin: quote.origin,
            text: start..self.arena.len(),
            marks: first_mark..self.marks.len(),
        });
    }

    /// What a message that stays tells need not be quoted.
    pub(crate) fn tell(&mut self, reading: &Reading) {
        for mention in reading.mentions.iter().filter(|mention| mention.told > 0) {
            if let Some(id) = self.find(mention.hash, reading.mentions.name(mention)) {
                let told = &mut self.told[id as usize];
                *told = (*told).max(mention.told);
            }
        }
    }

    /// What the text tells, for one use only.
    pub fn tell_in(&self, text: &str, told: &mut [u8]) {
        let mut scan = Scan::default();
        for segment in segments(text) {
            let segment = &text[segment];
            for found in scan.read(segment, true, true) {
                let name = &segment[found.place.clone()];
                if let Some(id) = self.find(hash(name), name) {
                    let known = &mut told[id as usize];
                    *known = (*known).max(1 + found.words);
                }
            }
        }
    }

    fn find(&self, hash: u64, name: &str) -> Option<Id> {
        let is_same = |id: &Id| self.names[self.known[*id as usize].name()] == *name;
        self.ids.find(hash, is_same).copied()
    }

    fn id(&mut self, hash: u64, name: &str, shape: Shape) -> Id {
        if let Some(id) = self.find(hash, name) {
            return id;
        }
        let known = Known {
            start: self.names.len(),
            line: 0,
            facts: Facts::new(shape, name.len(), self.now),
            is_given: false,
        };
        self.names.push_str(name);
        self.told.push(0);
        self.insert(hash, known)
    }

    /// The number of an identifier that is not there yet.
    pub(crate) fn insert(&mut self, of_name: u64, known: Known) -> Id {
        let id = Id::try_from(self.known.len()).unwrap_or(Id::MAX);
        self.known.push(known);
        let (known, names) = (&self.known, &self.names);
        let rehash = |id: &Id| hash(&names[known[*id as usize].name()]);
        self.ids.insert_unique(of_name, id, rehash);
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
        let chance = |known: &Known| {
            if known.is_given {
                0.0
            } else {
                known.facts.chance(self.now)
            }
        };
        self.known.iter().map(chance).collect()
    }

    /// Each identifier that is not the system's, with the line that had it last and
    /// the chance that it is needed again; the greatest chance first.
    pub(crate) fn identifiers(&self) -> Vec<Identifier<'_>> {
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

    /// Whether it was seen.
    pub fn knows(&self, identifier: &str) -> bool {
        self.find(hash(identifier), identifier).is_some()
    }

    /// How well texts that stay tell each identifier: 0 for not at all, else one
    /// more than the words beside it, up to two.
    pub fn told(&self) -> &[u8] {
        &self.told
    }
}
