//! The actions that names of tools imply.

/// Parts of the names of tools that run commands.
const SHELLS: [&str; 5] = ["bash", "shell", "exec", "terminal", "command"];

/// Whether a tool runs commands, by its name in lower case.
pub(crate) fn is_shell(name: &str) -> bool {
    SHELLS.iter().any(|shell| name.contains(shell))
}
