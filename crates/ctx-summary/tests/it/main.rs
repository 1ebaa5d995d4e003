//! Tests rule summaries, and summaries of earlier summaries.

mod generations;
mod rule;
