//! `ctx-snapshot`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::snapshot::TOOL, include_str!("../../man/ctx-snapshot.1"))
}
