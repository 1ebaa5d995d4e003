//! Full-text search over documents.
//!
//! [`SearchIndex::open`] opens the index in a folder and rebuilds a damaged one.
//! [`SearchIndex::update`] adds new sources and removes deleted ones. [`SearchIndex::search`] ranks
//! by BM25 and puts literal matches first. The index stores words and numbers but no text: a hit
//! names its source and line, and [`snippet`] is made from the text there. [`each_word`] defines
//! words for documents and queries.
//!
//! Only this crate uses the search engine directly.

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
