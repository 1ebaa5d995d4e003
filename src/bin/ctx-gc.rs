//! The `ctx-gc` binary, which runs the tool in `ctx_tools::tools::gc`.

ctx_tools::binary!(gc);
