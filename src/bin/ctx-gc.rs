//! `ctx-gc`: see its module.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::gc::TOOL, include_str!("../../man/ctx-gc.1"))
}
