//! The `ctx-tools` program, which contains all tools.

use std::path::PathBuf;
use std::process::ExitCode;

use ctx_cli::Tool;
use include_dir::{Dir, include_dir};

/// The manual pages shown by `--man`.
static MAN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../man");

fn main() -> ExitCode {
    let program = PathBuf::from(std::env::args_os().next().unwrap_or_default());
    // The name of the link selects the tool, whatever folder the link is in.
    let is_called = |tool: &&Tool| program.file_name() == Some(tool.name.as_ref());
    match ctx_all::tools().into_iter().find(is_called) {
        Some(tool) => ctx_tools::main(tool, manual(tool.name)),
        None => ctx_tools::entry::main(manual("ctx")),
    }
}

/// Returns the manual page of the given tool.
fn manual(tool: &str) -> &'static str {
    let page = MAN.get_file(format!("{tool}.1"));
    page.and_then(|page| page.contents_utf8()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    /// Every tool has its own manual page.
    #[test]
    fn each_tool_has_its_page() {
        for name in ctx_all::tools().iter().map(|tool| tool.name).chain(["ctx"]) {
            let title = format!(".TH \"{}\" \"1\"", name.to_uppercase());
            assert!(super::manual(name).contains(&title), "{title}");
        }
    }
}
