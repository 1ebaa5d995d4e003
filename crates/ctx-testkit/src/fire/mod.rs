//! Replacing under fire: an agent writes numbered lines into a session while it is replaced again
//! and again. Then the lines are counted.

mod agent;
mod lines;
mod order;

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use agent::{Journal, PAUSE, Signals};

pub use agent::Agent;
pub use lines::{EXCHANGE, lost, numbered, numbers};
pub use order::Order;

/// Far more than are needed: only a try that meets the agent at a write fails.
const TRIES: usize = 5_000;

/// Lets an agent write until `replace` has gone through so many times; returns the
/// numbers of the lines that it wrote.
pub fn under_fire(
    path: &Path,
    agent: Agent,
    times: usize,
    replace: impl FnMut() -> bool,
) -> Vec<usize> {
    under_watch(path, agent, times, replace, |_| {})
}

/// The same; after each try the agent pauses, and `look` gets the lines that it knows to be
/// written.
pub fn under_watch(
    path: &Path,
    agent: Agent,
    times: usize,
    mut replace: impl FnMut() -> bool,
    mut look: impl FnMut(&[usize]),
) -> Vec<usize> {
    let signals = Signals::default();
    let journals: Vec<Journal> = (0..agent.writers()).map(|_| Journal::default()).collect();
    std::thread::scope(|scope| {
        for (writer, journal) in journals.iter().enumerate() {
            let signals = &signals;
            scope.spawn(move || agent.write(path, writer, journal, signals));
        }
        let stopped = Stop(&signals);
        let mut through = 0;
        for _ in 0..TRIES {
            if through == times {
                break;
            }
            let begun = Instant::now();
            let done = replace();
            let took = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
            signals.took.store(took, Ordering::SeqCst);
            let still: Vec<_> = journals.iter().map(|it| it.lock().expect("runs")).collect();
            let told: Vec<usize> = still.iter().flat_map(|it| it.iter().copied()).collect();
            look(&told);
            drop(still);
            if done {
                through += 1;
            } else {
                std::thread::sleep(PAUSE);
            }
        }
        drop(stopped);
        assert_eq!(through, times, "of {TRIES} tries not so many went through");
    });
    let told = journals.into_iter().map(|it| it.into_inner().expect("ran"));
    told.flatten().collect()
}

/// Stops the agent, also when the test fails.
struct Stop<'a>(&'a Signals);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::SeqCst);
    }
}

/// How not to do it, as a control: with what was read a moment ago in a new file
/// that takes the name of the old one.
pub fn replace_by_rename(path: &Path) -> bool {
    let old = fs::read(path).expect("reads");
    let new = path.with_extension("new");
    fs::write(&new, old).expect("writes");
    std::thread::sleep(Duration::from_millis(1));
    fs::rename(new, path).expect("renames");
    true
}

/// The other way not to do it: with what was read a moment ago in place of what
/// is there now.
pub fn replace_in_place(path: &Path) -> bool {
    let old = fs::read(path).expect("reads");
    std::thread::sleep(Duration::from_millis(1));
    fs::write(path, old).expect("writes");
    true
}
