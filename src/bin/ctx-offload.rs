//! `ctx-offload`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::offload::TOOL, include_str!("../../man/ctx-offload.1"))
}
