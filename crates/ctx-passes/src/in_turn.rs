//! Work that takes longer than reading the stream: several threads do it, and their results
//! are put together in the order of the stream.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, spawn};

/// What the threads do.
pub(crate) trait Work: Send + Sync + 'static {
    /// What the stream consists of.
    type Item: Send + 'static;
    /// What one thread makes of a portion, whatever the others do.
    type Done: Send + 'static;
    /// What the results are put together in.
    type State: Send + 'static;

    /// Does the work on one portion.
    fn work(&self, portion: Vec<Self::Item>) -> Self::Done;

    /// Adds the next result; called in the order of the stream.
    fn absorb(&self, state: &mut Self::State, done: Self::Done);
}

/// A portion of the stream, or what came of it, with its number from 0.
type Numbered<T> = (usize, T);

/// Threads at work.
pub(crate) struct InTurn<W: Work> {
    portions: SyncSender<Numbered<Vec<W::Item>>>,
    workers: Vec<JoinHandle<()>>,
    collector: JoinHandle<W::State>,
    portion: Vec<W::Item>,
    /// Bytes of the portion.
    bytes: usize,
    sent: usize,
}

/// How many portions may wait for each thread.
const WAITING: usize = 2;
/// Bytes of the items that are handed to a thread at once.
const PORTION: usize = 256 << 10;

impl<W: Work> InTurn<W> {
    /// Starts one thread a core.
    pub(crate) fn start(work: W, state: W::State) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::start_on(threads, work, state)
    }

    /// Starts so many threads.
    pub(crate) fn start_on(threads: usize, work: W, state: W::State) -> Self {
        let (portions, waiting) = sync_channel(WAITING * threads);
        let (done, results) = sync_channel(WAITING * threads);
        let (work, waiting) = (Arc::new(work), Arc::new(Mutex::new(waiting)));
        let worker = |_| {
            let (work, waiting, done) = (work.clone(), waiting.clone(), done.clone());
            spawn(move || run(work.as_ref(), &waiting, &done))
        };
        Self {
            portions,
            workers: (0..threads).map(worker).collect(),
            collector: spawn(move || collect(work.as_ref(), results, state)),
            portion: Vec::new(),
            bytes: 0,
            sent: 0,
        }
    }

    /// The next item, and its length in bytes; waits while too many portions wait.
    pub(crate) fn push(&mut self, item: W::Item, bytes: usize) {
        self.portion.push(item);
        self.bytes += bytes;
        if self.bytes >= PORTION {
            self.send();
        }
    }

    /// All of it, once every item was pushed.
    pub(crate) fn finish(mut self) -> W::State {
        self.send();
        drop(self.portions);
        self.workers.into_iter().for_each(join);
        join(self.collector)
    }

    fn send(&mut self) {
        let portion = std::mem::take(&mut self.portion);
        // This fails only if all threads have panicked, which `finish` passes on.
        let _ = self.portions.send((self.sent, portion));
        self.sent += 1;
        self.bytes = 0;
    }
}

/// What a thread has come to; its panic becomes that of the caller.
fn join<T>(thread: JoinHandle<T>) -> T {
    let done = thread.join();
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// One worker: takes whichever portion comes next.
fn run<W: Work>(
    work: &W,
    waiting: &Mutex<Receiver<Numbered<Vec<W::Item>>>>,
    done: &SyncSender<Numbered<W::Done>>,
) {
    let next = || {
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.recv().ok()
    };
    while let Some((number, portion)) = next() {
        if done.send((number, work.work(portion))).is_err() {
            return;
        }
    }
}

/// Adds the results in the order of the stream, whichever thread is done first.
fn collect<W: Work>(
    work: &W,
    results: Receiver<Numbered<W::Done>>,
    mut state: W::State,
) -> W::State {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    for (number, done) in results {
        early.insert(number, done);
        while let Some(done) = early.remove(&next) {
            work.absorb(&mut state, done);
            next += 1;
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::{InTurn, PORTION, Work};

    struct Squares;

    impl Work for Squares {
        type Item = u64;
        type Done = Vec<u64>;
        type State = Vec<u64>;

        fn work(&self, portion: Vec<u64>) -> Vec<u64> {
            let square = |job: u64| {
                // Some take longer than those behind them.
                for _ in 0..(job % 7) * 50 {
                    std::thread::yield_now();
                }
                assert!(job != 1_000, "no such job");
                job * job
            };
            portion.into_iter().map(square).collect()
        }

        fn absorb(&self, state: &mut Vec<u64>, done: Vec<u64>) {
            state.extend(done);
        }
    }

    #[test]
    fn results_come_in_the_order_of_the_stream() {
        let squares: Vec<u64> = (0..500).map(|job| job * job).collect();
        for bytes in [PORTION, PORTION / 3, 1] {
            let mut threads = InTurn::start(Squares, Vec::new());
            (0..500).for_each(|job| threads.push(job, bytes));
            assert_eq!(threads.finish(), squares);
        }
        assert!(InTurn::start(Squares, Vec::new()).finish().is_empty());
    }

    #[test]
    #[should_panic(expected = "no such job")]
    fn a_panic_ends_all_threads_and_is_passed_on() {
        let mut threads = InTurn::start(Squares, Vec::new());
        (990..1_200).for_each(|job| threads.push(job, PORTION));
        threads.finish();
    }
}
