//! End-to-end tests: whole commands, one module per tool.

mod count;
mod generated;
mod split;
