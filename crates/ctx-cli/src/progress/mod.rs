//! Shows the progress of a run in one line on stderr if stderr is a terminal and the run takes
//! longer than a second. The line is erased at the end.
//!
//! Worker threads add to a few counters. Another thread reads the counters ten times a second and
//! draws the line. A process has one terminal and therefore one [`Progress`]. Code that writes to
//! the terminal calls `Progress::aside`, which erases the line first.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::atomic::Ordering::{self, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::common_args::{CommonArgs, ShowProgress, is_capable};
use crate::{printable, short_bytes, short_count};

static PROGRESS: OnceLock<Progress> = OnceLock::new();

/// The progress line of this process. The inner value is `None` if no progress is shown.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Shown>>);

impl Progress {
    /// Starts showing progress, if stderr is a terminal and the flags allow it.
    pub(crate) fn begin(tool: &'static str, common: &CommonArgs) {
        let is_wanted = common.progress == ShowProgress::Auto && !common.quiet;
        if is_wanted && io::stderr().is_terminal() && is_capable() {
            let shown = Shown::start(tool, common.color.is_shown(true));
            let _ = PROGRESS.set(Self(Some(Arc::new(shown))));
        }
    }

    /// Returns the progress line of this process.
    pub fn current() -> Self {
        PROGRESS.get().cloned().unwrap_or_default()
    }

    /// Returns true if progress is shown.
    pub fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Erases the progress line and stops drawing it.
    pub(crate) fn end(&self) {
        if let Some(shown) = &self.0 {
            shown.end();
        }
    }

    fn count(&self, add: impl FnOnce(&Counts)) {
        if let Some(shown) = &self.0 {
            add(&shown.counts);
        }
    }

    /// Starts a new stage of the work. The progress line shows the stage's name.
    pub fn stage(&self, what: &str) {
        self.count(|counts| counts.stage(what));
    }

    /// Starts reading `bytes` bytes. A stage may read the same input several times.
    pub fn reading(&self, bytes: u64) {
        self.count(|counts| counts.reading(bytes));
    }

    /// Adds `bytes` to the number of bytes read in the current pass.
    pub fn read(&self, bytes: u64) {
        self.count(|counts| _ = counts.bytes.fetch_add(bytes, Relaxed));
    }

    /// Counts a finished record in a batch.
    pub fn record(&self) {
        self.count(|counts| _ = counts.records.fetch_add(1, Relaxed));
    }

    /// Sets the number of files to process.
    pub fn files(&self, count: usize) {
        self.count(|counts| counts.files.store(count as u64, Relaxed));
    }

    /// Counts a finished file.
    pub fn file_done(&self) {
        self.count(|counts| _ = counts.done_files.fetch_add(1, Relaxed));
    }

    /// Returns a reader that counts the bytes read from a file or stdin. With several files, no
    /// total size is shown, because all files would have to be examined first.
    pub(crate) fn over(
        &self,
        name: &str,
        bytes: Option<u64>,
        reader: Box<dyn Read + Send>,
    ) -> Box<dyn Read + Send> {
        let Some(shown) = &self.0 else { return reader };
        if shown.counts.files.load(Relaxed) <= 1 {
            self.stage(&format!("reading {}", printable(name)));
            self.reading(bytes.unwrap_or(0));
        }
        let counts = shown.counts.clone();
        Box::new(Counted { reader, counts })
    }

    /// Runs `write`, keeping its terminal output apart from the progress line.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(shown) => shown.aside(write),
            None => write(),
        }
    }

    /// Wraps stdout, so that output and the progress line do not mix on the same terminal.
    pub(crate) fn between_draws(&self, out: Box<dyn Write + Send>) -> Box<dyn Write + Send> {
        if self.0.is_none() || !io::stdout().is_terminal() {
            return out;
        }
        let progress = self.clone();
        Box::new(OutputBetweenDraws { out, progress })
    }
}

/// A reader that counts the bytes read from it.
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

/// Writes to the terminal while the progress line is erased.
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

/// The counters for a run.
struct Counts {
    stage: Mutex<Stage>,
    /// The number of bytes read so far in the current pass.
    bytes: AtomicU64,
    /// The number of finished records in a batch.
    records: AtomicU64,
    /// The number of files to process, or 0 if unknown.
    files: AtomicU64,
    done_files: AtomicU64,
}

struct Stage {
    what: String,
    begun: Instant,
    /// The number of bytes to read in a pass, or 0 if unknown.
    bytes: u64,
    /// The 1-based number of the current pass over the input.
    pass: u64,
    /// The time when the current pass began.
    pass_begun: Instant,
}

