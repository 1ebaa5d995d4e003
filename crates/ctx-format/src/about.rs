//! What a record says about its session, apart from messages.

use std::borrow::Cow;

/// What an agent records about a session. Each record has a little of it, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About<'a> {
    /// The name that the user gave it.
    pub name: Option<Cow<'a, str>>,
    /// The title by the agent.
    pub title: Option<Cow<'a, str>>,
    /// The folder that the agent works in.
    pub folder: Option<Cow<'a, str>>,
}
