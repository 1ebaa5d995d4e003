//! Restores a snapshot.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::rollback::TOOL)
}
