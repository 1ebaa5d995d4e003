//! The `ctx-offload` binary, which runs the tool in `ctx_tools::tools::offload`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::offload::TOOL, include_str!("../../man/ctx-offload.1"))
}
