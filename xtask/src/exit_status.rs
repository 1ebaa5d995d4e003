//! `docs/exit-status.md`: the one table, and what the tools add to it.

use std::fmt::Write as _;

use ctx_cli::{ExitStatus, Tool};

/// The page.
pub(crate) fn page(tools: &[&Tool]) -> Vec<u8> {
    let (mut statuses, mut meanings) = (String::new(), String::new());
    for (status, meaning) in ExitStatus::TABLE {
        let _ = writeln!(statuses, "| {} | {meaning} |", status.code());
    }
    for tool in tools {
        for (code, meaning) in &tool.page().exit_status {
            let meaning = meaning.replace('|', "\\|");
            let _ = writeln!(meanings, "| `{}` | {code} | {meaning} |", tool.name);
        }
    }
    include_str!("exit-status.md.in")
        .replace("@STATUSES@\n", &statuses)
        .replace("@TOOLS@\n", &meanings)
        .into_bytes()
}
