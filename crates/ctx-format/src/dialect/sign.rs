//! Signs: conditions, stored as data, that identify a record's format by its members.

use serde::Deserialize;

use crate::Object;

/// A condition on the members of an object.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sign {
    /// The object has all of these members.
    Has(#[serde(borrow)] Vec<&'static str>),
    /// The value of the member, as JSON, is one of the given texts.
    Raw(&'static str, #[serde(borrow)] Vec<&'static str>),
    /// The values of all these members are strings.
    Text(#[serde(borrow)] Vec<&'static str>),
    /// The value of the member is an object.
    Object(&'static str),
    /// The value of the member is an array.
    List(&'static str),
    /// The value of the member is an object, and the object matches the sign.
    In(&'static str, Box<Self>),
    /// The value of the member is an array in which every element is an object that matches the
    /// sign.
    Each(&'static str, Box<Self>),
    /// The value of the member is an array in which at least one element is an object that matches
    /// the sign.
    Within(&'static str, Box<Self>),
    /// The value of the member is one of the given strings.
    Word(&'static str, #[serde(borrow)] Vec<&'static str>),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
}

impl Sign {
    pub(crate) fn is_of(&self, object: &Object<'_>) -> bool {
        match self {
            Self::Has(keys) => keys.iter().all(|key| object.get(key).is_some()),
            Self::Raw(key, values) => object.get(key).is_some_and(|raw| values.contains(&raw)),
            Self::Text(keys) => keys.iter().all(|key| object.text_of(key).is_some()),
            Self::Object(key) => object.object_of(key).is_some(),
            Self::List(key) => object.elements_of(key).is_some(),
            Self::In(key, sign) => object.object_of(key).is_some_and(|it| sign.is_of(&it)),
            Self::Each(key, sign) => object.elements_of(key).is_some_and(|list| {
                list.into_iter().all(|raw| Object::within(raw).is_some_and(|it| sign.is_of(&it)))
            }),
            Self::Word(key, words) => {
                object.text_of(key).is_some_and(|word| words.iter().any(|it| *it == word))
            }
            Self::Within(key, sign) => object.elements_of(key).is_some_and(|list| {
                list.into_iter().filter_map(Object::within).any(|it| sign.is_of(&it))
            }),
            Self::All(signs) => signs.iter().all(|sign| sign.is_of(object)),
            Self::Any(signs) => signs.iter().any(|sign| sign.is_of(object)),
            Self::Not(sign) => !sign.is_of(object),
        }
    }
}
