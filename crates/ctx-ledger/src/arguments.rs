//! The keys and the leaves of a call's arguments, in their order.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value that is no object and no list, with the key it stands under.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// The nearest key; empty at the top.
    pub(crate) key: String,
    pub(crate) value: String,
}

/// What stands in a JSON text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The keys of all members, outer before inner.
    pub(crate) keys: Vec<String>,
    pub(crate) leaves: Vec<Leaf>,
}

impl Arguments {
    /// `None` when the text is no JSON.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut json = serde_json::Deserializer::from_str(text);
        Collector {
            key: "",
            found: &mut found,
        }
        .deserialize(&mut json)
        .ok()?;
        json.end().ok()?;
        Some(found)
    }
}

struct Collector<'a> {
    key: &'a str,
    found: &'a mut Arguments,
}

impl Collector<'_> {
    fn leaf(self, value: &impl ToString) {
        self.found.leaves.push(Leaf {
            key: self.key.to_owned(),
            value: value.to_string(),
        });
    }
}

impl<'de> DeserializeSeed<'de> for Collector<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Collector<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.leaf(&value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.leaf(&value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.leaf(&value);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.leaf(&value);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.leaf(&value);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.leaf(&"null");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.found.keys.push(key.clone());
            let found = &mut *self.found;
            map.next_value_seed(Collector { key: &key, found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let (key, found) = (self.key, self.found);
        while list
            .next_element_seed(Collector {
                key,
                found: &mut *found,
            })?
            .is_some()
        {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use crate::fixtures::leaves;

    #[test]
    fn leaves_come_in_the_order_of_the_text() {
        let found = leaves(r#"{"z":"1","a":{"n":2.5,"l":["x",true,null]}}"#).expect("JSON");
        let found: Vec<_> = found
            .iter()
            .map(|leaf| (leaf.key.as_str(), leaf.value.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("z", "1"),
                ("n", "2.5"),
                ("l", "x"),
                ("l", "true"),
                ("l", "null")
            ]
        );
        assert_eq!(leaves("ls -l"), None);
        assert_eq!(leaves("{"), None);
        assert_eq!(leaves("{} {}"), None);
    }

    #[test]
    fn keys_come_outer_before_inner() {
        let found = Arguments::parse(r#"{"z":{"a":1,"b":[{"c":2}]},"y":[]}"#).expect("JSON");
        assert_eq!(found.keys, ["z", "a", "b", "c", "y"]);
        assert_eq!(Arguments::parse("7").expect("JSON").keys, [""; 0]);
    }
}
