//! The links between the lines of a log: each line's id, and the ids by which it refers to other
//! lines.
//!
//! A tool that removes a line needs the links, because the children of the line must be linked to
//! its parent instead, and some lines must not be removed at all. Each link is stored as the byte
//! range of a value, so that only this value changes if the linked line is removed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use serde::Deserialize;

use super::{Effect, Flaw, Remedy};
use crate::dialect::Format;
use crate::record::edit::cut_members;
use crate::{Edits, Object, counted, json};

/// The links of a single log line.
#[derive(Clone, Debug, Default)]
pub struct Links<'a> {
    /// The id by which other lines refer to this line.
    pub id: Option<Cow<'a, str>>,
    /// The references to other lines, in the order of their byte ranges.
    pub names: Vec<Link<'a>>,
    /// The byte range of the value that identifies the session.
    pub session: Option<Range<usize>>,
    /// The purpose of the line, if it is never sent to a model.
    pub good_for: Option<GoodFor>,
    /// Whether removing the line would make the session unusable.
    pub stays: bool,
    /// Whether the agent ignores everything before the line, provided that the line is in the
    /// context.
    pub replaces_all: bool,
    /// The reason why no line of the session may be removed; `None` if lines may be removed.
    pub keeps_all: Option<&'static str>,
}

/// A line's reference to another line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// The id of the line that is referred to; `None` if the value states that the link has no
    /// target.
    pub to: Option<Cow<'a, str>>,
    /// The byte range of the id in the text of the object.
    pub place: Range<usize>,
    /// How the line depends on the line that it refers to.
    pub bond: Bond,
}

/// How a line depends on a line that it refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// The reference is to the line's parent. If the parent is removed, the line is linked to the
    /// parent's own parent instead.
    Parent,
    /// The reference is a mere mention. If the mentioned line is removed, the reference is changed
    /// to the parent of that line.
    Mention,
    /// The line that is referred to is required and cannot be removed.
    Needs,
}

/// The purpose of a line that is never sent to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoodFor {
    /// The line shows a tool's progress.
    Progress,
    /// The line stores the state of files so that they can be restored.
    FileHistory,
    /// The line stores a request to the API.
    Requests,
    /// The line describes its parent.
    ItsParent,
}

/// A duplicate of tool results within the same line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCopy {
    /// The byte range of the original results.
    pub of: Range<usize>,
    /// The byte range to cut to remove the duplicate.
    pub cut: Range<usize>,
}

impl<'a> Links<'a> {
    /// Creates the links for a line whose own id is in the member `id`.
    pub(crate) fn of(object: &Object<'a>, id: &str) -> Self {
        let id = object.text_of(id).filter(|id| !id.is_empty());
        Self { id, ..Self::default() }
    }

    /// Adds links for the members `keys` of `within`, which is `object` or a value within it.
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

    /// Adds a link for the value `raw`, which is the id of another line.
    pub(crate) fn name_at(&mut self, object: &Object<'a>, raw: &'a str, bond: Bond) {
        self.names.push(Link { to: json::text(raw), place: object.place_of(raw), bond });
    }

    /// Stores that the member `key` of `within`, a value within `object`, identifies the session.
    pub(crate) fn belongs(&mut self, object: &Object<'a>, within: &Object<'a>, key: &str) {
        let raw = within.get(key).filter(|raw| json::text(raw).is_some());
        self.session = raw.map(|raw| object.place_of(raw));
    }

    /// The id of the line's parent, if the line refers to one.
    pub fn parent(&self) -> Option<&str> {
        let parent = self.names.iter().rev().find(|it| it.bond == Bond::Parent);
        parent?.to.as_deref()
    }

    /// Adds edits that change the links to removed lines. `moved` is called with the target and the
    /// bond of each link. For a target that was removed, `moved` returns the id of the line to link
    /// to instead, or `Some(None)` if no ancestor remains.
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
    /// Returns the duplicate in the member `key` of `within`, a value within `object`. `of` is the
    /// member of `within` that holds the original results.
    pub(crate) fn at(
        object: &Object<'_>,
        within: &Object<'_>,
        of: &str,
        key: &str,
    ) -> Option<Self> {
        Self::of(object, within.get(of)?, within, key)
    }

