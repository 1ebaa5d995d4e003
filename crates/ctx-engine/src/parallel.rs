//! Runs work on several threads and returns the results in stream order, so that the output, the
//! notes and the counts do not depend on the number of threads.
//!
//! `in_order` passes the results one by one to the thread that reads the stream, and limits the
//! items in progress to a window. [`InTurn`] is for work that takes longer than reading; it merges
//! the results on the threads that do the work.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, Result as Ended, Scope};

/// The maximum number of bytes in progress per thread. The limit is large enough that a long item
/// delays the results of later items but not the work on them.
const WINDOW: usize = 4 << 20;
/// The approximate overhead of an item, in bytes.
const FRAME: usize = 512;

/// A function that takes the next item and its length in bytes.
pub(crate) type Push<'p, I, E> = dyn FnMut(I, usize) -> Result<(), E> + 'p;

/// Applies `work` to the items that `read` pushes, on up to `jobs` threads, and passes the results
/// to `take` in item order. Stops at the first error, after passing all earlier results to `take`.
pub(crate) fn in_order<I: Send, O: Send, E>(
    jobs: NonZeroUsize,
    read: impl FnOnce(&mut Push<'_, I, E>) -> Result<(), E>,
    work: impl Fn(I) -> O + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let (items, waiting) = channel();
    let line = Line { work, waiting: Mutex::new(waiting), stopped: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        if !line.start(scope, jobs) {
            return read(&mut |item, _| take((line.work)(item)));
        }
        let room = WINDOW.saturating_mul(jobs.get());
        let mut window = Window { results: VecDeque::new(), bytes: 0, room, refused: false };
        let read = read(&mut |item, bytes| {
            window.make_room(&mut take)?;
            // Sending cannot fail, because the receiver outlives the threads.
            let _ = items.send((item, window.add(bytes)));
            Ok(())
        });
        drop(items);
        // Items that were pushed before an error in `read` are still processed, as they would be
        // with one thread.
        let rest = if window.refused { Ok(()) } else { window.finish(&mut take) };
        line.stopped.store(true, Ordering::Relaxed);
        rest.and(read)
    })
}

/// An item, and where to send its result.
type Task<I, O> = (I, Sender<Ended<O>>);

/// The state that the threads share.
struct Line<I, O, W> {
    work: W,
    waiting: Mutex<Receiver<Task<I, O>>>,
    stopped: AtomicBool,
}

impl<I: Send, O: Send, W: Fn(I) -> O + Sync> Line<I, O, W> {
    /// Starts the threads. Returns false if one thread is enough or no other thread can be started.
    fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, jobs: NonZeroUsize) -> bool {
        let start = |_: &usize| {
            let thread = builder().spawn_scoped(scope, || {
                run(&self.waiting, |item, done| {
                    // A panic is sent as the result of the item, because the receiver would
                    // otherwise not know of it.
                    !self.stopped.load(Ordering::Relaxed) && {
                        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(item)));
                        done.send(result).is_ok()
                    }
                });
            });
            thread.is_ok()
        };
        jobs.get() > 1 && (0..jobs.get()).take_while(start).count() > 0
    }
}

/// The items in progress.
struct Window<O> {
    /// For each item whose result has not been taken, in order: its length, and its result.
    results: VecDeque<(usize, Receiver<Ended<O>>)>,
    bytes: usize,
    room: usize,
    /// Whether `take` returned an error, which means that later results are not needed.
    refused: bool,
}

impl<O> Window<O> {
    /// Takes the first results that have arrived. While the window is full, waits for them.
    fn make_room<E>(&mut self, take: &mut impl FnMut(O) -> Result<(), E>) -> Result<(), E> {
        while let Some((_, first)) = self.results.front() {
            let is_full = self.bytes >= self.room;
            let arrived = if is_full { first.recv().ok() } else { first.try_recv().ok() };
            let Some(result) = arrived else { break };
            self.take(result, take)?;
        }
        Ok(())
    }

