//! The `ctx-extract` binary, which runs the tool in `ctx_tools::tools::extract`.

ctx_tools::binary!(extract);
