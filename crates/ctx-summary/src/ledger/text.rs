//! Deprecated names of `ctx-text`, until all users have its own.

pub use ctx_text::{
    comparison_key as key, first_chars, head_and_tail as ends, last_chars, one_line, plain_line,
    regex, shorten as cut,
};

pub use super::rules::QUOTE_MAX;