    /// Returns the duplicate in the member `key` of `within`. `of` holds the original results. Both
    /// are values within `object`.
    pub(crate) fn of(
        object: &Object<'_>,
        of: &str,
        within: &Object<'_>,
        key: &str,
    ) -> Option<Self> {
        within.get(key)?;
        let mut cuts = cut_members(object, within, |member| member.key == key).into_iter();
        let cut = cuts.next()?;
        // Agents never write the same key twice, so lines with a repeated key are left unchanged.
        let is_one = cuts.next().is_none();
        is_one.then_some(Self { of: object.place_of(of), cut })
    }
}

/// The hash of a line's id. Hashes suffice, because ids are only compared, and they save memory if
/// a log has many ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LineId(u64);

/// A map from line ids, which are already hashes.
pub(crate) type ById<T> = HashMap<LineId, T, foldhash::fast::RandomState>;

impl LineId {
    pub(crate) fn of(id: &str) -> Self {
        Self(BuildHasherDefault::<DefaultHasher>::default().hash_one(id))
    }

    /// Returns the id in the member `key` of `object`.
    pub(crate) fn at(object: &Object<'_>, key: &str) -> Option<Self> {
        object.text_of(key).map(|id| Self::of(&id))
    }

    /// Returns the id in the member `key` of `object`, unless it is empty.
    pub(crate) fn at_filled(object: &Object<'_>, key: &str) -> Option<Self> {
        object.text_of(key).filter(|id| !id.is_empty()).map(|id| Self::of(&id))
    }

    /// Creates the id of a record in a log that identifies records by number.
    pub(crate) fn of_number(number: usize) -> Self {
        Self(number as u64)
    }
}

/// The properties of a line that determine the path through the tree.
pub(crate) struct TreeLine {
    /// The number of the line's record.
    pub(crate) record: usize,
    /// Whether the line refers to a parent. The parent may be missing from the file.
    pub(crate) names_parent: bool,
    /// Whether the line is a compaction with which the context begins.
    pub(crate) is_boundary: bool,
    /// Whether the agent sends the line when it is in the context.
    pub(crate) is_sent: bool,
    /// Whether the line may replace the missing parent of a later line.
    pub(crate) may_be_parent: bool,
}

/// The terms used by an agent whose log lines refer to their parents.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TreeAgent {
    pub(crate) name: &'static str,
    /// The agent's term for a line, without an article.
    pub(crate) line: &'static str,
    /// The same term with an article.
    pub(crate) a_line: &'static str,
    /// The member with the id of a line's parent.
    pub(crate) parent: &'static str,
    /// The member with a line's own id.
    pub(crate) id: &'static str,
    /// The agent's behavior if a line is its own ancestor; `None` if the agent simply ends the path
    /// there.
    pub(crate) on_loop: Option<&'static str>,
}

/// Lines that are identified by their index and refer to their parents.
pub(crate) trait Tree {
    /// The name of the dialect.
    const DIALECT: &'static str;

    /// Returns the index of the line's parent; `None` if the parent is not in the file.
    fn parent(&self, place: usize) -> Option<usize>;

    /// Returns the facts about the line with the given index.
    fn line(&self, place: usize) -> TreeLine;

    /// Iterates over a line and its ancestors, visiting each only once even if they form a loop.
    fn ancestors(&self, place: usize) -> impl Iterator<Item = usize> {
        let mut seen = HashSet::new();
        std::iter::successors(Some(place), |place| self.parent(*place))
            .take_while(move |place| seen.insert(*place))
    }

    /// Returns the indexes of the lines on the path from the root to the line at index `last`.
    fn path_to(&self, last: Option<usize>) -> Vec<usize> {
        let mut path: Vec<usize> = last.into_iter().flat_map(|it| self.ancestors(it)).collect();
        path.reverse();
        path
    }

