//! End-to-end tests of `ctx-memory`.

mod faults;
mod field;
mod get;
mod inject;
mod search;
