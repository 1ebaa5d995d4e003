//! Common parts of the agents' trees: ids of lines, the path through parents, and where it ends too
//! early.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::flaw::{Effect, Flaw};
use crate::Object;

/// The hash of a line's id. A long log has many ids, which are only compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LineId(u64);

/// A map by ids, which are hashes already.
pub(crate) type ById<T> = HashMap<LineId, T, foldhash::fast::RandomState>;

impl LineId {
    pub(crate) fn of(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The id in the member `key`.
    pub(crate) fn at(object: &Object<'_>, key: &str) -> Option<Self> {
        object.text_of(key).map(|id| Self::of(&id))
    }

    /// The id in the member `key`, unless it is empty.
    pub(crate) fn at_filled(object: &Object<'_>, key: &str) -> Option<Self> {
        let id = object.text_of(key)?;
        (!id.is_empty()).then(|| Self::of(&id))
    }

    /// An id for a record of a log that identifies its records by their numbers.
    pub(crate) fn of_number(number: usize) -> Self {
        Self(number as u64)
    }
}

/// Lines that name their parents. A line is known by its place among them.
pub(crate) trait Tree {
    /// The place of the parent, if that is in the file.
    fn parent(&self, place: usize) -> Option<usize>;

    /// Whether the line names a parent, which may be missing.
    fn names_parent(&self, place: usize) -> bool;

    /// Whether a compaction begins the context at the line.
    fn is_boundary(&self, place: usize) -> bool;

    /// Whether the agent sends the line when it is in the context.
    fn is_sent(&self, place: usize) -> bool;

    /// Whether the line could be the parent that a line after it lacks.
    fn may_be_parent(&self, place: usize) -> bool;

    /// A line and those above it; a loop ends them.
    fn ancestors(&self, place: usize) -> impl Iterator<Item = usize> {
        let mut seen = HashSet::new();
        std::iter::successors(Some(place), |place| self.parent(*place))
            .take_while(move |place| seen.insert(*place))
    }

    /// Where the path from the end of `path` ends although the file has more lines.
    fn breaks(&self, path: &[usize]) -> Breaks<'_, Self> {
        Breaks {
            tree: self,
            seen: path.iter().copied().collect(),
            below: usize::MAX,
            top: path.first().copied(),
        }
    }
}

/// A line with which the way up ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Break {
    pub(crate) place: usize,
    /// The last line before it in the file that is on no path yet.
    pub(crate) before: Option<usize>,
    /// How many lines the agent would send of those that `before` hangs on.
    pub(crate) unsent: usize,
}

/// Finds one break after the other, as if each were repaired by the text before it.
pub(crate) struct Breaks<'t, T: ?Sized> {
    tree: &'t T,
    seen: HashSet<usize>,
    /// No break looks at this place or after it, so that all of them read the file once.
    below: usize,
    top: Option<usize>,
}

impl<T: Tree + ?Sized> Iterator for Breaks<'_, T> {
    type Item = Break;

    fn next(&mut self) -> Option<Break> {
        let place = self.top.take()?;
        let mut above = (0..place.min(self.below)).rev();
        let before = above.find(|it| self.tree.may_be_parent(*it) && !self.seen.contains(it));
        let unsent = before.map_or(0, |before| self.ascend(before));
        self.below = before.unwrap_or(0);
        Some(Break { place, before, unsent })
    }
}

impl<T: Tree + ?Sized> Breaks<'_, T> {
    /// Goes up from `before` to where that way ends, unless a compaction ends it: nothing above
    /// a compaction is sent.
    fn ascend(&mut self, before: usize) -> usize {
        let (mut unsent, mut top) = (0, before);
        let mut next = Some(before);
        while let Some(place) = next.filter(|place| self.seen.insert(*place)) {
            unsent += usize::from(self.tree.is_sent(place));
            if self.tree.is_boundary(place) {
                return unsent;
            }
            top = place;
            next = self.tree.parent(place);
        }
        self.top = self.tree.names_parent(top).then_some(top);
        unsent
    }
}

/// A conversation that begins at `record` although `lines` before it are on another path: the
/// user may have gone back to the beginning.
pub(crate) fn second_root(record: usize, lines: &str) -> Flaw {
    let what = format!("the conversation begins here, and {lines} before are on another path");
    Flaw::new(record, "second-root", Effect::Harmless, what)
}

/// A compaction that the session does not go on from: an agent that was running when another
/// program appended it has gone on from its own last line.
pub(crate) fn off_the_path(record: usize, agent: &str, line: &str) -> Flaw {
    let what = format!(
        "this compaction is off the active path: {agent} goes on from {line} that does not hang on it, and sends what was before"
    );
    Flaw::new(record, "boundary-off-path", Effect::Ignored, what)
}
