//! The `ctx-check` binary, which runs the tool in `ctx_tools::tools::check`.

ctx_tools::binary!(check);
