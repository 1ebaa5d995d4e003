//! The `ctx-convert` binary, which runs the tool in `ctx_tools::tools::convert`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::convert::TOOL, include_str!("../../man/ctx-convert.1"))
}
