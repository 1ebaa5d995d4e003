//! Retention: moves old snapshots into the trash.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::gc::TOOL)
}