    /// Adds an item of this length, and returns the sender for its result.
    fn add(&mut self, bytes: usize) -> Sender<Ended<O>> {
        let (done, result) = channel();
        self.bytes += bytes + FRAME;
        self.results.push_back((bytes + FRAME, result));
        done
    }

    /// Waits for all results.
    fn finish<E>(&mut self, take: &mut impl FnMut(O) -> Result<(), E>) -> Result<(), E> {
        while let Some((_, first)) = self.results.front() {
            self.take(first.recv().expect("threads run until all items are done"), take)?;
        }
        Ok(())
    }

    fn take<E>(
        &mut self,
        result: Ended<O>,
        take: &mut impl FnMut(O) -> Result<(), E>,
    ) -> Result<(), E> {
        self.bytes -= self.results.pop_front().map_or(0, |(length, _)| length);
        let taken = take(result.unwrap_or_else(|panic| resume_unwind(panic)));
        self.refused = taken.is_err();
        taken
    }
}

/// A portion or its result, with its 0-based number in the stream.
type Numbered<T> = (usize, T);

/// The work that threads do on a stream.
pub trait Work: Send + Sync + 'static {
    /// The type of the items in the stream.
    type Item: Send + 'static;
    /// The result of the work on one portion, independent of other portions.
    type Done: Send + 'static;
    /// The merged results from all portions so far.
    type State: Default + Send + 'static;

    /// Does the work on one portion.
    fn work(&self, portion: &[Self::Item]) -> Self::Done;

    /// Merges a portion's result into the state. Called for each portion in order.
    fn absorb(&self, state: &mut Self::State, portion: &[Self::Item], done: Self::Done);
}

/// Does work in portions, on several threads or, if none can be started, on the current thread.
pub struct InTurn<W: Work> {
    merged: Arc<Merged<W>>,
    threads: Option<Threads<W::Item>>,
    portion: Vec<W::Item>,
    /// The length of the current portion in bytes.
    bytes: usize,
}

/// The work and the merged results. Results are merged by the workers themselves, in stream order,
/// regardless of the order in which the portions are finished.
struct Merged<W: Work> {
    work: W,
    turn: Mutex<Turn<W>>,
}

struct Turn<W: Work> {
    state: W::State,
    next: usize,
    /// The finished portions that come after one that is not finished, with their results.
    early: BTreeMap<usize, (Vec<W::Item>, W::Done)>,
}

/// The threads that do the work. Workers return each portion to the thread that allocated it,
/// because freeing another thread's memory is slow.
struct Threads<I> {
    portions: SyncSender<Numbered<Vec<I>>>,
    finished: Receiver<Vec<I>>,
    handles: Vec<JoinHandle<()>>,
    sent: usize,
}

/// The maximum number of queued portions per thread.
const WAITING: usize = 2;
/// The minimum length of a portion in bytes.
pub const PORTION: usize = 128 << 10;

impl<W: Work> InTurn<W> {
    /// Starts one thread per core.
    pub(crate) fn start(work: W, state: W::State) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::start_on(threads, work, state)
    }

    /// Starts at most `threads` threads. If `threads` is 1, the work is done on the current thread.
    pub(crate) fn start_on(threads: usize, work: W, state: W::State) -> Self {
        let workers = if threads > 1 { threads } else { 0 };
        Self::start_workers(workers, work, state)
    }

    /// Starts one thread, so that the work is done while the current thread reads on.
    pub fn behind(work: W, state: W::State) -> Self {
        Self::start_workers(1, work, state)
    }

    /// Starts at most this many workers.
    fn start_workers(workers: usize, work: W, state: W::State) -> Self {
        let turn = Mutex::new(Turn { state, next: 0, early: BTreeMap::new() });
        let merged = Arc::new(Merged { work, turn });
        let threads = Threads::start(workers, &merged);
        Self { merged, threads, portion: Vec::new(), bytes: 0 }
    }

    /// Queues the next item, whose length is `bytes`. Blocks while too many portions are queued.
    pub fn push(&mut self, item: W::Item, bytes: usize) {
        self.portion.push(item);
        self.bytes += bytes;
        if self.bytes >= PORTION {
            self.send();
        }
    }

    /// Waits for all results, and returns the merged state.
    pub fn finish(mut self) -> W::State {
        self.send();
        if let Some(Threads { portions, handles, .. }) = self.threads {
            drop(portions);
            handles.into_iter().for_each(join);
        }
        std::mem::take(&mut lock(&self.merged.turn).state)
    }

    fn send(&mut self) {
        let portion = std::mem::take(&mut self.portion);
        self.bytes = 0;
        if let Some(threads) = &mut self.threads {
            return threads.send(portion);
        }
        let Merged { work, turn } = self.merged.as_ref();
        work.absorb(&mut lock(turn).state, &portion, work.work(&portion));
    }
}

