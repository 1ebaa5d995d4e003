//! What an API accepts: its rules, the problems of a session against them, and their repair.

pub mod problems;
pub mod repair;
pub mod rules;
