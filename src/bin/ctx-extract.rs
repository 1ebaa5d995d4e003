//! `ctx-extract`: see `ctx_tools::tools::extract`.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::extract::TOOL)
}
