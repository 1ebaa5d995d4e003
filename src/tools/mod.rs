//! One module per tool: `Args` (the command line) → `Plan` (its meaning) → `run`.

pub mod check;
pub mod compact;
pub mod convert;
pub mod count;
pub mod extract;
pub mod gc;
pub mod ls;
pub mod offload;
pub mod prune;
pub mod rollback;
pub mod score;
pub mod snapshot;
pub mod split;
pub mod stats;
pub mod summarize;
