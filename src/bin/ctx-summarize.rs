//! The `ctx-summarize` binary, which runs the tool in `ctx_tools::tools::summarize`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::summarize::TOOL, include_str!("../../man/ctx-summarize.1"))
}
