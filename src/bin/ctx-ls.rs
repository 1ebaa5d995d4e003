//! The `ctx-ls` binary, which runs the tool in `ctx_tools::tools::ls`.

ctx_tools::binary!(ls);
