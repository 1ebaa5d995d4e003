//! The `ctx-compact` binary, which runs the tool in `ctx_tools::tools::compact`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::compact::TOOL, include_str!("../../man/ctx-compact.1"))
}
