//! The sessions of all agents on a machine: where they lie, which files there are, what a
//! quick reading says of each ([`read`]), an [`Index`] of what was read, and the rows of a list
//! ([`Query`]).
//!
//! A reading sees each line with its long strings cut short ([`shrink`]). All else goes by the
//! dialects, as in every tool, so it finds the messages that the agent would send.

mod content;
mod facts;
mod find;
mod form;
mod index;
mod log;
mod mark;
mod measure;
mod names;
mod place;
mod query;
mod read;
mod remarks;
mod row;
pub mod shrink;
mod state;
mod sum;
mod survey;
mod table;
mod title;

pub use content::Content;
pub use form::Form;
pub use index::Index;
pub use mark::Mark;
pub use query::Query;
pub use read::{Reading, read};
pub use row::{Question, Row};
pub use survey::Listed;
