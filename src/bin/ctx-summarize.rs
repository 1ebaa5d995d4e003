//! `ctx-summarize`: see its module.

fn main() -> std::process::ExitCode {
    ctx_cli::main(&ctx_tools::tools::summarize::TOOL)
}
