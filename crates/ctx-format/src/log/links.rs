//! The links between the lines of a log: the ids that they have, and those that they name.
//!
//! A tool that takes a line out needs them: the children of the line get its parent, and some
//! lines cannot go at all. A link is the place of a value, so that a line whose parent has gone
//! changes in that value and in no other byte.

use std::borrow::Cow;
use std::ops::Range;

use crate::{Edits, Object, json};

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
        let start = object.place_of(within.text()).start;
        let members = within.members().iter().map(|member| {
            let place = start + member.place.start..start + member.place.end;
            (place, member.key == key)
        });
        let mut cuts = crate::cut::places(object.text(), members).into_iter();
        let cut = cuts.next()?;
        // No agent writes the key twice.
        let is_one = cuts.next().is_none();
        is_one.then_some(Self { of: object.place_of(within.get(of)?), cut })
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
