//! The `ctx-offload` binary, which runs the tool in `ctx_tools::tools::offload`.

ctx_tools::binary!(offload);
