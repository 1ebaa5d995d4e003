//! Full-text search over documents.
//!
//! [`SearchIndex::open`] opens the index in a folder and rebuilds a damaged one.
//! [`SearchIndex::update`] adds new sources and removes deleted ones. [`SearchIndex::search`] ranks
//! documents by BM25 and places verbatim matches first. The index stores words and numbers but no
//! text: a hit refers to a line in a source, and [`snippet`] makes an excerpt from the text there.
//! [`each_word`] splits documents and queries into words.
//!
//! No other crate in the project uses the search engine, tantivy, directly.

mod index;
mod query;
mod rank;
mod schema;
mod update;
mod words;

pub use index::{SearchError, SearchIndex};
pub use query::{Filter, Hit, Holds, snippet};
pub use schema::{Document, ROLES, Source, SourceKind};
pub use update::Changes;
pub use words::each_word;
