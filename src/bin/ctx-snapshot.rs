//! Saves the exact bytes of a session.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::snapshot::TOOL)
}
