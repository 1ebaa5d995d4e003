//! `ctx-rollback`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::rollback::TOOL, include_str!("../../man/ctx-rollback.1"))
}