impl<W: Work> Merged<W> {
    /// Does the work on a portion, and merges all results whose turn it is. Sends their portions
    /// back.
    fn work(&self, number: usize, portion: Vec<W::Item>, back: &Sender<Vec<W::Item>>) {
        let done = self.work.work(&portion);
        let Turn { state, next, early } = &mut *lock(&self.turn);
        early.insert(number, (portion, done));
        while let Some((portion, done)) = early.remove(next) {
            self.work.absorb(state, &portion, done);
            *next += 1;
            // The receiver may already be gone when the last portions are returned.
            let _ = back.send(portion);
        }
    }
}

impl<I: Send + 'static> Threads<I> {
    /// Starts the workers. Returns `None` if none can be started.
    fn start<W: Work<Item = I>>(workers: usize, merged: &Arc<Merged<W>>) -> Option<Self> {
        let (portions, waiting) = sync_channel(WAITING * workers);
        let (back, finished) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let worker = |_| {
            let (merged, waiting, back) = (merged.clone(), waiting.clone(), back.clone());
            let worker = move || {
                run(&waiting, |number, portion| {
                    merged.work(number, portion, &back);
                    true
                });
            };
            builder().spawn(worker).ok()
        };
        let handles: Vec<_> = (0..workers).map_while(worker).collect();
        (!handles.is_empty()).then_some(Self { portions, finished, handles, sent: 0 })
    }

    fn send(&mut self, portion: Vec<I>) {
        self.finished.try_iter().for_each(drop);
        // Sending fails only if all workers have panicked, which `finish` reports.
        let _ = self.portions.send((self.sent, portion));
        self.sent += 1;
    }
}

/// Returns the builder for the next thread.
fn builder() -> Builder {
    #[cfg(test)]
    if !tests::may_start() {
        // No system has enough memory for such a stack.
        return Builder::new().stack_size(usize::MAX / 4);
    }
    Builder::new()
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a thread to end. If the thread has panicked, panics as well.
fn join(thread: JoinHandle<()>) {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic));
}

