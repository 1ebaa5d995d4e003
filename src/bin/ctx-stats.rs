//! The `ctx-stats` binary, which runs the tool in `ctx_tools::tools::stats`.

ctx_tools::binary!(stats);
