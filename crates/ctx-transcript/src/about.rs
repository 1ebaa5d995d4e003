//! What a record says of its session, beside what is said in it.

use std::borrow::Cow;

/// What an agent notes down of a session. Each record says a little of it, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The name that the user gave it.
    pub name: Option<Cow<'a, str>>,
    /// The title that the agent made for it.
    pub title: Option<Cow<'a, str>>,
    /// The folder that the agent works in.
    pub folder: Option<Cow<'a, str>>,
}
