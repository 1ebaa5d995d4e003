//! Names that stand in many records of a session, each kept once.

use std::borrow::Cow;
use std::collections::HashMap;

/// Names by their numbers.
#[derive(Default)]
pub(crate) struct Names {
    all: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Those that came last: mostly they come again.
    last: [u32; 4],
    turn: usize,
}

/// One of them, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name(Option<u32>);

impl Name {
    /// This one, else another.
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }
}

impl Names {
    /// The number of a name; none of a text of which something was cut out: what is so long is
    /// no name and no path.
    pub(crate) fn of(&mut self, text: Option<Cow<'_, str>>) -> Name {
        let Some(text) = text.filter(|text| !text.is_empty() && !text.contains('\0')) else {
            return Name(None);
        };
        let is_it = |number: &&u32| self.text(**number) == Some(&*text);
        if let Some(number) = self.last.iter().find(is_it) {
            return Name(Some(*number));
        }
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let number = *self
            .numbers
            .entry(text.into_owned())
            .or_insert_with_key(|text| {
                self.all.push(text.clone());
                next
            });
        self.last[self.turn % self.last.len()] = number;
        self.turn += 1;
        Name(Some(number))
    }

    /// Its text.
    pub(crate) fn get(&self, name: Name) -> Option<&str> {
        self.text(name.0?)
    }

    fn text(&self, number: u32) -> Option<&str> {
        self.all.get(number as usize).map(String::as_str)
    }
}
