//! The requirements of an API: its rules, the problems of a session with them, and their repair.

pub mod problems;
pub mod repair;
pub mod rules;
