//! The `ctx-prune` binary, which runs the tool in `ctx_tools::tools::prune`.

ctx_tools::binary!(prune);
