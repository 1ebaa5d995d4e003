//! The links between the lines of a log: the id of each line, and the ids of other lines in it.
//!
//! A tool that removes a line needs the links: the children of the line must name its parent
//! instead, and some lines cannot be removed at all. The link is stored as the byte range of a
//! value, so that a line whose parent was removed changes only in that value.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use super::{Effect, Flaw, Remedy};
use crate::record::edit::cut_members;
use crate::{Edits, Object, counted, json};

/// The links of one line of a log.
#[derive(Clone, Debug, Default)]
pub struct Links<'a> {
    /// The id by which other lines refer to this line.
    pub id: Option<Cow<'a, str>>,
    /// The references to other lines, in the order of their byte ranges.
    pub names: Vec<Link<'a>>,
    /// The byte range of the text that names the session.
    pub session: Option<Range<usize>>,
    /// What the line is used for, if it is never sent to a model.
    pub good_for: Option<GoodFor>,
    /// Whether the session is lost if the line is removed.
    pub stays: bool,
    /// Whether the line, if it is in the context, makes the agent ignore everything before it.
    pub replaces_all: bool,
    /// Why no line of the session may be removed; `None` if lines may be removed.
    pub keeps_all: Option<&'static str>,
}

/// A reference to another line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// The id of the other line; `None` if the value says that there is no such line.
    pub to: Option<Cow<'a, str>>,
    /// The byte range of the value in the text of the object.
    pub place: Range<usize>,
    /// How the line depends on the other line.
    pub bond: Bond,
}

/// How a line depends on another line that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// The other line is the parent. If the parent is removed, its own parent replaces it in the
    /// link.
    Parent,
    /// The other line is only mentioned. If the mentioned line is removed, its parent replaces it.
    Mention,
    /// The other line is required, so it cannot be removed.
    Needs,
}

/// What a line that is never sent to a model is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoodFor {
    /// The line shows the progress of a tool.
    Progress,
    /// The line holds the state of files, so that they can be restored.
    FileHistory,
    /// The line describes its parent.
    ItsParent,
}

/// A second copy of tool results in the same line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCopy {
    /// The byte range of the results that are copied.
    pub of: Range<usize>,
    /// The byte range to cut to remove the second copy.
    pub cut: Range<usize>,
}

impl<'a> Links<'a> {
    /// The links of a line whose own id is in the member `id`.
    pub(crate) fn of(object: &Object<'a>, id: &str) -> Self {
        let id = object.text_of(id).filter(|id| !id.is_empty());
        Self { id, ..Self::default() }
    }

    /// Adds links from the members `keys` of `within`, which is `object` or a value in it.
    pub(crate) fn name(
        &mut self,
        object: &Object<'a>,
        within: &Object<'a>,
        keys: &[&str],
        bond: Bond,
    ) {
        for raw in keys.iter().filter_map(|key| within.get(key)) {
            self.name_at(object, raw, bond);
        }
    }

    /// Adds a link from the value `raw`, which contains the id of another line.
    pub(crate) fn name_at(&mut self, object: &Object<'a>, raw: &'a str, bond: Bond) {
        self.names.push(Link { to: json::text(raw), place: object.place_of(raw), bond });
    }

    /// Stores that the session is named in the member `key` of `within`, a value in `object`.
    pub(crate) fn belongs(&mut self, object: &Object<'a>, within: &Object<'a>, key: &str) {
        let raw = within.get(key).filter(|raw| json::text(raw).is_some());
        self.session = raw.map(|raw| object.place_of(raw));
    }

    /// The id of the line's parent, if it has one.
    pub fn parent(&self) -> Option<&str> {
        let parent = self.names.iter().rev().find(|it| it.bond == Bond::Parent);
        parent?.to.as_deref()
    }

    /// Edits the links to removed lines. `moved` receives the id of a line and the bond. If the
    /// line was removed, it returns the id of the line to link to, or `Some(None)` if no ancestor
    /// is left.
    pub fn moved<'m>(
        &self,
        moved: impl Fn(&str, Bond) -> Option<Option<&'m str>>,
        edits: &mut Edits,
    ) {
        for link in &self.names {
            let to = link.to.as_deref();
            let Some(to) = to.and_then(|to| moved(to, link.bond)) else { continue };
            match (to, link.bond) {
                (Some(to), _) => edits.replace(link.place.clone(), json::quoted(to)),
                (None, Bond::Parent) => edits.replace(link.place.clone(), "null".to_owned()),
                (None, _) => {}
            }
        }
    }
}

impl SecondCopy {
    /// The copy in the member `key` of `within`, a value in `object`. `of` is the member of
    /// `within` with the results that are copied.
    pub(crate) fn at(
        object: &Object<'_>,
        within: &Object<'_>,
        of: &str,
        key: &str,
    ) -> Option<Self> {
        within.get(key)?;
        let mut cuts = cut_members(object, within, |member| member.key == key).into_iter();
        let cut = cuts.next()?;
        // Agents never write the same key twice, so such a line is not changed.
        let is_one = cuts.next().is_none();
        is_one.then_some(Self { of: object.place_of(within.get(of)?), cut })
    }
}

/// A hash of the id of a line. A long log has many ids, and ids are only compared, so hashes are
/// enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LineId(u64);

/// A map whose keys are ids of lines, which are already hashes.
pub(crate) type ById<T> = HashMap<LineId, T, foldhash::fast::RandomState>;

