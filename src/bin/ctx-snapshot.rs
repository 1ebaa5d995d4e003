//! The `ctx-snapshot` binary, which runs the tool in `ctx_tools::tools::snapshot`.

fn main() -> std::process::ExitCode {
    ctx_tools::main(&ctx_tools::tools::snapshot::TOOL, include_str!("../../man/ctx-snapshot.1"))
}
