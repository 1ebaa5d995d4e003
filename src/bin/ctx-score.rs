//! `ctx-score`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::score::TOOL, include_str!("../../man/ctx-score.1"))
}
