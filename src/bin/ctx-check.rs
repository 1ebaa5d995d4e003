//! The `ctx-check` binary, which runs the tool in `ctx_tools::tools::check`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::check::TOOL, include_str!("../../man/ctx-check.1"))
}
