//! One module per tool: `Args` (what was typed) → `Plan` (what it means) → `run`.

pub mod count;
pub mod extract;
pub mod gc;
pub mod prune;
pub mod rollback;
pub mod snapshot;
pub mod split;
pub mod summarize;
