//! The counters of a run, and their text for the progress line.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{short_bytes, short_count};

/// The counters of a run.
pub(super) struct Counts {
    stage: Mutex<Stage>,
    /// Read so far, in this pass.
    pub(super) bytes: AtomicU64,
    /// Records of a batch.
    pub(super) records: AtomicU64,
    /// 0 if unknown.
    pub(super) files: AtomicU64,
    pub(super) done_files: AtomicU64,
}

struct Stage {
    what: String,
    begun: Instant,
    /// The number of bytes to read; 0 if unknown.
    bytes: u64,
    /// The number of the current pass over the bytes.
    pass: u64,
    /// When that began.
    pass_begun: Instant,
}

/// The content of the progress line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) what: String,
    /// The progress as a part of a whole.
    pub(super) share: Option<(u64, u64)>,
    /// The figures as text: bytes, rate, time.
    pub(super) figures: String,
}

impl Counts {
    pub(super) fn new(tool: &str) -> Self {
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

    pub(super) fn stage(&self, what: &str) {
        let mut stage = self.locked();
        *stage = Stage::new(what);
        self.bytes.store(0, Relaxed);
    }

    pub(super) fn reading(&self, bytes: u64) {
        let mut stage = self.locked();
        stage.bytes = bytes;
        stage.pass += 1;
        stage.pass_begun = Instant::now();
        self.bytes.store(0, Relaxed);
    }

    /// The content of the line at `now`.
    pub(super) fn snapshot(&self, now: Instant) -> Snapshot {
        let stage = self.locked();
        let bytes = self.bytes.load(Relaxed);
        let records = self.records.load(Relaxed);
        let files = self.files.load(Relaxed);
        let mut figures = Vec::new();
        if records > 0 {
            figures.push(format!("{} records", short_count(records)));
        }
        if files > 1 {
            let begun = now.saturating_duration_since(stage.begun);
            figures.extend(volume(bytes, 0, begun));
            let done = self.done_files.load(Relaxed).min(files);
            return Snapshot {
                what: format!("file {} of {files}", (done + 1).min(files)),
                share: Some((done, files)),
                figures: figures.join(", "),
            };
        }
        let pass = now.saturating_duration_since(stage.pass_begun);
        figures.extend(volume(bytes, stage.bytes, pass));
        let is_known = stage.bytes > 0 && bytes <= stage.bytes;
        if !is_known {
            figures.push(time(now.saturating_duration_since(stage.begun)));
        }
        let again = match stage.pass {
            0 | 1 => String::new(),
            pass => format!(", pass {pass}"),
        };
        Snapshot {
            what: format!("{}{again}", stage.what),
            share: is_known.then_some((bytes, stage.bytes)),
            figures: figures.join(", "),
        }
    }
}

impl Stage {
    fn new(what: &str) -> Self {
        let now = Instant::now();
        Self { what: what.to_owned(), begun: now, bytes: 0, pass: 0, pass_begun: now }
    }
}

/// Progress in bytes of a total, after that time: how many, how fast, and the time left.
fn volume(bytes: u64, all: u64, time_taken: Duration) -> Vec<String> {
    if bytes == 0 {
        return Vec::new();
    }
    let rate = bytes as f64 / time_taken.as_secs_f64().max(0.001);
    let is_known = all > 0 && bytes <= all;
    let mut said = if is_known {
        let whole = short_bytes(all);
        vec![format!("{}B of {whole}B", short_bytes(bytes))]
    } else {
        vec![format!("{}B", short_bytes(bytes))]
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // No rate is near 2^64.
    said.push(format!("{}B/s", short_bytes(rate as u64)));
    if is_known {
        let left = Duration::from_secs_f64((all - bytes) as f64 / rate);
        said.push(format!("{} left", time(left)));
    }
    said
}

/// `14 s`, `3 min`.
fn time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::{Duration, Instant};

    use super::{Counts, time};

    fn after(counts: &Counts, seconds: u64) -> (String, Option<(u64, u64)>, String) {
        let snapshot = counts.snapshot(Instant::now() + Duration::from_secs(seconds));
        (snapshot.what, snapshot.share, snapshot.figures)
    }

    /// For a file of known size: the share, the rate and the time left.
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
        // Whoever reads it once more begins at its beginning.
        counts.reading(400 << 20);
        assert_eq!(after(&counts, 1).0, "reading a.jsonl, pass 2");
        assert_eq!(after(&counts, 1).1, Some((0, 400 << 20)));
    }

    /// A file that is longer than expected, or of unknown length, has no share.
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

    /// A stage shows only its name and its duration.
    #[test]
    fn a_stage_is_told_by_its_time() {
        let counts = Counts::new("ctx-x");
        counts.stage("asking the model");
        let (what, share, figures) = after(&counts, 14);
        assert_eq!((what.as_str(), share, figures.as_str()), ("asking the model", None, "14 s"));
    }

    /// Many files are shown as a number, whatever their sizes.
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
