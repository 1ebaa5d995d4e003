//! The `ctx-count` binary, which runs the tool in `ctx_tools::tools::count`.

ctx_tools::binary!(count);
