//! The `ctx-gc` binary, which runs the tool in `ctx_tools::tools::gc`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::gc::TOOL, include_str!("../../man/ctx-gc.1"))
}
