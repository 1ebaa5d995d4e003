//! Many operands at a time, of which some may fail.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use ctx_cli::{ExitStatus, Failure, Io, Outcome};

/// What `--jobs` means: without it, one per core.
pub fn jobs_of(given: Option<NonZeroUsize>) -> NonZeroUsize {
    given.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// Runs `work` for each path on up to `jobs` threads; the results are in the
/// order of the paths.
pub fn in_parallel<T: Send + Sync>(
    paths: &[PathBuf],
    jobs: NonZeroUsize,
    work: impl Fn(&Path) -> T + Sync,
) -> Vec<T> {
    let threads = jobs.get().min(paths.len());
    if threads <= 1 {
        return paths.iter().map(|path| work(path)).collect();
    }
    let tasks: Vec<_> = paths.iter().map(|path| (path, OnceLock::new())).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        while let Some((path, result)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            result.get_or_init(|| work(path));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(take);
        }
    });
    let results = tasks
        .into_iter()
        .filter_map(|(_, result)| result.into_inner());
    results.collect()
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
