//! Decisions and counts, of sessions of all dialects.

mod counts_add_up;
mod dialects;
