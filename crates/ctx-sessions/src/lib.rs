//! The sessions of all agents on a machine: where they lie ([`Place`]), which files there are
//! ([`find`]), what a quick reading says of each ([`read`]), an [`Index`] of what was read, and
//! the rows of a list ([`Survey`]).
//!
//! A reading sees each line with its long strings cut short ([`shrink`]). All else goes by the
//! dialects, as in every tool, so it finds the messages that the agent would send.

mod content;
mod find;
mod index;
mod mark;
mod measure;
mod place;
mod read;
mod row;
pub mod shrink;
mod state;
mod survey;
mod title;

pub use content::Content;
pub use find::{Finds, Found, Scope, find};
pub use index::Index;
pub use mark::Mark;
pub use place::{AGENTS, Place};
pub use read::{Reading, read};
pub use row::{Question, Row};
pub use state::{State, Tokens};
pub use survey::{Listed, Survey};
