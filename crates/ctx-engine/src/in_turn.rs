//! Work that takes longer than reading the stream: several threads do it, and their results are
//! merged in the order of the stream.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The work of the threads.
pub(crate) trait Work: Send + Sync + 'static {
    /// The items of the stream.
    type Item: Send + 'static;
    /// The result of one thread for a portion, independent of the others.
    type Done: Send + 'static;
    /// The merged results.
    type State: Default + Send + 'static;

    /// Does the work on one portion.
    fn work(&self, portion: Vec<Self::Item>) -> Self::Done;

    /// Adds the next result; called in the order of the stream.
    fn absorb(&self, state: &mut Self::State, done: Self::Done);
}

/// A portion of the stream, or what came of it, with its number from 0.
type Numbered<T> = (usize, T);

/// Work that is handed on in portions: to threads, or done here where none can be had.
pub(crate) struct InTurn<W: Work> {
    work: Arc<W>,
    state: Arc<Mutex<W::State>>,
    threads: Option<Threads<W::Item>>,
    portion: Vec<W::Item>,
    /// Bytes of the portion.
    bytes: usize,
}

/// Threads at work.
struct Threads<I> {
    portions: SyncSender<Numbered<Vec<I>>>,
    handles: Vec<JoinHandle<()>>,
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

    /// Starts so many threads, or as many as can be had.
    pub(crate) fn start_on(threads: usize, work: W, state: W::State) -> Self {
        Self::start_with(Builder::new, threads, work, state)
    }

    /// `builder` makes each thread.
    fn start_with(builder: fn() -> Builder, threads: usize, work: W, state: W::State) -> Self {
        let (work, state) = (Arc::new(work), Arc::new(Mutex::new(state)));
        Self {
            threads: Threads::start(builder, threads, &work, &state),
            work,
            state,
            portion: Vec::new(),
            bytes: 0,
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
        if let Some(threads) = self.threads {
            threads.finish();
        }
        std::mem::take(&mut lock(&self.state))
    }

    fn send(&mut self) {
        let portion = std::mem::take(&mut self.portion);
        self.bytes = 0;
        match &mut self.threads {
            Some(threads) => threads.send(portion),
            None => self.work.absorb(&mut lock(&self.state), self.work.work(portion)),
        }
    }
}

impl<I: Send + 'static> Threads<I> {
    /// `None` where not even one worker and the collector can be had.
    fn start<W: Work<Item = I>>(
        builder: fn() -> Builder,
        threads: usize,
        work: &Arc<W>,
        state: &Arc<Mutex<W::State>>,
    ) -> Option<Self> {
        let (portions, waiting) = sync_channel(WAITING * threads);
        let (done, results) = sync_channel(WAITING * threads);
        let collector = {
            let (work, state) = (work.clone(), state.clone());
            builder().spawn(move || collect(work.as_ref(), results, &mut lock(&state)))
        };
        let mut handles = vec![collector.ok()?];
        let waiting = Arc::new(Mutex::new(waiting));
        let worker = |_| {
            let (work, waiting, done) = (work.clone(), waiting.clone(), done.clone());
            let worker = builder().spawn(move || run(work.as_ref(), &waiting, &done));
            worker.ok()
        };
        handles.extend((0..threads).map_while(worker));
        if handles.len() == 1 {
            // Nothing will come, so the collector ends and releases the state.
            drop(done);
            handles.into_iter().for_each(join);
            return None;
        }
        Some(Self { portions, handles, sent: 0 })
    }

    fn send(&mut self, portion: Vec<I>) {
        // This fails only if all threads have panicked, which `finish` passes on.
        let _ = self.portions.send((self.sent, portion));
        self.sent += 1;
    }

    fn finish(self) {
        drop(self.portions);
        // The workers first: when one has panicked, the collector waits for nothing more.
        self.handles.into_iter().rev().for_each(join);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of a thread; its panic becomes the caller's.
fn join(thread: JoinHandle<()>) {
    let done = thread.join();
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// One worker: takes whichever portion comes next.
fn run<W: Work>(
    work: &W,
    waiting: &Mutex<Receiver<Numbered<Vec<W::Item>>>>,
    done: &SyncSender<Numbered<W::Done>>,
) {
    let next = || lock(waiting).recv().ok();
    while let Some((number, portion)) = next() {
        if done.send((number, work.work(portion))).is_err() {
            return;
        }
    }
}

/// Adds the results in the order of the stream, whichever thread is done first.
fn collect<W: Work>(work: &W, results: Receiver<Numbered<W::Done>>, state: &mut W::State) {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    for (number, done) in results {
        early.insert(number, done);
        while let Some(done) = early.remove(&next) {
            work.absorb(state, done);
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::Builder;

    use super::{InTurn, PORTION, Work};

    struct Squares;

    impl Work for Squares {
        type Item = u64;
        type Done = Vec<u64>;
        type State = Vec<u64>;

        fn work(&self, portion: Vec<u64>) -> Vec<u64> {
            let square = |job: u64| {
                // Some take longer than later ones.
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

    /// The system gives no thread at all, or only the first ones.
    #[test]
    fn without_threads_the_work_is_done_all_the_same() {
        static GIVEN: AtomicUsize = AtomicUsize::new(0);
        // No system has room for such a stack.
        let none = || Builder::new().stack_size(usize::MAX / 4);
        let first = || match GIVEN.fetch_add(1, Ordering::Relaxed) {
            0 => Builder::new(),
            _ => Builder::new().stack_size(usize::MAX / 4),
        };
        let two = || match GIVEN.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Builder::new(),
            _ => Builder::new().stack_size(usize::MAX / 4),
        };
        let builders: [(fn() -> Builder, bool); 3] = [(none, false), (first, false), (two, true)];
        for (builder, threaded) in builders {
            GIVEN.store(0, Ordering::Relaxed);
            let mut in_turn = InTurn::start_with(builder, 3, Squares, Vec::new());
            assert_eq!(in_turn.threads.is_some(), threaded);
            (0..500).for_each(|job| in_turn.push(job, PORTION / 3));
            let squares: Vec<u64> = (0..500).map(|job| job * job).collect();
            assert_eq!(in_turn.finish(), squares);
        }
    }

    #[test]
    #[should_panic(expected = "no such job")]
    fn a_panic_ends_all_threads_and_is_passed_on() {
        let mut threads = InTurn::start(Squares, Vec::new());
        (990..1_200).for_each(|job| threads.push(job, PORTION));
        threads.finish();
    }
}
