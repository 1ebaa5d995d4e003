//! What a command writes to a terminal of a given width.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

pub(super) struct Terminal<'a> {
    /// Where the tools are.
    pub(super) bin: &'a Path,
    pub(super) home: &'a Path,
    pub(super) columns: u16,
}

impl Terminal<'_> {
    /// What a command writes to stdout, as the terminal gets it. It must succeed, and say nothing
    /// on stderr, which is no terminal: how far a slow run is would make another picture.
    pub(super) fn run(&self, folder: &Path, command: &str) -> anyhow::Result<String> {
        let terminal = ctx_testkit::Terminal::new(self.columns);
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-euc", command])
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{}:{path}", self.bin.display()))
            .env("HOME", self.home)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(terminal.stream())
            .stdout(terminal.stream())
            .stderr(Stdio::piped());
        let ended = bash.spawn().and_then(std::process::Child::wait_with_output);
        drop(bash);
        let ended = ended.context("bash does not run")?;
        let text = terminal.ended();
        let said = String::from_utf8_lossy(&ended.stderr);
        let is_well = ended.status.success() && said.is_empty();
        ensure!(is_well, "{command}: {}: {text}{said}", ended.status);
        Ok(text)
    }
}
