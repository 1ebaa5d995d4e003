//! `ctx-ls`: see [`ctx_tools::tools::ls`].

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::ls::TOOL)
}
