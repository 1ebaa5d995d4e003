//! When a provider's cache of the prompt was used last, as far as a file tells.

use std::fs::Metadata;
use std::path::Path;

use ctx_cli::metadata;
use ctx_passes::Time;

/// When a file, or what stdin is read from, changed last.
pub fn last_change(path: &Path) -> Option<Time> {
    let meta = metadata(path).ok().filter(Metadata::is_file)?;
    Some(Time(meta.modified().ok()?.into()))
}