/// The content of the progress line: the name of the current stage, the amount done and the total
/// amount, and the bytes, rate and time as text.
type Line = (String, Option<(u64, u64)>, String);

impl Counts {
    fn new(tool: &str) -> Self {
        Self {
            stage: Mutex::new(Stage::new(tool)),
            bytes: AtomicU64::new(0),
            records: AtomicU64::new(0),
            files: AtomicU64::new(0),
            done_files: AtomicU64::new(0),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self, what: &str) {
        let mut stage = self.locked();
        *stage = Stage::new(what);
        self.bytes.store(0, Relaxed);
    }

    fn reading(&self, bytes: u64) {
        let mut stage = self.locked();
        stage.bytes = bytes;
        stage.pass += 1;
        stage.pass_begun = Instant::now();
        self.bytes.store(0, Relaxed);
    }

    /// Returns the current content of the progress line. `now` is the current time.
    fn line(&self, now: Instant) -> Line {
        let stage = self.locked();
        let bytes = self.bytes.load(Relaxed);
        let records = self.records.load(Relaxed);
        let files = self.files.load(Relaxed);
        let mut figures = Vec::new();
        if records > 0 {
            figures.push(format!("{} records", short_count(records)));
        }
        let begun = now.saturating_duration_since(stage.begun);
        let (what, share) = if files > 1 {
            figures.extend(volume(bytes, 0, begun));
            let done = self.done_files.load(Relaxed).min(files);
            (format!("file {} of {files}", (done + 1).min(files)), Some((done, files)))
        } else {
            let pass = now.saturating_duration_since(stage.pass_begun);
            figures.extend(volume(bytes, stage.bytes, pass));
            let is_known = stage.bytes > 0 && bytes <= stage.bytes;
            if !is_known {
                figures.push(time(begun));
            }
            let again =
                if stage.pass < 2 { String::new() } else { format!(", pass {}", stage.pass) };
            (stage.what.clone() + &again, is_known.then_some((bytes, stage.bytes)))
        };
        (what, share, figures.join(", "))
    }
}

impl Stage {
    fn new(what: &str) -> Self {
        let now = Instant::now();
        Self { what: what.to_owned(), begun: now, bytes: 0, pass: 0, pass_begun: now }
    }
}

/// Returns the number of bytes read, the rate, and the time left, each as text.
fn volume(bytes: u64, all: u64, time_taken: Duration) -> Vec<String> {
    if bytes == 0 {
        return Vec::new();
    }
    let rate = bytes as f64 / time_taken.as_secs_f64().max(0.001);
    let is_known = all > 0 && bytes <= all;
    let of_all = if is_known { format!(" of {}B", short_bytes(all)) } else { String::new() };
    let mut figures = vec![format!("{}B{of_all}", short_bytes(bytes))];
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // No rate is near 2^64.
    figures.push(format!("{}B/s", short_bytes(rate as u64)));
    if is_known {
        let left = Duration::from_secs_f64((all - bytes) as f64 / rate);
        figures.push(format!("{} left", time(left)));
    }
    figures
}

/// Formats a duration: `14 s`, `3 min`.
fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 100 { format!("{seconds} s") } else { format!("{} min", seconds / 60) }
}

/// The time after which the progress line appears. Shorter runs would end before anyone could read
/// the line.
const DELAY: Duration = Duration::from_secs(1);
/// The time between two updates of the line.
const TICK: Duration = Duration::from_millis(100);
/// The smallest terminal width at which a bar fits next to the figures.
const LEAST_FOR_BAR: u16 = 70;

/// The counters, the progress line, and the thread that draws the line until the sender is dropped.
struct Shown {
    counts: Arc<Counts>,
    bar: ProgressBar,
    is_drawn: Arc<AtomicBool>,
    drawer: Mutex<Option<(JoinHandle<()>, Sender<()>)>>,
}

impl Shown {
    /// Starts the thread that draws the line, beginning after [`DELAY`]. If the thread cannot be
    /// started, no line is drawn.
    fn start(tool: &str, colour: bool) -> Self {
        let counts = Arc::new(Counts::new(tool));
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        let is_drawn = Arc::new(AtomicBool::new(false));
        let (goes_on, ended) = channel();
        let thread = {
            let (counts, bar, is_drawn) = (counts.clone(), bar.clone(), is_drawn.clone());
            Builder::new().spawn(move || {
                let mut wait = DELAY;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    wait = TICK;
                    is_drawn.store(true, Ordering::SeqCst);
                    draw(&bar, counts.line(Instant::now()), colour);
                }
                if is_drawn.load(Ordering::SeqCst) {
                    bar.finish_and_clear();
                }
            })
        };
        let drawer = Mutex::new(thread.ok().map(|thread| (thread, goes_on)));
        Self { counts, bar, is_drawn, drawer }
    }

    /// Erases the progress line and stops drawing it.
    fn end(&self) {
        let mut drawer = self.drawer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((thread, goes_on)) = drawer.take() {
            drop(goes_on);
            let _ = thread.join();
            self.is_drawn.store(false, Ordering::SeqCst);
        }
    }

    /// Erases the progress line while `write` runs.
    fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        if self.is_drawn.load(Ordering::SeqCst) { self.bar.suspend(write) } else { write() }
    }
}

