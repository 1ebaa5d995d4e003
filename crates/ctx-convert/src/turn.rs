//! What is written, one turn after the other: what someone says, the results of a reply.

mod ids;
mod maker;

use std::borrow::Cow;
use std::sync::Arc;

use ctx_transcript::{Role, ToolResult};

use crate::said::Piece;

pub(crate) use ids::Ids;
pub(crate) use maker::Maker;

/// What is written together.
#[derive(Clone, Debug)]
pub(crate) enum Turn<'a> {
    /// Someone says something.
    Said(Said<'a>),
    /// Tools answer a reply.
    Results(Results<'a>),
    /// A summary of what was before it.
    Summary {
        role: Role,
        text: Cow<'a, str>,
        origins: Vec<usize>,
    },
}

/// What someone says.
#[derive(Clone, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) role: Role,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) pieces: Vec<Piece<'a>>,
    /// The items of OpenAI Responses that it was read from, if it was.
    pub(crate) items: Vec<Cow<'a, str>>,
    /// The model that said it, where the session says which.
    pub(crate) model: Option<Arc<str>>,
    /// The places of its records among those of the unit.
    pub(crate) origins: Vec<usize>,
}

/// What tools answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results<'a> {
    pub(crate) answers: Vec<Answer<'a>>,
    /// What the records with the results say beside them, as the user's.
    pub(crate) beside: Vec<Piece<'a>>,
    /// The place of the first record that says something beside them.
    pub(crate) beside_origin: Option<usize>,
    /// The places of all these records among those of the unit.
    pub(crate) origins: Vec<usize>,
}

/// A result.
#[derive(Clone, Debug)]
pub(crate) struct Answer<'a> {
    /// The id of its call.
    pub(crate) id: String,
    /// The tool; empty where nobody says it.
    pub(crate) name: String,
    pub(crate) result: ToolResult<'a>,
    /// As [`Piece::block`].
    pub(crate) block: Option<&'a str>,
    /// The item of OpenAI Responses that it was read from, if it was.
    pub(crate) item: Option<Cow<'a, str>>,
    /// The place of its record among those of the unit.
    pub(crate) origin: usize,
}

impl<'a> Said<'a> {
    /// What a user says.
    pub(crate) fn of_user(pieces: Vec<Piece<'a>>, origins: Vec<usize>) -> Self {
        Self {
            role: Role::User,
            name: None,
            pieces,
            items: Vec::new(),
            model: None,
            origins,
        }
    }
}

impl Results<'_> {
    /// What is said beside the results, by the user.
    pub(crate) fn said_beside(&self) -> Option<Said<'_>> {
        let origins = self.beside_origin.into_iter().collect();
        let said = || Said::of_user(self.beside.clone(), origins);
        (!self.beside.is_empty()).then(said)
    }
}

impl Turn<'_> {
    /// The place of its first record among those of the unit.
    pub(crate) fn origin(&self) -> usize {
        let origins = match self {
            Self::Said(said) => &said.origins,
            Self::Results(results) => &results.origins,
            Self::Summary { origins, .. } => origins,
        };
        origins.first().copied().unwrap_or(0)
    }
}
