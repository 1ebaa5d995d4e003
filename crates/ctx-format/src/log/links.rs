//! The links between the lines of a log: the ids that they have, and those that they name.
//!
//! A tool that takes a line out needs them: the children of the line get its parent, and some
//! lines cannot go at all. A link is the place of a value, so that a line whose parent has gone
//! changes in that value and in no other byte.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use super::{Effect, Flaw, Remedy};
use crate::record::edit::cut_members;
use crate::{Edits, Object, counted, json};

/// The links of one line.
#[derive(Clone, Debug, Default)]
pub struct Links<'a> {
    /// The id by which other lines name it.
    pub id: Option<Cow<'a, str>>,
    /// The lines that it names, in the order of the places.
    pub names: Vec<Link<'a>>,
    /// The place of a text that names its session.
    pub session: Option<Range<usize>>,
    /// Its use, if no model is ever sent it.
    pub good_for: Option<GoodFor>,
    /// Whether the session is lost without it.
    pub stays: bool,
    /// Whether the agent reads nothing before it once it is in the context.
    pub replaces_all: bool,
    /// Why no line of the whole session may leave.
    pub keeps_all: Option<&'static str>,
}

/// A line that another one names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its id; `None` if the value says that there is no such line.
    pub to: Option<Cow<'a, str>>,
    /// The place of the value in the text of the object.
    pub place: Range<usize>,
    /// How the line depends on it.
    pub bond: Bond,
}

/// How a line depends on one that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// The parent: if that line is removed, its own parent takes its place.
    Parent,
    /// A mention: if that line is removed, its parent takes its place.
    Mention,
    /// It requires the line.
    Needs,
}

/// The use of a line that no model is ever sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoodFor {
    /// It shows the progress of a tool.
    Progress,
    /// It holds the state of files, so that they can be restored.
    FileHistory,
    /// It says something about its parent.
    ItsParent,
}

/// A second copy of a result, in the same line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCopy {
    /// It copies the results whose places are within this one.
    pub of: Range<usize>,
    /// The range to cut so that the line loses it.
    pub cut: Range<usize>,
}

impl<'a> Links<'a> {
    /// The links of a line whose id is its member `id`.
    pub(crate) fn of(object: &Object<'a>, id: &str) -> Self {
        let id = object.text_of(id).filter(|id| !id.is_empty());
        Self { id, ..Self::default() }
    }

    /// Adds the line that the member `key` of `within` names; `within` is the object or a value in it.
    pub(crate) fn name(&mut self, object: &Object<'a>, within: &Object<'a>, key: &str, bond: Bond) {
        if let Some(raw) = within.get(key) {
            self.name_at(object, raw, bond);
        }
    }

    /// Adds the line that the value `raw` names.
    pub(crate) fn name_at(&mut self, object: &Object<'a>, raw: &'a str, bond: Bond) {
        self.names.push(Link { to: json::text(raw), place: object.place_of(raw), bond });
    }

    /// Notes that the member `key` of `within`, a value within `object`, names the session.
    pub(crate) fn belongs(&mut self, object: &Object<'a>, within: &Object<'a>, key: &str) {
        let raw = within.get(key).filter(|raw| json::text(raw).is_some());
        self.session = raw.map(|raw| object.place_of(raw));
    }

    /// The id of the parent.
    pub fn parent(&self) -> Option<&str> {
        let parent = self.names.iter().rev().find(|it| it.bond == Bond::Parent);
        parent?.to.as_deref()
    }

    /// Names other lines in place of those that are gone. `moved` gives the new id for the id of a
    /// line that is gone and for the bond; `Some(None)` if no line is above it.
    pub fn moved<'m>(
        &self,
        moved: impl Fn(&str, Bond) -> Option<Option<&'m str>>,
        edits: &mut Edits,
    ) {
        for link in &self.names {
            let to = link.to.as_deref();
            let Some(to) = to.and_then(|to| moved(to, link.bond)) else {
                continue;
            };
            match (to, link.bond) {
                (Some(to), _) => edits.replace(link.place.clone(), json::quoted(to)),
                (None, Bond::Parent) => edits.replace(link.place.clone(), "null".to_owned()),
                (None, _) => {}
            }
        }
    }
}

