//! `docs/exit-status.md`: the one table, and what the tools add to it.

use std::fmt::Write as _;

use ctx_cli::{ExitStatus, Tool};

const HEAD: &str = "# Exit status

<!-- Written by `cargo run -p xtask -- gen` from crates/ctx-cli/src/process.rs and the pages of the tools. -->

One table for all tools. The numbers are a contract: scripts may rely on them.

| status | meaning |
|---|---|
";

const TOOLS_HEAD: &str = "
What a tool means by a status where it says more than the table. A tool that is not listed with 1 never exits with 1.

| tool | status | meaning |
|---|---|---|
";

const FOOT: &str = "
In a pipeline the shell reports the last stage only. Use `set -o pipefail`, and `-o FILE` for the result: a stage that
fails makes the pipeline fail, and no shortened file appears.
";

/// The page.
pub(crate) fn page(tools: &[&Tool]) -> Vec<u8> {
    let mut page = String::from(HEAD);
    for (status, meaning) in ExitStatus::TABLE {
        let _ = writeln!(page, "| {} | {meaning} |", status.code());
    }
    page.push_str(TOOLS_HEAD);
    for tool in tools {
        for (code, meaning) in &tool.page().exit_status {
            let meaning = meaning.replace('|', "\\|");
            let _ = writeln!(page, "| `{}` | {code} | {meaning} |", tool.name);
        }
    }
    page.push_str(FOOT);
    page.into_bytes()
}
