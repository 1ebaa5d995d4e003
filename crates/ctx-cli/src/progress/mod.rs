//! Progress of a long run on stderr: only on a terminal, only after a second, and erased at the
//! end.
//!
//! Workers add to a few counters; one thread reads them ten times a second and draws. A process has
//! one terminal, and so one [`Progress`]: any code that writes to the terminal finds it there, and
//! erases the line while it writes.

mod counts;
mod line;

use std::io::{self, IsTerminal, Read, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use clap::ValueEnum;

use crate::io::{is_capable, wants_colour};
use crate::{CommonArgs, printable};
use counts::Counts;
use line::Line;

/// When it is shown how far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ShowProgress {
    /// On a terminal, of what takes longer than a second
    #[default]
    Auto,
    /// Never
    Never,
}

static PROGRESS: OnceLock<Progress> = OnceLock::new();

/// The progress of this process.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Shown>>);

/// The counters and the line that shows them.
struct Shown {
    counts: Arc<Counts>,
    line: Line,
}

impl Progress {
    /// Starts the display, if there is a terminal.
    pub(crate) fn begin(tool: &'static str, common: &CommonArgs) {
        let is_wanted = common.progress == ShowProgress::Auto && !common.quiet;
        if is_wanted && io::stderr().is_terminal() && is_capable() {
            let counts = Arc::new(Counts::new(tool));
            let line = Line::start(counts.clone(), wants_colour(common.color, true));
            let _ = PROGRESS.set(Self(Some(Arc::new(Shown { counts, line }))));
        }
    }

    /// That of this process.
    pub fn current() -> Self {
        PROGRESS.get().cloned().unwrap_or_default()
    }

    /// Whether the terminal shows the line.
    pub fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Takes the line away for good.
    pub(crate) fn end(&self) {
        if let Some(shown) = &self.0 {
            shown.line.end();
        }
    }

    /// Another part of the work begins.
    pub fn stage(&self, what: &str) {
        if let Some(shown) = &self.0 {
            shown.counts.stage(what);
        }
    }

    /// Starts a pass over `bytes` bytes in the current stage.
    pub fn reading(&self, bytes: u64) {
        if let Some(shown) = &self.0 {
            shown.counts.reading(bytes);
        }
    }

    /// Adds bytes that were read.
    pub fn read(&self, bytes: u64) {
        if let Some(shown) = &self.0 {
            shown.counts.bytes.fetch_add(bytes, Relaxed);
        }
    }

    /// One more record of a batch is done.
    pub fn record(&self) {
        if let Some(shown) = &self.0 {
            shown.counts.records.fetch_add(1, Relaxed);
        }
    }

    /// Sets the number of files.
    pub fn files(&self, count: usize) {
        if let Some(shown) = &self.0 {
            shown.counts.files.store(count as u64, Relaxed);
        }
    }

    /// One of the files is done.
    pub fn file_done(&self) {
        if let Some(shown) = &self.0 {
            shown.counts.done_files.fetch_add(1, Relaxed);
        }
    }

    /// A file, or stdin, whose reading is counted. Of many files the sizes are not added up:
    /// all of them would have to be looked at first.
    pub(crate) fn over(
        &self,
        name: &str,
        bytes: Option<u64>,
        reader: Box<dyn Read + Send>,
    ) -> Box<dyn Read + Send> {
        let Some(shown) = &self.0 else {
            return reader;
        };
        if shown.counts.files.load(Relaxed) <= 1 {
            self.stage(&format!("reading {}", printable(name)));
            self.reading(bytes.unwrap_or(0));
        }
        let counts = shown.counts.clone();
        Box::new(Counted { reader, counts })
    }

    /// Writes to the terminal without tearing the line.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(shown) => shown.line.aside(write),
            None => write(),
        }
    }

    /// Stdout, which may be the same terminal.
    pub(crate) fn between_draws(&self, out: Box<dyn Write + Send>) -> Box<dyn Write + Send> {
        if self.0.is_none() || !io::stdout().is_terminal() {
            return out;
        }
        let progress = self.clone();
        Box::new(OutputBetweenDraws { out, progress })
    }
}

/// A reader whose bytes are counted.
struct Counted {
    reader: Box<dyn Read + Send>,
    counts: Arc<Counts>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.counts.bytes.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}

/// A terminal that the line is on as well.
struct OutputBetweenDraws {
    out: Box<dyn Write + Send>,
    progress: Progress,
}

impl Write for OutputBetweenDraws {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { out, progress } = self;
        progress.aside(|| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
