//! `ctx-split`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::split::TOOL, include_str!("../../man/ctx-split.1"))
}
