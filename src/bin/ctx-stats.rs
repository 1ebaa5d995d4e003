//! `ctx-stats`: see [`ctx_tools::tools::stats`].

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::stats::TOOL)
}
