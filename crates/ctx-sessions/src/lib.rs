//! Finds the sessions of all agents on a machine: their folders and files, a reader for each file
//! ([`read`]), an [`Index`] of earlier results, and the rows of a list ([`Query`]).
//!
//! A session's tokens are counted and calibrated by the engine, so a list shows the same figures as
//! every other tool.

mod content;
mod find;
mod list;
mod query;

pub use content::{Content, Index, Reading, read};
pub use find::Mark;
pub use list::{ListFormat, Row, RowOptions};
pub use query::{Listed, Query};
