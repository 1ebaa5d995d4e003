//! What a session holds that must not be lost: the ledger, the rules by which it is
//! read, and the score of what survived.
//!
//! [`Ledger`] reads messages once and gives typed [`Item`]s, each with its line, and
//! an [`Index`] of identifiers with the segments that name them. [`rules`] say which
//! [`sentence`] is a decision, a fact or a preference; [`form`] is how items stand in a
//! summary, so that they are items again when the summary is old itself. [`score`]
//! looks the ledger of one session up in another.

mod action;
mod arguments;
mod block;
mod bytes;
mod calls;
mod context;
mod facts;
#[cfg(test)]
mod fixtures;
pub mod form;
mod harness;
mod hash;
mod identifier;
mod index;
mod item;
mod items;
mod kind;
mod ledger;
mod outcome;
mod output;
mod own;
pub mod prose;
mod reading;
mod record;
pub mod rules;
pub mod runtime;
mod said;
mod scan;
pub mod score;
mod segment;
pub mod sentence;
mod shrink;
mod statement;
mod supersede;
mod term;
pub mod text;

pub use facts::Origin;
pub use harness::{OpenCalls, Speech, is_observation, speech, users_words, without_reminders};
pub use index::{Index, Segment};
pub use item::{Identifier, Item, ItemKind, State};
pub use kind::Kind;
pub use ledger::Ledger;
pub use outcome::is_frame;
pub use own::own_words;
pub use reading::{Id, Mark, Reading};
pub use supersede::supersedes;
