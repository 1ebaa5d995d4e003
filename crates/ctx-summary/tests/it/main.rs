//! Whole summaries: by rules, and of earlier summaries.

mod generations;
mod rule;
