//! Many operands at a time, of which some may fail.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ctx_cli::{ExitStatus, Failure, Io, Outcome};

/// What `--jobs` means: without it, one per core.
pub fn jobs_of(given: Option<NonZeroUsize>) -> NonZeroUsize {
    given.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Runs `work` for each path on up to `jobs` threads; the results are in the
/// order of the paths.
pub fn in_parallel<T: Send>(
    paths: &[PathBuf],
    jobs: NonZeroUsize,
    work: impl Fn(&Path) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            match paths.get(at) {
                Some(path) => done.push((at, work(path))),
                None => return done,
            }
        }
    };
    let threads = jobs.get().min(paths.len());
    if threads <= 1 {
        return take().into_iter().map(|(_, result)| result).collect();
    }
    let mut results: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect()
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Tells in their order why some of the operands failed, and what that means for the
/// exit status. When none is left, the last failure is the tool's own.
pub fn report_failures(mut failures: Vec<Failure>, operands: usize, io: &mut Io) -> Outcome {
    let last = if failures.len() == operands {
        failures.pop()
    } else {
        None
    };
    for failure in &failures {
        io.report(failure);
    }
    match last {
        Some(failure) => Err(failure),
        None if failures.is_empty() => Ok(ExitStatus::Done),
        None => Ok(ExitStatus::Partial),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::PathBuf;

    use super::in_parallel;

    #[test]
    fn results_come_in_the_order_of_the_paths() {
        let paths: Vec<PathBuf> = (0..50).map(|n| PathBuf::from(n.to_string())).collect();
        let names: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        for jobs in [1, 2, 7, 200] {
            let jobs = NonZeroUsize::new(jobs).expect("not zero");
            let results = in_parallel(&paths, jobs, |path| {
                std::thread::yield_now();
                path.display().to_string()
            });
            assert_eq!(results, names);
        }
    }
}
