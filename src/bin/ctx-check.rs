//! `ctx-check`: see [`ctx_tools::tools::check`].

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::check::TOOL)
}
