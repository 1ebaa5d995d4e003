//! `ctx-convert`: see its module.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::convert::TOOL)
}
