//! End-to-end tests: whole commands, one module per tool.

mod generated;