impl SecondCopy {
    /// The member `key` of `within`, a value within `object`, as a copy of the member `of`.
    pub(crate) fn at(
        object: &Object<'_>,
        within: &Object<'_>,
        of: &str,
        key: &str,
    ) -> Option<Self> {
        within.get(key)?;
        let mut cuts = cut_members(object, within, |member| member.key == key).into_iter();
        let cut = cuts.next()?;
        // No agent writes the key twice.
        let is_one = cuts.next().is_none();
        is_one.then_some(Self { of: object.place_of(within.get(of)?), cut })
    }
}

/// The hash of a line's id. A long log has many ids, which are only compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LineId(u64);

/// A map by ids, which are hashes already.
pub(crate) type ById<T> = HashMap<LineId, T, foldhash::fast::RandomState>;

impl LineId {
    pub(crate) fn of(id: &str) -> Self {
        Self(BuildHasherDefault::<DefaultHasher>::default().hash_one(id))
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

/// A line of a tree, as far as its path is concerned.
#[allow(clippy::struct_excessive_bools)] // Four facts that do not depend on each other.
pub(crate) struct TreeLine {
    /// The number of its record.
    pub(crate) record: usize,
    /// Whether it names a parent, which may be missing.
    pub(crate) names_parent: bool,
    /// Whether a compaction begins the context at the line.
    pub(crate) is_boundary: bool,
    /// Whether the agent sends the line when it is in the context.
    pub(crate) is_sent: bool,
    /// Whether the line could be the parent that a line after it lacks.
    pub(crate) may_be_parent: bool,
}

/// An agent whose lines name their parents.
pub(crate) struct TreeAgent {
    pub(crate) name: &'static str,
    /// What it calls a line.
    pub(crate) line: &'static str,
    /// The members with the id of the parent, and with the own one.
    pub(crate) parent: &'static str,
    pub(crate) id: &'static str,
    /// What happens to the agent if a line hangs on itself, when it does not just stop there.
    pub(crate) on_loop: Option<&'static str>,
}

/// Lines that name their parents. A line is known by its place among them.
pub(crate) trait Tree {
    const AGENT: TreeAgent;

    /// The place of the parent, if that is in the file.
    fn parent(&self, place: usize) -> Option<usize>;

    /// The line at a place.
    fn line(&self, place: usize) -> TreeLine;

    /// A line and those above it; a loop ends them.
    fn ancestors(&self, place: usize) -> impl Iterator<Item = usize> {
        let mut seen = HashSet::new();
        std::iter::successors(Some(place), |place| self.parent(*place))
            .take_while(move |place| seen.insert(*place))
    }

    /// Why the way up ends at a line that names a parent: the rule, and in words.
    fn why_it_ends(&self, place: usize) -> (&'static str, &'static str) {
        match self.parent(place) {
            None => ("missing-parent", "its parent is not in the file"),
            Some(_) => ("parent-loop", "its parent hangs on it"),
        }
    }

    /// The flaw of a line that hangs on itself, if the agent does not just stop there.
    fn endless(&self, place: usize) -> Option<Flaw> {
        let then = Self::AGENT.on_loop?;
        let (rule, why) = self.parent(place).map(|_| self.why_it_ends(place))?;
        let record = self.line(place).record;
        Some(Flaw::new(record, rule, Effect::Refused, format!("{why}: {then}")))
    }

    /// The places where the way up from the end of `path` ends although the file has more lines.
    fn breaks(&self, path: &[usize]) -> Vec<Flaw> {
        let TreeAgent { name, line: noun, parent: key, id: of, .. } = Self::AGENT;
        let seen = path.iter().copied().collect();
        let breaks = Breaks { tree: self, seen, below: usize::MAX, top: path.first().copied() };
        let mut flaws = Vec::new();
        for Break { place, before, unsent } in breaks {
            let TreeLine { record, names_parent, .. } = self.line(place);
            let before_it = counted(unsent, noun);
            let flaw = if let Some(flaw) = self.endless(place) {
                flaw
            } else if unsent == 0 {
                break;
            } else if !names_parent {
                // The user may have gone back to the beginning.
                let what = format!(
                    "the conversation begins here, and {before_it} before are on another path"
                );
                flaws.push(Flaw::new(record, "second-root", Effect::Harmless, what));
                break;
            } else {
                let (rule, why) = self.why_it_ends(place);
                let what = format!(
                    "{why}: {name} goes no further up, and {before_it} before are not sent"
                );
                Flaw::new(record, rule, Effect::Lost, what)
            };
            flaws.push(flaw.repaired_by(match before {
                Some(before) => Remedy::Link { key, to: self.line(before).record, of },
                None => Remedy::Change(Vec::new()),
            }));
        }
        flaws
    }
}

/// A line with which the way up ends.
struct Break {
    place: usize,
    /// The last line before it in the file that is on no path yet.
    before: Option<usize>,
    /// How many lines the agent would send of those that `before` hangs on.
    unsent: usize,
}

/// Finds one break after the other, as if each were repaired by the text before it.
struct Breaks<'t, T: ?Sized> {
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
        let before = above.find(|it| self.tree.line(*it).may_be_parent && !self.seen.contains(it));
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
            let line = self.tree.line(place);
            unsent += usize::from(line.is_sent);
            if line.is_boundary {
                return unsent;
            }
            top = place;
            next = self.tree.parent(place);
        }
        self.top = self.tree.line(top).names_parent.then_some(top);
        unsent
    }
}

