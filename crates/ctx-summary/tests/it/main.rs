//! Tests of whole summaries: the rule summary, and summaries of earlier summaries.

mod generations;
mod rule;
