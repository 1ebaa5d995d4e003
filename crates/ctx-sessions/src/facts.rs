//! What a record says of its session, before it is known whether it is in the context.

use std::borrow::Cow;

use ctx_transcript::{Class, Dialect, Record};

use crate::names::{Name, Names};
use crate::title;

/// What one record says.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) class: Readable,
    pub(crate) usage: Option<Used>,
    pub(crate) session: Name,
    pub(crate) folder: Name,
    pub(crate) model: Name,
    /// Few records have any.
    pub(crate) titles: Option<Box<Titles>>,
}

/// Whether it is a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Readable {
    Yes,
    /// The first of several on its line: for agents that read it.
    First,
    /// A bad line.
    Bad,
    /// An empty line, or more of one that is too long.
    #[default]
    No,
}

/// What the API counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) total: u64,
    pub(crate) window: Option<u64>,
    pub(crate) is_of_helper: bool,
}

/// What it is called.
#[derive(Default)]
pub(crate) struct Titles {
    /// By the user.
    pub(crate) own: Option<String>,
    /// By the agent.
    pub(crate) made: Option<String>,
}

/// Reads the facts of records, one after the other.
pub(crate) struct FactReader {
    dialect: &'static dyn Dialect,
    pub(crate) names: Names,
}

impl FactReader {
    pub(crate) fn new(dialect: &'static dyn Dialect) -> Self {
        Self {
            dialect,
            names: Names::default(),
        }
    }

    /// What the next record says.
    pub(crate) fn read(&mut self, record: &Record<'_>) -> Facts {
        let bad = if record.piece.begins() {
            Readable::Bad
        } else {
            Readable::No
        };
        let Some(object) = record.object() else {
            return Facts {
                class: if record.class.is_bad() {
                    bad
                } else {
                    Readable::No
                },
                ..Facts::default()
            };
        };
        let about = self.dialect.about(object);
        let own = |text: Cow<'_, str>| title::line(&text);
        let titles = Titles {
            own: about.name.and_then(own),
            made: about.title.and_then(own),
        };
        let has_title = titles.own.is_some() || titles.made.is_some();
        let usage = self.dialect.usage(object);
        Facts {
            class: if record.class == Class::Object {
                Readable::Yes
            } else {
                Readable::First
            },
            usage: usage.map(|usage| Used {
                total: usage.total(),
                window: usage.window,
                is_of_helper: usage.is_of_helper,
            }),
            session: self.names.of(self.dialect.session(object)),
            folder: self.names.of(about.folder),
            model: self.names.of(self.dialect.model(object)),
            titles: has_title.then(|| Box::new(titles)),
        }
    }
}
