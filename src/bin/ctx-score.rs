//! The `ctx-score` binary, which runs the tool in `ctx_tools::tools::score`.

ctx_tools::binary!(score);
