//! The `ctx-summarize` binary, which runs the tool in `ctx_tools::tools::summarize`.

ctx_tools::binary!(summarize);
