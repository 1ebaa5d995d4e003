//! Searches the memory of all sessions.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_memory_tool::TOOL)
}
