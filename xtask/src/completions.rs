//! Shell completions under the names that the shells look for.

use std::path::PathBuf;

use clap_complete::{Shell, generate};
use ctx_cli::Tool;

/// The completions of one tool: path → content.
pub(crate) fn of(tool: &Tool) -> [(PathBuf, Vec<u8>); 3] {
    let name = tool.name;
    [
        (format!("completions/bash/{name}"), Shell::Bash),
        (format!("completions/zsh/_{name}"), Shell::Zsh),
        (format!("completions/fish/{name}.fish"), Shell::Fish),
    ]
    .map(|(path, shell)| {
        let mut content = Vec::new();
        generate(shell, &mut tool.full_command(), name, &mut content);
        (PathBuf::from(path), content)
    })
}
