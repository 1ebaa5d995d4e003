//! Processes the items of a stream on several threads and returns the results in order, to the
//! thread that reads it. What is written, reported and counted therefore does not depend on the
//! number of threads, and neither the reader nor the writer is shared.
//!
//! [`crate::in_turn`] merges all results; this module passes them on one by one, and holds only as
//! many as a window has room for.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Result as Ended, Scope};

/// Bytes of the items in progress, per thread. A long item in front delays the results after it,
/// but not the work on them.
const WINDOW: usize = 4 << 20;
/// The approximate overhead of an item.
const FRAME: usize = 512;

/// Takes the next item, with its length in bytes.
pub(crate) type Push<'p, I, E> = dyn FnMut(I, usize) -> Result<(), E> + 'p;

/// Passes the items that `read` pushes to up to `jobs` threads, or as many as are available, and
/// the results of `work` to `take`, in the order of the stream. The first error ends it, after all
/// results before it.
pub(crate) fn in_order<I: Send, O: Send, E>(
    jobs: NonZeroUsize,
    read: impl FnOnce(&mut Push<'_, I, E>) -> Result<(), E>,
    work: impl Fn(I) -> O + Sync,
    take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    with_threads(Builder::new, jobs, read, work, take)
}

/// `builder` makes each thread.
fn with_threads<I: Send, O: Send, E>(
    builder: fn() -> Builder,
    jobs: NonZeroUsize,
    read: impl FnOnce(&mut Push<'_, I, E>) -> Result<(), E>,
    work: impl Fn(I) -> O + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let (items, waiting) = channel();
    let line = Line { work, waiting: Mutex::new(waiting), stopped: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let Some(results) = line.start(scope, builder, jobs) else {
            return read(&mut |item, _| take((line.work)(item)));
        };
        let mut window = Window {
            items: Some(items),
            results,
            early: BTreeMap::new(),
            lengths: BTreeMap::new(),
            sent: 0,
            taken: 0,
            bytes: 0,
            room: WINDOW.saturating_mul(jobs.get()),
            refused: false,
        };
        let read = read(&mut |item, bytes| window.push(item, bytes, &mut take));
        // Items before an error of the reader are processed as by one thread.
        let rest = if window.refused { Ok(()) } else { window.finish(&mut take) };
        line.stopped.store(true, Ordering::Relaxed);
        rest.and(read)
    })
}

/// The state that the threads share.
struct Line<I, W> {
    work: W,
    waiting: Mutex<Receiver<(u64, I)>>,
    stopped: AtomicBool,
}

impl<I: Send, W> Line<I, W> {
    /// The receiver of the results; `None` if one thread is enough, or no other is available.
    fn start<'scope, O: Send + 'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        builder: fn() -> Builder,
        jobs: NonZeroUsize,
    ) -> Option<Receiver<(u64, Ended<O>)>>
    where
        W: Fn(I) -> O + Sync,
    {
        if jobs.get() == 1 {
            return None;
        }
        let (done, results) = channel();
        let start = |_: &usize| {
            let done = done.clone();
            let thread = builder().spawn_scoped(scope, move || self.run(&done));
            thread.is_ok()
        };
        let threads = (0..jobs.get()).take_while(start).count();
        (threads > 0).then_some(results)
    }

    /// One thread: takes whichever item comes next.
    fn run<O>(&self, done: &Sender<(u64, Ended<O>)>)
    where
        W: Fn(I) -> O,
    {
        let next = || {
            let waiting = self.waiting.lock();
            waiting.unwrap_or_else(PoisonError::into_inner).recv().ok()
        };
        while let Some((number, item)) = next() {
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            // A waiting thread must not wait forever for this result.
            let result = catch_unwind(AssertUnwindSafe(|| (self.work)(item)));
            if done.send((number, result)).is_err() {
                return;
            }
        }
    }
}

/// The items that are on their way.
struct Window<I, O> {
    /// `None` once there are no more.
    items: Option<Sender<(u64, I)>>,
    results: Receiver<(u64, Ended<O>)>,
    /// Results that came before those in front of them.
    early: BTreeMap<u64, O>,
    lengths: BTreeMap<u64, usize>,
    sent: u64,
    taken: u64,
    bytes: usize,
    room: usize,
    /// Whether a result was refused, so that the rest is not needed.
    refused: bool,
}

impl<I, O> Window<I, O> {
    /// Sends an item, and takes what is there, and more than that while there is no room.
    fn push<E>(
        &mut self,
        item: I,
        bytes: usize,
        take: &mut impl FnMut(O) -> Result<(), E>,
    ) -> Result<(), E> {
        while self.bytes >= self.room {
            self.wait(take)?;
        }
        while let Ok(result) = self.results.try_recv() {
            self.came(result, take)?;
        }
        self.bytes += bytes + FRAME;
        self.lengths.insert(self.sent, bytes + FRAME);
        if let Some(items) = &self.items {
            // The receiver outlives the threads, so this cannot fail.
            let _ = items.send((self.sent, item));
        }
        self.sent += 1;
        Ok(())
    }

    fn finish<E>(&mut self, take: &mut impl FnMut(O) -> Result<(), E>) -> Result<(), E> {
        self.items = None;
        while self.taken < self.sent {
            self.wait(take)?;
        }
        Ok(())
    }

    fn wait<E>(&mut self, take: &mut impl FnMut(O) -> Result<(), E>) -> Result<(), E> {
        let result = self.results.recv();
        self.came(result.expect("threads end after their items"), take)
    }

    fn came<E>(
        &mut self,
        (number, result): (u64, Ended<O>),
        take: &mut impl FnMut(O) -> Result<(), E>,
    ) -> Result<(), E> {
        let result = result.unwrap_or_else(|panic| resume_unwind(panic));
        self.early.insert(number, result);
        while let Some(result) = self.early.remove(&self.taken) {
            self.bytes -= self.lengths.remove(&self.taken).unwrap_or_default();
            self.taken += 1;
            let taken = take(result);
            self.refused = taken.is_err();
            taken?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::Builder;

    use proptest::prelude::*;

    use super::{WINDOW, in_order, with_threads};

    fn jobs(jobs: usize) -> NonZeroUsize {
        NonZeroUsize::new(jobs).expect("not zero")
    }

    /// Some items take longer than later ones.
    fn square(item: u64) -> u64 {
        for _ in 0..(item % 7) * 2 {
            std::thread::yield_now();
        }
        item * item
    }

    /// The results up to an error, and that error.
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
        /// Any number of threads and any items give the same results in the same order, up to the
        /// same error.
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

    /// While the first item takes its time, no more items are read than there is room for.
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
        // Two in the window, and the one that is about to be sent.
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

    /// No thread can be started, as under `ulimit -u 1`.
    #[test]
    fn without_threads_the_work_is_done_all_the_same() {
        // No system has room for such a stack.
        let none = || Builder::new().stack_size(usize::MAX / 4);
        let mut taken = Vec::new();
        let ended: Result<(), ()> = with_threads(
            none,
            jobs(4),
            |push| (0..9).try_for_each(|item| push(item, 1)),
            |item| item,
            |item| {
                taken.push(item);
                Ok(())
            },
        );
        assert_eq!((ended, taken), (Ok(()), (0..9).collect()));
    }
}
