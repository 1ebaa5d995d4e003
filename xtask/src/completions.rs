//! Shell completions under the names that the shells look for.

use std::path::PathBuf;

use ctx_cli::{Shell, Tool};

/// The completions of one tool: path → content.
pub(crate) fn of(tool: &Tool) -> [(PathBuf, Vec<u8>); 3] {
    let name = tool.name;
    [
        (format!("completions/bash/{name}"), Shell::Bash),
        (format!("completions/zsh/_{name}"), Shell::Zsh),
        (format!("completions/fish/{name}.fish"), Shell::Fish),
    ]
    .map(|(path, shell)| (PathBuf::from(path), shell.script(name).into_bytes()))
}
