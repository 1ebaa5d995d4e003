//! The `ctx-rollback` binary, which runs the tool in `ctx_tools::tools::rollback`.

ctx_tools::binary!(rollback);
