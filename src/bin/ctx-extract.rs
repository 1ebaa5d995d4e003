//! The `ctx-extract` binary, which runs the tool in `ctx_tools::tools::extract`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::extract::TOOL, include_str!("../../man/ctx-extract.1"))
}
