//! Counting of messages, and pure decisions about them: split, retention

pub mod split;
