//! The `ctx-compact` binary, which runs the tool in `ctx_tools::tools::compact`.

ctx_tools::binary!(compact);
