//! `ctx-summarize`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::summarize::TOOL, include_str!("../../man/ctx-summarize.1"))
}