impl LineId {
    pub(crate) fn of(id: &str) -> Self {
        Self(BuildHasherDefault::<DefaultHasher>::default().hash_one(id))
    }

    /// The id in the member `key` of `object`.
    pub(crate) fn at(object: &Object<'_>, key: &str) -> Option<Self> {
        object.text_of(key).map(|id| Self::of(&id))
    }

    /// The id in the member `key` of `object`, unless the id is empty.
    pub(crate) fn at_filled(object: &Object<'_>, key: &str) -> Option<Self> {
        let id = object.text_of(key)?;
        (!id.is_empty()).then(|| Self::of(&id))
    }

    /// The id of a record in a log that identifies its records by their numbers.
    pub(crate) fn of_number(number: usize) -> Self {
        Self(number as u64)
    }
}

/// The facts about a line of a tree that determine the path.
#[allow(clippy::struct_excessive_bools)] // The four facts are independent of each other.
pub(crate) struct TreeLine {
    /// The number of the record that the line contains.
    pub(crate) record: usize,
    /// Whether the line names a parent. The parent may be missing.
    pub(crate) names_parent: bool,
    /// Whether the line is a compaction with which the context begins.
    pub(crate) is_boundary: bool,
    /// Whether the agent sends the line if it is in the context.
    pub(crate) is_sent: bool,
    /// Whether the line could replace the missing parent of a later line.
    pub(crate) may_be_parent: bool,
}

/// An agent in whose log each line names its parent.
pub(crate) struct TreeAgent {
    pub(crate) name: &'static str,
    /// What the agent calls a line, without an article and with one.
    pub(crate) line: &'static str,
    pub(crate) a_line: &'static str,
    /// The member that contains the id of the parent, and the member that contains the line's own
    /// id.
    pub(crate) parent: &'static str,
    pub(crate) id: &'static str,
    /// What the agent does if a line is its own ancestor; `None` if it just stops there.
    pub(crate) on_loop: Option<&'static str>,
}

/// Lines that name their parents. Each line is identified by its index.
pub(crate) trait Tree {
    const AGENT: TreeAgent;

    /// The index of the line's parent; `None` if the parent is not in the file.
    fn parent(&self, place: usize) -> Option<usize>;

    /// The facts about the line with this index.
    fn line(&self, place: usize) -> TreeLine;

    /// A line and its ancestors, each only once, even if they form a loop.
    fn ancestors(&self, place: usize) -> impl Iterator<Item = usize> {
        let mut seen = HashSet::new();
        std::iter::successors(Some(place), |place| self.parent(*place))
            .take_while(move |place| seen.insert(*place))
    }

    /// Why the chain of ancestors ends at a line that names a parent: a rule and a description.
    fn why_it_ends(&self, place: usize) -> (&'static str, &'static str) {
        match self.parent(place) {
            None => ("missing-parent", "the parent of this line is not in the file"),
            Some(_) => ("parent-loop", "the parent of this line is below it"),
        }
    }

    /// The flaw of a line that is its own ancestor; `None` if the agent just stops there.
    fn endless(&self, place: usize) -> Option<Flaw> {
        let then = Self::AGENT.on_loop?;
        let (rule, why) = self.parent(place).map(|_| self.why_it_ends(place))?;
        let record = self.line(place).record;
        Some(Flaw::new(record, rule, Effect::Refused, format!("{why}: {then}")))
    }

    /// The flaw of the newest compaction if the context does not begin with it, because another
    /// program appended the compaction while the agent was running, and the agent continued from
    /// its own last line.
    fn off_the_path(&self, newest: Option<usize>, begin: Option<usize>) -> Option<Flaw> {
        let newest = newest.filter(|newest| begin != Some(*newest))?;
        let TreeAgent { name, a_line, .. } = Self::AGENT;
        let what = format!(
            "this compaction is off the active path: {name} resumes from {a_line} that is not below it, and sends the messages before the compaction"
        );
        Some(Flaw::new(self.line(newest).record, "boundary-off-path", Effect::Ignored, what))
    }

    /// The flaws of lines at which the ancestors of the end of `path` stop although there are lines
    /// before them.
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
                // The user may have gone back to the beginning of the conversation.
                let what = format!(
                    "the conversation begins here, and {before_it} before this line are on another path"
                );
                flaws.push(Flaw::new(record, "second-root", Effect::Harmless, what));
                break;
            } else {
                let (rule, why) = self.why_it_ends(place);
                let what = format!(
                    "{why}: {name} stops here and does not send the {before_it} before this line"
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

/// A line at which the chain of ancestors stops.
struct Break {
    place: usize,
    /// The last line before the break that is not on a path yet.
    before: Option<usize>,
    /// The number of lines, among `before` and its ancestors, that the agent would have sent.
    unsent: usize,
}

/// Finds breaks one by one, as if each were repaired by making the preceding line the parent.
struct Breaks<'t, T: ?Sized> {
    tree: &'t T,
    seen: HashSet<usize>,
    /// The search for the next break examines only lines below this index, so that all searches
    /// together read the file once.
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
    /// Follows the ancestors of `before` up to the last one, or up to a compaction, because nothing
    /// before a compaction is sent. Returns the number of ancestors that the agent would send.
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
            links.name(&object, &object, &[key], bond);
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
