//! The `ctx` binary, which lists the tools and runs them.

fn main() -> std::process::ExitCode {
    ctx_tools::entry::main(include_str!("../../man/ctx.1"))
}
