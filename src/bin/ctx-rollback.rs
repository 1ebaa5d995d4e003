//! The `ctx-rollback` binary, which runs the tool in `ctx_tools::tools::rollback`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::rollback::TOOL, include_str!("../../man/ctx-rollback.1"))
}
