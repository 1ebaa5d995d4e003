//! The `ctx-tools` program, which contains all tools.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use ctx_cli::ExitStatus;
use include_dir::{Dir, include_dir};

/// The manual pages shown by `--man`.
static MAN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../man");

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let program = args.next().unwrap_or_default();
    if let Some(tool) = ctx_all::called_as(&program) {
        return ctx_tools::main(tool, manual(tool.name));
    }
    let first = args.next().unwrap_or_default();
    match first.to_str() {
        Some("-h" | "--help") => return print(&help()),
        Some("-V" | "--version") => {
            return print(concat!("ctx-tools ", env!("CARGO_PKG_VERSION"), "\n"));
        }
        _ => {}
    }
    let failure = match ctx_all::named(&first) {
        Some(tool) => become_tool(tool, args),
        None => "specify a tool; ctx-tools -h lists all tools".to_owned(),
    };
    // If stderr is closed, there is nowhere to report the error.
    let _ = writeln!(io::stderr(), "ctx-tools: {failure}");
    ExitCode::from(ExitStatus::Failed.code())
}

/// Returns the manual page of the given tool.
fn manual(tool: &str) -> &'static str {
    let page = MAN.get_file(format!("{tool}.1"));
    page.and_then(|page| page.contents_utf8()).unwrap_or_default()
}

/// Replaces this process with the same program under the tool's name. If the program cannot be
/// executed, returns the error message.
fn become_tool(tool: &str, args: impl Iterator<Item = OsString>) -> String {
    let itself = std::env::current_exe();
    let error = match itself {
        Ok(itself) => Command::new(itself).arg0(tool).args(args).exec(),
        Err(error) => error,
    };
    format!("cannot start {tool}: {error}; run {tool} directly")
}

fn help() -> String {
    let list = ctx_all::tools().into_iter().map(|tool| {
        let about = (tool.command)().get_about().map(ToString::to_string);
        let name = tool.name.trim_start_matches("ctx-");
        format!("  {name:<10} {}\n", about.unwrap_or_default())
    });
    let list: String = list.collect();
    format!(
        "Usage: ctx-tools TOOL [OPTIONS] ...\n\nRuns ctx-TOOL; ctx-TOOL -h shows the flags of that tool.\n\n{list}"
    )
}

fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(ExitStatus::Failed.code()),
    }
}

#[cfg(test)]
mod tests {
    /// Every tool has its own manual page.
    #[test]
    fn each_tool_has_its_page() {
        for tool in ctx_all::tools() {
            let title = format!(".TH \"{}\" \"1\"", tool.name.to_uppercase());
            assert!(super::manual(tool.name).contains(&title), "{title}");
        }
    }
}
