//! Work on a stream that takes longer than reading it: several threads do it, and what
//! comes of it is put together in the order of the stream.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, spawn};

/// What the threads do.
pub(crate) trait Work: Send + Sync + 'static {
    /// A piece of the stream.
    type Job: Send + 'static;
    /// What one thread makes of it, whatever the others do.
    type Done;
    /// What all of it is put together in.
    type State: Send + 'static;

    /// Does the work on one piece.
    fn work(&self, job: Self::Job) -> Self::Done;

    /// Adds the next piece; called in the order of the stream.
    fn absorb(&self, state: &mut Self::State, done: Self::Done);
}

/// Threads at work.
pub(crate) struct InTurn<W: Work> {
    sender: SyncSender<(u64, W::Job)>,
    turn: Arc<Turn<W::State>>,
    threads: Vec<JoinHandle<()>>,
    sent: u64,
}

/// Whose turn it is to absorb.
struct Turn<S> {
    now: Mutex<Now<S>>,
    changed: Condvar,
}

struct Now<S> {
    next: u64,
    state: Option<S>,
    /// A thread has panicked: its turn will never end.
    broken: bool,
}

/// So many pieces may wait for each thread.
const WAITING: usize = 2;

impl<W: Work> InTurn<W> {
    /// Starts one thread a core.
    pub(crate) fn start(work: W, state: W::State) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::start_on(threads, work, state)
    }

    /// Starts so many threads.
    pub(crate) fn start_on(threads: usize, work: W, state: W::State) -> Self {
        let (sender, receiver) = sync_channel(WAITING * threads);
        let receiver = Arc::new(Mutex::new(receiver));
        let work = Arc::new(work);
        let turn = Arc::new(Turn {
            now: Mutex::new(Now {
                next: 0,
                state: Some(state),
                broken: false,
            }),
            changed: Condvar::new(),
        });
        let threads = (0..threads)
            .map(|_| {
                let (receiver, work, turn) = (receiver.clone(), work.clone(), turn.clone());
                spawn(move || run(&receiver, work.as_ref(), &turn))
            })
            .collect();
        Self {
            sender,
            turn,
            threads,
            sent: 0,
        }
    }

    /// Hands on the next piece; waits while too many are on their way.
    pub(crate) fn push(&mut self, job: W::Job) {
        // Nobody listens when a thread has panicked, which the end tells.
        let _ = self.sender.send((self.sent, job));
        self.sent += 1;
    }

    /// All of it, once every piece was handed on.
    pub(crate) fn finish(self) -> W::State {
        drop(self.sender);
        for thread in self.threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        let state = self.turn.lock().state.take();
        state.expect("the threads are done, and none has panicked")
    }
}

impl<S> Turn<S> {
    fn lock(&self) -> MutexGuard<'_, Now<S>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a piece; `None` when it will not come.
    fn wait_for(&self, piece: u64) -> Option<MutexGuard<'_, Now<S>>> {
        let mut now = self.lock();
        while now.next != piece && !now.broken {
            now = self
                .changed
                .wait(now)
                .unwrap_or_else(PoisonError::into_inner);
        }
        (!now.broken).then_some(now)
    }
}

/// Tells the others when its thread panics.
struct Alarm<'t, S>(&'t Turn<S>);

impl<S> Drop for Alarm<'_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().broken = true;
            self.0.changed.notify_all();
        }
    }
}

fn run<W: Work>(receiver: &Mutex<Receiver<(u64, W::Job)>>, work: &W, turn: &Turn<W::State>) {
    let _alarm = Alarm(turn);
    loop {
        let next = receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok((piece, job)) = next else { return };
        let done = work.work(job);
        let Some(mut now) = turn.wait_for(piece) else {
            return;
        };
        if let Some(state) = &mut now.state {
            work.absorb(state, done);
        }
        now.next += 1;
        drop(now);
        turn.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{InTurn, Work};

    struct Squares;

    impl Work for Squares {
        type Job = u64;
        type Done = u64;
        type State = Vec<u64>;

        fn work(&self, job: u64) -> u64 {
            // Some take longer than those behind them.
            for _ in 0..(job % 7) * 50 {
                std::thread::yield_now();
            }
            assert!(job != 1_000, "no such job");
            job * job
        }

        fn absorb(&self, state: &mut Vec<u64>, done: u64) {
            state.push(done);
        }
    }

    #[test]
    fn results_come_in_the_order_of_the_stream() {
        let mut threads = InTurn::start(Squares, Vec::new());
        (0..500).for_each(|job| threads.push(job));
        let squares: Vec<u64> = (0..500).map(|job| job * job).collect();
        assert_eq!(threads.finish(), squares);
        assert!(InTurn::start(Squares, Vec::new()).finish().is_empty());
    }

    #[test]
    #[should_panic(expected = "no such job")]
    fn a_panic_ends_all_threads_and_is_passed_on() {
        let mut threads = InTurn::start(Squares, Vec::new());
        (990..1_200).for_each(|job| threads.push(job));
        threads.finish();
    }
}
