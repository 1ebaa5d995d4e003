//! The tools that write, with their calls on a live session.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tool_path;

/// A call on `s.jsonl`, the file of the session `demo`.
pub(crate) struct Tool {
    /// The name in the table.
    pub(crate) name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    /// Whether it replaces the session by another file.
    pub(crate) replaces: bool,
}

/// Returns a forced compaction.
const fn compact(name: &'static str, args: &'static [&'static str]) -> Tool {
    replacing(name, "ctx-compact", args)
}

const fn replacing(
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
) -> Tool {
    Tool { name, program, args, replaces: true }
}

const fn leaving(name: &'static str, args: &'static [&'static str]) -> Tool {
    Tool { name, program: name, args, replaces: false }
}

macro_rules! preset {
    ($name:literal) => {
        compact(
            concat!("ctx-compact ", $name),
            &["-q", "--force", "--preset", $name, "--keep-messages", "4", "-s", "demo", "s.jsonl"],
        )
    };
}

/// The calls of each tool, and of `ctx-gc`, which also runs next to each of them. The short test
/// runs the first six calls with the six kinds of agents, then the next six, and so on.
pub(crate) static TOOLS: [Tool; 18] = [
    preset!("default"),
    preset!("sanbot"),
    preset!("synapse"),
    preset!("openclaw"),
    preset!("pomelobot"),
    preset!("xopcbot"),
    preset!("turns"),
    replacing("ctx-rollback", "ctx-rollback", &["-q", "-s", "demo", "--snapshot", "1", "s.jsonl"]),
    replacing("ctx-rollback --undo", "ctx-rollback", &["-q", "-s", "demo", "--undo", "s.jsonl"]),
    replacing(
        "ctx-prune -o",
        "ctx-prune",
        &["-q", "--clear", "--protect-last", "1", "s.jsonl", "-o", "s.jsonl"],
    ),
    replacing(
        "ctx-summarize -o",
        "ctx-summarize",
        &["-q", "--budget", "400", "s.jsonl", "-o", "s.jsonl"],
    ),
    replacing(
        "ctx-offload -o",
        "ctx-offload",
        &["-q", "--min-tokens", "20", "-s", "demo", "s.jsonl", "-o", "s.jsonl"],
    ),
    replacing(
        "ctx-split -o",
        "ctx-split",
        &["-q", "--keep-messages", "4", "--only", "keep", "s.jsonl", "-o", "s.jsonl"],
    ),
    replacing(
        "ctx-count --annotate -o",
        "ctx-count",
        &["-q", "--annotate", "s.jsonl", "-o", "s.jsonl"],
    ),
    compact("ctx-compact --budget", &["-q", "--budget", "1200", "-s", "demo", "s.jsonl"]),
    leaving("ctx-snapshot", &["-q", "-s", "demo", "s.jsonl"]),
    leaving("ctx-extract", &["-q", "--into", "memory", "s.jsonl"]),
    leaving("ctx-gc", &["-q"]),
];

/// The calls on a session in an agent's own format.
pub(crate) static OWN_FORMAT: [Tool; 5] = [
    compact(
        "ctx-compact",
        &["-q", "--force", "--min-idle", "0s", "--keep-messages", "4", "-s", "demo", "s.jsonl"],
    ),
    replacing(
        "ctx-prune -i",
        "ctx-prune",
        &["-q", "-i", "--min-idle", "0s", "--clear", "--protect-last", "1", "s.jsonl"],
    ),
    replacing(
        "ctx-offload -i",
        "ctx-offload",
        &["-q", "-i", "--min-idle", "0s", "--min-tokens", "20", "-s", "demo", "s.jsonl"],
    ),
    replacing(
        "ctx-rollback",
        "ctx-rollback",
        &["-q", "-s", "demo", "--min-idle", "0s", "--snapshot", "1", "s.jsonl"],
    ),
    replacing(
        "ctx-rollback --undo",
        "ctx-rollback",
        &["-q", "-s", "demo", "--min-idle", "0s", "--undo", "s.jsonl"],
    ),
];

impl Tool {
    /// Returns the command in a folder. With a `delay`, strace delays this call of the command.
    pub(crate) fn command(&self, dir: &Path, delay: Option<&str>) -> Command {
        let program = program(self.program);
        let mut command = match delay {
            None => Command::new(program),
            Some(delay) => {
                let mut strace = Command::new("strace");
                let call = delay.split(':').next().unwrap_or_default();
                strace.args(["-f", "-qq", "-o", "/dev/null", "-e"]);
                strace.arg(format!("trace={call}")).arg("-e");
                strace.arg(format!("inject={delay}")).arg(program);
                strace
            }
        };
        command
            .args(self.args)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir)
            .env("CTX_HOME", dir.join("store"))
            .current_dir(dir);
        command
    }
}

/// Returns the program of a tool, from this build or from `CTX_LIVE_BIN`.
pub(crate) fn program(name: &str) -> PathBuf {
    env::var_os("CTX_LIVE_BIN").map_or_else(|| tool_path(name), |dir| Path::new(&dir).join(name))
}

/// Calls are delayed by this many microseconds, because the moments between them are usually too
/// short for an agent.
pub(crate) const DELAYS: [&str; 7] = [
    "renameat2:delay_enter=20000",
    "renameat2:delay_enter=6000:delay_exit=30000",
    "rename:delay_enter=20000",
    "linkat:delay_enter=20000",
    "unlink:delay_enter=20000",
    "flock:delay_enter=20000",
    "openat:delay_enter=1000",
];

/// Returns true if strace is installed and may trace.
pub(crate) fn can_delay() -> bool {
    let mut strace = Command::new("strace");
    let strace = strace.args(["-f", "-o", "/dev/null", "true"]);
    let status = strace.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
