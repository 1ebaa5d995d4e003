//! Pruning: which tool results are shortened or cleared, which reasoning and which
//! records go. Nothing is summarized and nothing that a user or the model said
//! changes.
//!
//! A pure decision over facts: [`Pruner::message`] takes the facts of each message,
//! which hold all numbers, so that [`Pruner::finish`] can give final [`Verdicts`] and
//! say what they free; [`Verdicts::carry_out`] does what was decided. What would not make
//! a message smaller is not decided. Pruning twice with one policy is pruning once: a
//! text that was shortened is known by its handle.

mod carry_out;
mod decide;
mod files;
mod notes;
mod policy;
mod pruner;
mod reduce;
mod rule;
mod session;
mod shorter;
mod sparse;
mod sums;
mod tools;
mod verdicts;
mod window;

pub use files::{Access, FileUse};
pub use policy::{Policy, Questions, ReferencePattern, Trim};
pub use pruner::Pruner;
pub use rule::Rule;
pub use shorter::{MAX_NOTE, NewArguments, parted};
pub use sums::{Freed, Sum, Sums};
pub use tools::{Glob, ToolFilter};
pub use verdicts::Verdicts;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
