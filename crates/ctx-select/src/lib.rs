//! Counting of messages, and pure decisions about them: split, retention

pub mod count;
pub mod tally;
