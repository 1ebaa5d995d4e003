//! Full-text search: documents in, hits out.
//!
//! [`SearchIndex::open`] opens the index in a folder, or makes it anew where it is damaged;
//! [`SearchIndex::update`] reads what is new, and forgets what is gone; [`SearchIndex::search`]
//! ranks by BM25, and puts what holds the query as it is written first. The index holds words and numbers, no text: a hit names its source and its
//! line, and [`snippet`] is made of the text that is read there. What a word is, [`each_word`]
//! says, for documents and queries alike.
//!
//! This is the one crate that knows the engine.

mod error;
mod folder;
mod index;
mod known;
mod query;
mod rank;
mod schema;
mod script;
mod snippet;
mod source;
mod update;
mod words;
mod written;

pub use error::SearchError;
pub use index::{SearchIndex, State};
pub use query::{Filter, Hit, Holds};
pub use snippet::snippet;
pub use source::{Document, Kind, ROLES, Source};
pub use update::Changes;
pub use words::each_word;
