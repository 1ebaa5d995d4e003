//! `ctx-score`: see its module.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::score::TOOL)
}