    /// Returns why the chain of ancestors ends at a line that refers to a parent: the name of a
    /// rule and a description.
    fn why_it_ends(&self, place: usize) -> (&'static str, &'static str) {
        match self.parent(place) {
            None => {
                ("missing-parent", "the parents of this line lead to one that is not in the file")
            }
            Some(_) => ("parent-loop", "the parent of this line is one of its own descendants"),
        }
    }

    /// Creates the flaw for a line that is its own ancestor; `None` if the path simply ends there.
    fn endless(&self, place: usize) -> Option<Flaw> {
        let then = Format::of(Self::DIALECT).tree.on_loop?;
        let (rule, why) = self.parent(place).map(|_| self.why_it_ends(place))?;
        let record = self.line(place).record;
        Some(Flaw::new(record, rule, Effect::Refused, format!("{why}: {then}")))
    }

    /// Creates the flaw for the newest compaction if the context does not begin with it. A program
    /// causes such a flaw if it appends the compaction while the agent is running, because the
    /// agent then continues from its own last line.
    fn off_the_path(&self, newest: Option<usize>, begin: Option<usize>) -> Option<Flaw> {
        let newest = newest.filter(|newest| begin != Some(*newest))?;
        let TreeAgent { name, a_line, .. } = Format::of(Self::DIALECT).tree;
        let what = format!(
            "this compaction is off the active path: {name} resumes from {a_line} that is not below it, and sends the messages before the compaction"
        );
        Some(Flaw::new(self.line(newest).record, "boundary-off-path", Effect::Ignored, what))
    }

    /// Creates the flaws for lines at which the chain of ancestors ends although there are lines
    /// before them. The chain begins at the last line of `path`.
    fn breaks(&self, path: &[usize]) -> Vec<Flaw> {
        let TreeAgent { name, line: noun, parent: key, id: of, .. } =
            Format::of(Self::DIALECT).tree;
        let seen = path.iter().copied().collect();
        let mut breaks = Breaks { tree: self, seen, below: usize::MAX, top: path.first().copied() };
        let mut flaws = Vec::new();
        while let Some((place, before, unsent)) = breaks.next() {
            let TreeLine { record, names_parent, .. } = self.line(place);
            let before_it = counted(unsent, noun);
            let flaw = if let Some(flaw) = self.endless(place) {
                flaw
            } else if unsent == 0 {
                break;
            } else if !names_parent {
                // The user may have gone back to the beginning of the conversation.
                let what =
                    format!("the conversation begins here, but another path has {before_it} above");
                flaws.push(Flaw::new(record, "second-root", Effect::Harmless, what));
                break;
            } else {
                let (rule, why) = self.why_it_ends(place);
                let what = format!("{why}: {name} stops here and does not send {before_it} above");
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

/// Finds breaks one by one, as if each were repaired by linking the line to the preceding line.
struct Breaks<'t, T: ?Sized> {
    tree: &'t T,
    seen: HashSet<usize>,
    /// The search for the next break examines only lines below this index, so that all searches
    /// together read the file only once.
    below: usize,
    top: Option<usize>,
}

impl<T: Tree + ?Sized> Breaks<'_, T> {
    /// Returns the next line at which the chain of ancestors ends; the last line before the break
    /// that is not on any path yet; and how many lines, out of that one and its ancestors, the
    /// agent would have sent.
    fn next(&mut self) -> Option<(usize, Option<usize>, usize)> {
        let place = self.top.take()?;
        let mut above = (0..place.min(self.below)).rev();
        let before = above.find(|it| self.tree.line(*it).may_be_parent && !self.seen.contains(it));
        let unsent = before.map_or(0, |before| self.ascend(before));
        self.below = before.unwrap_or(0);
        Some((place, before, unsent))
    }

    /// Visits `before` and its ancestors up to the root or a compaction, because nothing before a
    /// compaction is sent. Returns the number of visited lines that the agent would send.
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
            let mut edits = Edits::default();
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
            let mut edits = Edits::default();
            edits.cut([copy.cut]);
            assert_eq!(edits.of_object(&object), left);
        }
        assert_eq!(SecondCopy::at(&object, &object, "result", "none"), None);
    }
}
