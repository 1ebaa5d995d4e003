//! What ties the lines of a log to each other: the ids that they have, and those that they name.
//!
//! Who takes a line out of a log has to know it: what hung on the line hangs on what the line
//! hung on, and some lines cannot go at all. Only places of values are given, so that a line
//! whose parent has gone changes in that value and in no other byte.

use std::borrow::Cow;
use std::ops::Range;

use crate::{Edits, Object, json};

/// What ties one line to others.
#[derive(Clone, Debug, Default)]
pub struct Links<'a> {
    /// What other lines call it.
    pub id: Option<Cow<'a, str>>,
    /// The lines that it names, in the order of their places.
    pub names: Vec<Link<'a>>,
    /// Where it says which session it belongs to, by a text.
    pub session: Option<Range<usize>>,
    /// What it is good for where no model is ever sent it.
    pub good_for: Option<GoodFor>,
    /// Whether the session is none without it.
    pub stays: bool,
    /// Whether nothing before it is read any more once it is in the context.
    pub replaces_all: bool,
    /// Why no line of the whole session may leave.
    pub keeps_all: Option<&'static str>,
}

/// A line that another one names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Its id; `None` where the value says that there is no such line.
    pub to: Option<Cow<'a, str>>,
    /// Where the value stands in the text of the object.
    pub place: Range<usize>,
    /// What it is to the line.
    pub bond: Bond,
}

/// What a line is to one that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// The one that it hangs on: when that goes, it hangs on the one above.
    Parent,
    /// One that it speaks of: the one above does as well.
    Mention,
    /// One that it cannot do without.
    Needs,
}

/// What a line is good for that no model is ever sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoodFor {
    /// It shows what goes on while a tool runs.
    Progress,
    /// It says what files were like, so that they can be put back.
    FileHistory,
    /// It says something of the line that it hangs on.
    ItsParent,
}

/// A second copy of a result, in the same line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCopy {
    /// The results that it is a copy of: those whose places are within this one.
    pub of: Range<usize>,
    /// What to cut so that the line is without it.
    pub cut: Range<usize>,
}

impl<'a> Links<'a> {
    /// The line is called by its member `id`.
    pub(crate) fn of(object: &Object<'a>, id: &str) -> Self {
        Self {
            id: object.text_of(id).filter(|id| !id.is_empty()),
            ..Self::default()
        }
    }

    /// It names a line in the member `key` of `within`, itself or a value within it.
    pub(crate) fn name(&mut self, object: &Object<'a>, within: &Object<'a>, key: &str, bond: Bond) {
        if let Some(raw) = within.get(key) {
            self.name_at(object, raw, bond);
        }
    }

    /// It names a line with the value `raw`.
    pub(crate) fn name_at(&mut self, object: &Object<'a>, raw: &'a str, bond: Bond) {
        self.names.push(Link {
            to: json::text(raw),
            place: object.place_of(raw),
            bond,
        });
    }

    /// It says in the member `key` of `within`, a value within `object`, which session it
    /// belongs to.
    pub(crate) fn belongs(&mut self, object: &Object<'a>, within: &Object<'a>, key: &str) {
        let raw = within.get(key).filter(|raw| json::text(raw).is_some());
        self.session = raw.map(|raw| object.place_of(raw));
    }

    /// The id of the line that it hangs on.
    pub fn parent(&self) -> Option<&str> {
        let parent = self.names.iter().rev().find(|it| it.bond == Bond::Parent);
        parent?.to.as_deref()
    }

    /// Names other lines in the place of those that are gone: `moved` says which, for the id of
    /// one that is gone and what it is to the line; `Some(None)` where there is none above it.
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
    /// The member `key` of `within`, a value within `object`: a copy of what the member `of`
    /// holds.
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
        // A key that is there twice is no work of an agent.
        let is_one = cuts.next().is_none();
        is_one.then_some(Self {
            of: object.place_of(within.get(of)?),
            cut,
        })
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
        for (key, bond) in [
            ("parent", Bond::Parent),
            ("about", Bond::Mention),
            ("of", Bond::Needs),
        ] {
            links.name(&object, &object, key, bond);
        }
        assert_eq!(
            (links.id.as_deref(), links.parent()),
            (Some("c"), Some("b"))
        );
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
