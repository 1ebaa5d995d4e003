//! `ctx-count`: see [`ctx_tools::tools::count`].

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::count::TOOL)
}