/// The body of one thread: takes pairs until none are left or `handle` returns false.
fn run<A, B>(waiting: &Mutex<Receiver<(A, B)>>, handle: impl Fn(A, B) -> bool) {
    let next = || lock(waiting).recv().ok();
    while let Some((one, other)) = next() {
        if !handle(one, other) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::{WINDOW, in_order};

    thread_local! {
        /// How many more threads the system allows this one to start.
        pub(super) static ALLOWED: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    pub(super) fn may_start() -> bool {
        let allowed = ALLOWED.get();
        ALLOWED.set(allowed.saturating_sub(1));
        allowed > 0
    }

    fn jobs(jobs: usize) -> NonZeroUsize {
        NonZeroUsize::new(jobs).expect("not zero")
    }

    /// Some items take longer than the items after them.
    fn square(item: u64) -> u64 {
        for _ in 0..(item % 7) * 2 {
            std::thread::yield_now();
        }
        item * item
    }

    /// Returns the results up to the first error, and that error.
    fn taken(
        number: usize,
        items: &[(u64, usize)],
        [refused, unread]: [Option<u64>; 2],
    ) -> (Vec<u64>, Result<(), String>) {
        let mut taken = Vec::new();
        let ended = in_order(
            jobs(number),
            |push| {
                items.iter().try_for_each(|(item, bytes)| {
                    if unread == Some(*item) {
                        return Err(format!("{item} cannot be read"));
                    }
                    push(*item, *bytes)
                })
            },
            square,
            |square| {
                if refused == Some(square) {
                    return Err(format!("not {square}"));
                }
                taken.push(square);
                Ok(())
            },
        );
        (taken, ended)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// Whatever the items and the number of threads, the results are the same, in the same
        /// order, up to the same error.
        #[test]
        fn the_number_of_jobs_changes_nothing(
            items in prop::collection::vec((0_u64..50, 0_usize..2 * WINDOW), 0..60),
            refused in prop::option::of(0_u64..80),
            unread in prop::option::of(0_u64..80),
        ) {
            let errors = [refused.map(|item| item * item), unread];
            let alone = taken(1, &items, errors);
            for number in [2, 7] {
                prop_assert_eq!(&taken(number, &items, errors), &alone);
            }
        }
    }

    /// While the first item is in progress, no more items are read than fit into the window.
    #[test]
    fn what_is_on_its_way_is_bounded() {
        let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut finished = 0;
        let ended: Result<(), ()> = in_order(
            jobs(2),
            |push| {
                for item in 0..100 {
                    begun.fetch_add(1, Ordering::SeqCst);
                    push(item, WINDOW)?;
                }
                Ok(())
            },
            |item| item,
            |_| {
                most.fetch_max(begun.load(Ordering::SeqCst) - finished, Ordering::SeqCst);
                finished += 1;
                Ok(())
            },
        );
        assert_eq!((ended, finished), (Ok(()), 100));
        // Two items are in the window, and a third is about to be sent.
        assert!(most.into_inner() <= 3);
    }

    #[test]
    #[should_panic(expected = "no such item")]
    fn a_panic_of_a_thread_is_passed_on() {
        let ended: Result<(), ()> = in_order(
            jobs(3),
            |push| (0..100).try_for_each(|item| push(item, WINDOW)),
            |item| assert!(item != 7, "no such item"),
            |()| Ok(()),
        );
        ended.expect("no error");
    }

    /// No thread can be started, as with `ulimit -u 1`.
    #[test]
    fn without_threads_the_work_is_done_all_the_same() {
        ALLOWED.set(0);
        let mut taken = Vec::new();
        let ended: Result<(), ()> = in_order(
            jobs(4),
            |push| (0..9).try_for_each(|item| push(item, 1)),
            |item| item,
            |item| {
                taken.push(item);
                Ok(())
            },
        );
        ALLOWED.set(usize::MAX);
        assert_eq!((ended, taken), (Ok(()), (0..9).collect()));
    }
}

#[cfg(test)]
mod in_turn_tests {
    use super::tests::ALLOWED;
    use super::{InTurn, PORTION, Work};

    struct Squares;

    impl Work for Squares {
        type Item = u64;
        type Done = Vec<u64>;
        type State = Vec<u64>;

        fn work(&self, portion: &[u64]) -> Vec<u64> {
            let square = |job: &u64| {
                let job = *job;
                // Some jobs take longer than later jobs.
                for _ in 0..(job % 7) * 50 {
                    std::thread::yield_now();
                }
                assert!(job != 1_000, "no such job");
                job * job
            };
            portion.iter().map(square).collect()
        }

        fn absorb(&self, state: &mut Vec<u64>, _: &[u64], done: Vec<u64>) {
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

    /// The system allows no threads, or only the first few.
    #[test]
    fn without_threads_the_work_is_done_all_the_same() {
        for allowed in 0..3 {
            ALLOWED.set(allowed);
            let mut in_turn = InTurn::start_on(3, Squares, Vec::new());
            ALLOWED.set(usize::MAX);
            assert_eq!(in_turn.threads.is_some(), allowed > 0);
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