/// A compaction that the session does not go on from: an agent that was running when another
/// program appended it has gone on from its own last line.
pub(crate) fn off_the_path(record: usize, agent: &str, line: &str) -> Flaw {
    let what = format!(
        "this compaction is off the active path: {agent} goes on from {line} that does not hang on it, and sends what was before"
    );
    Flaw::new(record, "boundary-off-path", Effect::Ignored, what)
}

#[cfg(test)]
mod tests {
    use super::{Bond, Links, SecondCopy};
    use crate::{Edits, Object};

    #[test]
    fn only_the_values_that_name_what_is_gone_change() {
        let text = r#"{"id":"c" , "parent": "b","about":"b","of":"x"}"#;
        let object = Object::parse(text).expect("an object");
        let mut links = Links::of(&object, "id");
        for (key, bond) in [("parent", Bond::Parent), ("about", Bond::Mention), ("of", Bond::Needs)]
        {
            links.name(&object, &object, key, bond);
        }
        assert_eq!((links.id.as_deref(), links.parent()), (Some("c"), Some("b")));
        let moved = |to: Option<&'static str>| {
            let mut edits = Edits::new();
            links.moved(|id, _| (id == "b").then_some(to), &mut edits);
            edits.of_object(&object)
        };
        let a = r#"{"id":"c" , "parent": "a","about":"a","of":"x"}"#;
        assert_eq!(moved(Some("a")), a);
        let none = r#"{"id":"c" , "parent": null,"about":"b","of":"x"}"#;
        assert_eq!(moved(None), none);
    }

    #[test]
    fn a_second_copy_goes_with_its_comma() {
        let text = r#"{"result":0,"a":{"result":"x","copy":"x"},"copy":1}"#;
        let object = Object::parse(text).expect("an object");
        let within = object.object_of("a").expect("an object");
        for (within, left) in [
            (&within, r#"{"result":0,"a":{"result":"x"},"copy":1}"#),
            (&object, r#"{"result":0,"a":{"result":"x","copy":"x"}}"#),
        ] {
            let copy = SecondCopy::at(&object, within, "result", "copy").expect("a copy");
            let mut edits = Edits::new();
            edits.cut(copy.cut);
            assert_eq!(edits.of_object(&object), left);
        }
        assert_eq!(SecondCopy::at(&object, &object, "result", "none"), None);
    }
}
