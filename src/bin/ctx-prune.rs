//! The `ctx-prune` binary, which runs the tool in `ctx_tools::tools::prune`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::prune::TOOL, include_str!("../../man/ctx-prune.1"))
}