fn draw(bar: &ProgressBar, (what, share, figures): Line, colour: bool) {
    let columns = rustix::termios::tcgetwinsize(std::io::stderr());
    let has_room = columns.is_ok_and(|size| size.ws_col >= LEAST_FOR_BAR);
    let template = match share {
        Some(_) if has_room && colour => "{msg} {wide_bar:.cyan} {prefix}",
        Some(_) if has_room => "{msg} {wide_bar} {prefix}",
        _ => "{spinner} {wide_msg}",
    };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("█░"));
    if share.is_some() && has_room {
        bar.set_prefix(figures);
        bar.set_message(what);
    } else if figures.is_empty() {
        bar.set_message(what);
    } else {
        bar.set_message(format!("{what}: {figures}"));
    }
    let (position, length) = share.unwrap_or((0, 1));
    bar.set_length(length);
    bar.set_position(position);
    bar.tick();
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::{Duration, Instant};

    use super::{Counts, time};

    fn after(counts: &Counts, seconds: u64) -> (String, Option<(u64, u64)>, String) {
        counts.line(Instant::now() + Duration::from_secs(seconds))
    }

    /// For a file of known size, the line shows how much has been read, the rate and the time left.
    #[test]
    fn a_file_is_told_by_its_size() {
        let counts = Counts::new("ctx-x");
        counts.stage("reading a.jsonl");
        counts.reading(400 << 20);
        counts.bytes.fetch_add(100 << 20, Relaxed);
        let (what, share, figures) = after(&counts, 10);
        assert_eq!(what, "reading a.jsonl");
        assert_eq!(share, Some((100 << 20, 400 << 20)));
        assert!(figures.starts_with("100MB of 400MB, "), "{figures}");
        assert!(figures.ends_with("B/s, 30 s left"), "{figures}");
        // A second pass starts counting from zero.
        counts.reading(400 << 20);
        assert_eq!(after(&counts, 1).0, "reading a.jsonl, pass 2");
        assert_eq!(after(&counts, 1).1, Some((0, 400 << 20)));
    }

    /// For a file of unknown length, or a file that is longer than expected, the line shows no
    /// share of the total.
    #[test]
    fn a_pipe_is_told_by_its_bytes_and_time() {
        let counts = Counts::new("ctx-x");
        counts.reading(0);
        counts.bytes.fetch_add(3 << 20, Relaxed);
        let (what, share, figures) = after(&counts, 3);
        assert_eq!((what.as_str(), share), ("ctx-x", None));
        assert!(figures.starts_with("3.0MB, "), "{figures}");
        assert!(figures.ends_with("B/s, 3 s"), "{figures}");
        counts.reading(5);
        counts.bytes.fetch_add(6, Relaxed);
        assert_eq!(after(&counts, 1).1, None);
    }

    /// For a stage that reads nothing, the line shows only the name of the stage and the time
    /// taken.
    #[test]
    fn a_stage_is_told_by_its_time() {
        let counts = Counts::new("ctx-x");
        counts.stage("asking the model");
        let (what, share, figures) = after(&counts, 14);
        assert_eq!((what.as_str(), share, figures.as_str()), ("asking the model", None, "14 s"));
    }

    /// For several files, the line shows the number of finished files, regardless of file sizes.
    #[test]
    fn files_are_told_by_their_number() {
        let counts = Counts::new("ctx-x");
        counts.files.store(7, Relaxed);
        counts.done_files.fetch_add(2, Relaxed);
        counts.records.fetch_add(1_200, Relaxed);
        let (what, share, figures) = after(&counts, 2);
        assert_eq!((what.as_str(), share), ("file 3 of 7", Some((2, 7))));
        assert_eq!(figures, "1.2k records");
        counts.done_files.fetch_add(5, Relaxed);
        assert_eq!(after(&counts, 2).0, "file 7 of 7");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(Duration::from_secs(99)), "99 s");
        assert_eq!(time(Duration::from_secs(185)), "3 min");
    }
}
