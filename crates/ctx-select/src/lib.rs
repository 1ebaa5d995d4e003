//! Counting of messages, and pure decisions about them: triggers,
//! split, retention.
//! Counting of messages, and pure decisions about them: split, prune, retention.
//! Counting of messages, and pure decisions about them: triggers, split, prune,
//! retention.
//!
//! A decision is data: a pure function from what is there to verdicts with
//! reasons. The tools print or apply them.

pub mod budget;
pub mod count;
pub mod measure;
pub mod prune;
pub mod retention;
pub mod share;
pub mod split;
pub mod tally;
pub mod trigger;
