//! Tests the counters and the tokenizer through their public interface.

mod engine;
mod exact;
mod random;
mod tokenizer;
