//! Finds and lists the sessions of all agents on a machine. [`read`] reads a session file,
//! [`Index`] keeps earlier results, and [`Query`] makes the rows of the list.
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
