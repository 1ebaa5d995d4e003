//! The executable `ctx-memory`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_memory_tool::TOOL, include_str!("../../../man/ctx-memory.1"))
}
