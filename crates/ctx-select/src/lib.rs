//! Counting of messages, and pure decisions about them: triggers, budgets, split, prune.
//!
//! A decision is data: a pure function from what is there to verdicts with
//! reasons. The tools print or apply them.

pub mod budget;
pub mod calibrate;
pub mod called;
pub mod count;
pub mod duration;
pub mod image;
pub mod measure;
mod number;
pub mod prune;
pub mod share;
pub mod split;
pub mod tally;
pub mod trigger;

pub use number::{parse_count, parse_fraction};
