//! The counters and the tokenizer as their callers see them.

mod engine;
mod exact;
mod random;
mod tokenizer;
