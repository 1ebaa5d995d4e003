//! End-to-end tests of `ctx-memory`.

mod consolidate;
mod faults;
mod field;
mod get;
mod inject;
mod recall;
mod search;
