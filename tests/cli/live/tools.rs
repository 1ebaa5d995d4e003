//! The tools that write, as they are called on a live session.

use std::path::Path;
use std::process::Command;

use crate::tool_path;

/// A call on `s.jsonl`, whose session is `demo`.
pub(crate) struct Tool {
    /// What it is called in the table.
    pub(crate) name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    /// Whether it puts another file in the place of the session.
    pub(crate) replaces: bool,
}

/// A compaction, due or not.
const fn compact(name: &'static str, args: &'static [&'static str]) -> Tool {
    replacing(name, "ctx-compact", args)
}

const fn replacing(
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
) -> Tool {
    Tool {
        name,
        program,
        args,
        replaces: true,
    }
}

const fn leaving(name: &'static str, args: &'static [&'static str]) -> Tool {
    Tool {
        name,
        program: name,
        args,
        replaces: false,
    }
}

macro_rules! preset {
    ($name:literal) => {
        compact(
            concat!("ctx-compact ", $name),
            &[
                "-q",
                "--force",
                "--preset",
                $name,
                "--keep-messages",
                "4",
                "-s",
                "demo",
                "s.jsonl",
            ],
        )
    };
}

/// Each of them, and gc, which also runs beside each.
pub(crate) const TOOLS: [Tool; 12] = [
    preset!("default"),
    preset!("sanbot"),
    preset!("synapse"),
    preset!("openclaw"),
    preset!("pomelobot"),
    preset!("xopcbot"),
    preset!("turns"),
    replacing(
        "ctx-rollback",
        "ctx-rollback",
        &["-q", "-s", "demo", "--snapshot", "1", "s.jsonl"],
    ),
    replacing(
        "ctx-rollback --undo",
        "ctx-rollback",
        &["-q", "-s", "demo", "--undo", "s.jsonl"],
    ),
    leaving("ctx-snapshot", &["-q", "-s", "demo", "s.jsonl"]),
    leaving("ctx-extract", &["-q", "--into", "memory", "s.jsonl"]),
    leaving("ctx-gc", &["-q"]),
];

impl Tool {
    /// The command in a folder; with a `delay`, one that strace holds up there.
    pub(crate) fn command(&self, dir: &Path, delay: Option<&str>) -> Command {
        let program = tool_path(self.program);
        let mut command = match delay {
            None => Command::new(program),
            Some(delay) => {
                let mut strace = Command::new("strace");
                strace.args(["-f", "-qq", "-o", "/dev/null", "-e"]);
                strace.arg(format!("inject={delay}")).arg(program);
                strace
            }
        };
        command
            .args(self.args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir)
            .env("CTX_HOME", dir.join("store"))
            .current_dir(dir);
        command
    }
}
