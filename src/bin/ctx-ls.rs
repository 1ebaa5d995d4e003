//! The `ctx-ls` binary, which runs the tool in `ctx_tools::tools::ls`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::ls::TOOL, include_str!("../../man/ctx-ls.1"))
}
