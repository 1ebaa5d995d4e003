//! `ctx-convert`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::convert::TOOL, include_str!("../../man/ctx-convert.1"))
}
