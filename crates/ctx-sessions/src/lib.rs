//! The sessions of all agents on a machine: their folders and files, a reading of each ([`read`]),
//! an [`Index`] of what was read, and the rows of a list ([`Query`]).
//!
//! A session's tokens are counted and calibrated by the engine, so a list shows the same figures as
//! every other tool.

mod content;
mod find;
mod form;
mod index;
mod mark;
mod place;
mod query;
mod read;
mod remarks;
mod row;
mod state;
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
