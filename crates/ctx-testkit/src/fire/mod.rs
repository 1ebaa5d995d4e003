//! Tests replacement while agents write: an agent appends numbered lines to a session that is
//! replaced again and again. Afterwards the test counts the lines.

mod agent;
mod formats;
mod lines;
mod order;

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use agent::{Journal, PAUSE, Signals};

pub use agent::Agent;
pub use formats::{CHAT, COPILOT, Format, KIMI, OPENCODE, QWEN};
pub use lines::{EXCHANGE, lost, numbered, numbers};
pub use order::Order;

/// The maximum number of attempts. It is far larger than needed, because an attempt fails only
/// while the agent writes.
const TRIES: usize = 5_000;

/// Lets an agent write until `replace` has succeeded `times` times. Returns the numbers of the
/// lines that the agent wrote.
pub fn under_fire(
    path: &Path,
    agent: Agent,
    times: usize,
    replace: impl FnMut() -> bool,
) -> Vec<usize> {
    under_watch(path, agent, &CHAT, times, replace, |_| {})
}

/// Like [`under_fire`], but the lines are in `format`, and after each attempt the agent pauses, and `look` is called with the
/// numbers of the lines that it has written.
pub fn under_watch(
    path: &Path,
    agent: Agent,
    format: &Format,
    times: usize,
    mut replace: impl FnMut() -> bool,
    mut look: impl FnMut(&[usize]),
) -> Vec<usize> {
    let signals = Signals::default();
    let journals: Vec<Journal> = (0..agent.writers()).map(|_| Journal::default()).collect();
    std::thread::scope(|scope| {
        for (writer, journal) in journals.iter().enumerate() {
            let signals = &signals;
            scope.spawn(move || agent.write(format, path, writer, journal, signals));
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

/// Stops the agent when it is dropped, even if the test fails.
struct Stop<'a>(&'a Signals);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::SeqCst);
    }
}

/// A faulty replacement that the tests must detect: reads the file, writes the content into a new
/// file, and renames that over the old one.
pub fn replace_by_rename(path: &Path) -> bool {
    let old = fs::read(path).expect("reads");
    let new = path.with_extension("new");
    fs::write(&new, old).expect("writes");
    std::thread::sleep(Duration::from_millis(1));
    fs::rename(new, path).expect("renames");
    true
}

/// Another faulty replacement: reads the file, and then overwrites it with what it read.
pub fn replace_in_place(path: &Path) -> bool {
    let old = fs::read(path).expect("reads");
    std::thread::sleep(Duration::from_millis(1));
    fs::write(path, old).expect("writes");
    true
}
