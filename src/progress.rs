//! What the libraries tell of a run, for the line on the terminal.

use std::sync::Arc;

use ctx_cli::Progress;
use ctx_transcript::{Observer, Watch};

/// Hands on to the line what it is told.
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

/// Whoever looks at the terminal watches; nobody where nothing is shown.
pub fn watch() -> Watch {
    let progress = Progress::current();
    if progress.is_shown() {
        Watch::of(Arc::new(Shown(progress)))
    } else {
        Watch::default()
    }
}
