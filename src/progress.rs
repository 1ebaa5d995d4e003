//! Passes the progress of the libraries to the line on the terminal.

use std::sync::Arc;

use ctx_cli::Progress;
use ctx_format::{Observer, Watch};

/// Passes the progress on to the terminal line.
struct Shown(Progress);

impl Observer for Shown {
    fn stage(&self, what: &str) {
        self.0.stage(what);
    }

    fn reading(&self, bytes: u64) {
        self.0.reading(bytes);
    }

    fn read(&self, bytes: u64) {
        self.0.read(bytes);
    }

    fn asking(&self, what: &str) {
        self.0.stage(what);
    }
}

/// Shows progress on the terminal, if it is shown at all.
pub fn watch() -> Watch {
    let progress = Progress::current();
    if progress.is_shown() { Watch::of(Arc::new(Shown(progress))) } else { Watch::default() }
}
