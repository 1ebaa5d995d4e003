//! The `ctx-split` binary, which runs the tool in `ctx_tools::tools::split`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::split::TOOL, include_str!("../../man/ctx-split.1"))
}
