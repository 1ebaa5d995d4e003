//! `ctx-prune`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::prune::TOOL, include_str!("../../man/ctx-prune.1"))
}
