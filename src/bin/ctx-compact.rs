//! `ctx-compact`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::compact::TOOL, include_str!("../../man/ctx-compact.1"))
}
