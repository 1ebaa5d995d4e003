//! Finds the sessions of all agents on a machine: their folders and files, a reader for each file
//! ([`read`]), an [`Index`] of earlier results, and the rows of a list ([`Query`]).
//!
//! A session's tokens are counted and calibrated by the engine, so a list shows the same figures as
//! every other tool.

mod find;
mod query;
mod read;
mod row;

pub use find::Mark;
pub use query::{Listed, Query};
pub use read::{Content, Index, Reading, read};
pub use row::{Form, Question, Row};
