//! The identifiers of one message, each once.

use std::ops::Range;

use hashbrown::HashTable;

use crate::facts::{Origin, Origins};
use crate::hash::hash;
use crate::identifier::Shape;

/// Number of an identifier.
pub type Id = u32;

/// An identifier in a segment.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Which.
    pub id: Id,
    /// How many words beside it say what it is, up to two.
    pub words: u8,
}

/// An identifier in a message.
#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) hash: u64,
    place: Range<usize>,
    pub(crate) shape: Shape,
    /// Whose texts hold it; nobody's when it is only told.
    pub(crate) origins: Origins,
    /// How well the message tells it, when the message stays: 0 for not at all, else
    /// one more than the words beside it.
    pub(crate) told: u8,
}

/// All identifiers of a message, in the order in which they first occur.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    pub(crate) list: Vec<Mention>,
    /// The quotes of the message, and identifiers that stand in none.
    text: String,
    numbers: HashTable<Id>,
}

impl Mentions {
    pub(crate) fn name(&self, mention: &Mention) -> &str {
        &self.text[mention.place.clone()]
    }

    pub(crate) fn text(&self, place: &Range<usize>) -> &str {
        &self.text[place.clone()]
    }

    /// A text that may be quoted, and in which identifiers stand.
    pub(super) fn push_text(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// The number of an identifier; `place`: where it stands in the text, if it does.
    pub(super) fn number(&mut self, name: &str, shape: Shape, place: Option<Range<usize>>) -> Id {
        let hash = hash(name);
        let (list, text) = (&self.list, &self.text);
        let is_same = |id: &Id| text[list[*id as usize].place.clone()] == *name;
        if let Some(id) = self.numbers.find(hash, is_same) {
            return *id;
        }
        let place = place.unwrap_or_else(|| self.push_text(name));
        let id = Id::try_from(self.list.len()).unwrap_or(Id::MAX);
        self.list.push(Mention {
            hash,
            place,
            shape,
            origins: Origins::default(),
            told: 0,
        });
        let list = &self.list;
        self.numbers
            .insert_unique(hash, id, |id| list[*id as usize].hash);
        id
    }

    /// The number of an identifier that stands in a text of this origin.
    pub(super) fn seen(
        &mut self,
        name: &str,
        shape: Shape,
        place: Option<Range<usize>>,
        origin: Origin,
    ) -> Id {
        let id = self.number(name, shape, place);
        let mention = &mut self.list[id as usize];
        mention.origins.add(origin);
        // Any other shape says more.
        if mention.shape == Shape::Argument {
            mention.shape = shape;
        }
        id
    }

    /// No more will come: the table is not needed any longer.
    pub(super) fn close(&mut self) {
        self.numbers = HashTable::new();
    }
}

#[cfg(test)]
mod tests {
    use super::Mentions;
    use crate::facts::Origin;
    use crate::identifier::Shape;

    fn names(mentions: &Mentions) -> Vec<&str> {
        mentions
            .list
            .iter()
            .map(|mention| mentions.name(mention))
            .collect()
    }

    #[test]
    fn a_name_has_one_number_wherever_it_stands() {
        let mut mentions = Mentions::default();
        let quote = mentions.push_text("see user_1 and user_2");
        let first = mentions.number("user_1", Shape::Keyed, Some(4..10));
        let second = mentions.number("user_2", Shape::Keyed, Some(15..21));
        assert_eq!((first, second), (0, 1));
        assert_eq!(mentions.number("user_1", Shape::Keyed, None), first);
        // It stands in no quote.
        let third = mentions.number("订单17", Shape::Mixed, None);
        assert_eq!(third, 2);
        assert_eq!(names(&mentions), ["user_1", "user_2", "订单17"]);
        assert_eq!(mentions.text(&quote), "see user_1 and user_2");
        mentions.close();
        assert_eq!(names(&mentions).len(), 3);
    }

    #[test]
    fn many_names_are_told_apart() {
        let mut mentions = Mentions::default();
        let names: Vec<String> = (0..2_000).map(|n| format!("name_{n}")).collect();
        for _ in 0..2 {
            for (number, name) in (0..).zip(&names) {
                assert_eq!(mentions.number(name, Shape::Keyed, None), number);
            }
        }
        assert_eq!(mentions.list.len(), names.len());
    }

    #[test]
    fn only_an_argument_takes_another_shape() {
        let mut mentions = Mentions::default();
        let id = mentions.number("W812", Shape::Argument, None);
        assert!(mentions.list[id as usize].origins.is_empty());
        for (shape, expected) in [
            (Shape::Argument, Shape::Argument),
            (Shape::Code, Shape::Code),
            (Shape::Number, Shape::Code),
        ] {
            assert_eq!(mentions.seen("W812", shape, None, Origin::Call), id);
            assert_eq!(mentions.list[id as usize].shape, expected);
        }
        assert!(!mentions.list[id as usize].origins.is_empty());
    }

    #[test]
    fn there_may_be_none() {
        let mut mentions = Mentions::default();
        assert_eq!(mentions.push_text(""), 0..0);
        mentions.close();
        assert_eq!(names(&mentions), [""; 0]);
    }
}
