//! The `ctx-split` binary, which runs the tool in `ctx_tools::tools::split`.

ctx_tools::binary!(split);
