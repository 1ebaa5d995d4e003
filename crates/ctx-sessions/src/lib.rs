//! Finds and lists the sessions of all agents on a machine. [`read`] reads a session file,
//! [`Index`] caches the results, and [`Query`] selects the sessions to list.
//!
//! The engine counts the tokens of a session and calibrates the count, so the list shows the same
//! figures as every other tool.

mod content;
mod find;
mod list;
mod query;

pub use content::{Content, Index, Reading, read};
pub use find::{Mark, with_home};
pub use list::{ListFormat, Row};
pub use query::{Listed, Query, sessions_of_id};
