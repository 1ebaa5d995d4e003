//! A terminal of a given width that a command writes to.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

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
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).context("no terminal")?;
        grantpt(&master)
            .and_then(|()| unlockpt(&master))
            .context("no terminal")?;
        let name = ptsname(&master, Vec::new()).context("no terminal")?;
        let slave = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().context("no name")?)
            .context("cannot open the terminal")?;
        let size = Winsize {
            ws_row: 50,
            ws_col: self.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).context("cannot set its size")?;
        let path = std::env::var("PATH").unwrap_or_default();
        let child = Command::new("bash")
            .args(["-euc", command])
            .current_dir(folder)
            .env_clear()
            .env("PATH", format!("{}:{path}", self.bin.display()))
            .env("HOME", self.home)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(slave.try_clone()?)
            .stdout(slave)
            .stderr(Stdio::piped())
            .spawn()
            .context("bash does not start")?;
        let mut bytes = Vec::new();
        // At the end Linux says EIO: nobody has the other side open any more.
        let _ = File::from(master).read_to_end(&mut bytes);
        let ended = child.wait_with_output().context("bash is lost")?;
        let text = String::from_utf8(bytes).context("no UTF-8")?;
        let said = String::from_utf8_lossy(&ended.stderr);
        let is_well = ended.status.success() && said.is_empty();
        ensure!(is_well, "{command}: {}: {text}{said}", ended.status);
        Ok(text)
    }
}
