//! When a provider's cache of the prompt was used last, as far as a file tells.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use ctx_cli::is_stdin;
use ctx_passes::prune::Time;

/// When a file, or what stdin is read from, changed last.
pub fn last_change(path: &Path) -> Option<Time> {
    let meta = metadata(path).ok().filter(Metadata::is_file)?;
    Some(Time(meta.modified().ok()?.into()))
}

fn metadata(path: &Path) -> io::Result<Metadata> {
    if !is_stdin(path) {
        return path.metadata();
    }
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    File::from(stdin).metadata()
}
