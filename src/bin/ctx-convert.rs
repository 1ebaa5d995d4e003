//! The `ctx-convert` binary, which runs the tool in `ctx_tools::tools::convert`.

ctx_tools::binary!(convert);
