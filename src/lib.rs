//! The tools.
