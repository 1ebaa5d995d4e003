//! All tools in one program.

mod manuals;

use std::io::Write;
use std::process::ExitCode;

use ctx_cli::ExitStatus;

fn main() -> ExitCode {
    let program = std::env::args_os().next().unwrap_or_default();
    if let Some(tool) = ctx_all::called_as(&program) {
        return ctx_tools::main(tool, manuals::of(tool.name));
    }
    let tools: Vec<&str> = ctx_all::tools().iter().map(|tool| tool.name).collect();
    // When stderr itself is gone there is nobody to tell.
    let _ = writeln!(
        std::io::stderr(),
        "ctx-tools: this program is all tools, and the link that it is called by says which; call one of {}",
        tools.join(", ")
    );
    ExitCode::from(ExitStatus::Failed.code())
}
