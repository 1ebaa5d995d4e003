//! The `ctx-snapshot` binary, which runs the tool in `ctx_tools::tools::snapshot`.

ctx_tools::binary!(snapshot);
