//! The `ctx-stats` binary, which runs the tool in `ctx_tools::tools::stats`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::stats::TOOL, include_str!("../../man/ctx-stats.1"))
}
