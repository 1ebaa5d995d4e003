//! The `ctx-count` binary, which runs the tool in `ctx_tools::tools::count`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::count::TOOL, include_str!("../../man/ctx-count.1"))
}
