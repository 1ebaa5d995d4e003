//! The `ctx-score` binary, which runs the tool in `ctx_tools::tools::score`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::score::TOOL, include_str!("../../man/ctx-score.1"))
}
