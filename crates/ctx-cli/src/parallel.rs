//! Processes several operands at a time, and continues if some of them fail.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use crate::{ExitStatus, Failure, Io, Outcome, Progress, Result};

/// Returns the number of threads to use: the value of `--jobs`, or by default one per core.
pub fn jobs_of(given: Option<NonZeroUsize>) -> NonZeroUsize {
    given.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Runs `work` for each path on at most `jobs` threads (see [`jobs_of`]), or on fewer if the system
/// does not allow that many. The results are in the same order as the paths.
pub fn in_parallel<T: Send + Sync>(
    paths: &[PathBuf],
    jobs: Option<NonZeroUsize>,
    work: impl Fn(&Path) -> T + Sync,
) -> Vec<T> {
    // Determining the number of cores takes longer than processing a short session.
    let jobs = if paths.len() > 1 { jobs_of(jobs) } else { NonZeroUsize::MIN };
    let progress = Progress::current();
    progress.files(paths.len());
    with_threads(paths, jobs, Builder::new, |path| {
        let result = work(path);
        progress.file_done();
        result
    })
}

/// Runs `work` for each item on `jobs` threads, which are started with `builder`. The results are
/// in the same order as the items.
pub fn with_threads<I: Sync, T: Send + Sync>(
    items: &[I],
    jobs: NonZeroUsize,
    builder: fn() -> Builder,
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let threads = jobs.get().min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let tasks: Vec<_> = items.iter().map(|item| (item, OnceLock::new())).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some((item, result)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            result.get_or_init(|| work(item));
        }
    };
    std::thread::scope(|scope| {
        // The current thread does its share of the work, or all of it if no other thread can be
        // started.
        let mut others = 1..threads;
        while others.next().is_some() && builder().spawn_scoped(scope, take).is_ok() {}
        take();
    });
    tasks.into_iter().filter_map(|(_, result)| result.into_inner()).collect()
}

/// Reports the failures in the order of the operands, and returns the exit status. If all operands
/// failed, the last failure is not reported here but returned as the tool's failure.
pub fn report_failures(mut failures: Vec<Failure>, operands: usize, io: &mut Io) -> Outcome {
    let last = if failures.len() == operands { failures.pop() } else { None };
    for failure in &failures {
        io.report(failure);
    }
    match last {
        Some(failure) => Err(failure),
        None if failures.is_empty() => Ok(ExitStatus::Done),
        None => Ok(ExitStatus::Partial),
    }
}

/// The distinct exit statuses of several inputs.
#[derive(Debug, Default)]
pub struct Statuses(Vec<ExitStatus>);

impl Statuses {
    /// Adds the status of an input.
    pub fn add(&mut self, status: ExitStatus) {
        if !self.0.contains(&status) {
            self.0.push(status);
        }
    }

    /// Reports that an input failed; the tool then continues with the other inputs.
    pub fn failed(&mut self, failure: &Failure, io: &mut Io) {
        io.report(failure);
        self.add(failure.status);
    }

    /// Returns the exit status for all inputs.
    pub fn of_all(&self) -> ExitStatus {
        ExitStatus::of_several(&self.0)
    }
}

/// Applies `work` to each path, at most `jobs` at a time (see [`jobs_of`]). Calls `print` for each
/// result, then reports the failures. Returns the results of `work`, and the exit status.
pub fn of_each<T: Send + Sync>(
    paths: &[PathBuf],
    jobs: Option<NonZeroUsize>,
    work: impl Fn(&Path) -> Result<T> + Sync,
    io: &mut Io,
    print: impl Fn(&T, &mut Io),
) -> Result<(Vec<T>, ExitStatus)> {
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for result in in_parallel(paths, jobs, work) {
        match result {
            Ok(one) => {
                print(&one, io);
                found.push(one);
            }
            Err(failure) => failures.push(failure),
        }
    }
    let status = report_failures(failures, paths.len(), io)?;
    Ok((found, status))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::PathBuf;
    use std::thread::Builder;

    use super::{in_parallel, with_threads};

    #[test]
    fn results_come_in_the_order_of_the_paths() {
        let paths: Vec<PathBuf> = (0..50).map(|n| PathBuf::from(n.to_string())).collect();
        let names: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        for jobs in [1, 2, 7, 200] {
            let jobs = NonZeroUsize::new(jobs).expect("not zero");
            let results = in_parallel(&paths, Some(jobs), |path| {
                std::thread::yield_now();
                path.display().to_string()
            });
            assert_eq!(results, names);
        }
    }
    /// All work is done even if no thread can be started, for example under `ulimit -u 1`.
    #[test]
    fn without_threads_the_work_is_done_all_the_same() {
        let paths: Vec<PathBuf> = (0..9).map(|n| PathBuf::from(n.to_string())).collect();
        let jobs = NonZeroUsize::new(4).expect("not zero");
        // No system can allocate a stack of this size.
        let none = || Builder::new().stack_size(usize::MAX / 4);
        let results = with_threads(&paths, jobs, none, PathBuf::clone);
        assert_eq!(results, paths);
    }
}
