//! End-to-end tests: whole commands, one module per tool.

mod count;
mod extract;
mod generated;
mod split;
mod summarize;
mod summarize_llm;
