//! Tests decisions and counts for sessions of all dialects.

mod counts_add_up;
mod dialects;
