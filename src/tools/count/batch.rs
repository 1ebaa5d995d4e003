//! One file of conversations, counted by several threads.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use ctx_cli::Failure;
use ctx_select::count::MessageCounter;
use ctx_transcript::{Dialect, Object};

use super::Plan;
use super::counted::Counted;
use crate::session::Session;

/// How many bytes of records a thread is given at a time.
const PORTION: usize = 256 * 1024;

/// The texts of some records.
type Portion = Vec<String>;

impl Counted {
    /// This thread reads the records, and hands them to those that count. What
    /// they find are sums, so that it does not matter who counted what.
    pub(super) fn batch(
        &mut self,
        session: &mut Session,
        dialect: &dyn Dialect,
        plan: &Plan,
    ) -> Result<(), Failure> {
        let counter = &plan.counting.counter;
        if plan.jobs_per_file == 1 {
            return session.each(|record| {
                self.record(record, Some(dialect), true, counter);
                Ok(())
            });
        }
        let (give, portions) = sync_channel(2 * plan.jobs_per_file);
        let portions = Arc::new(Mutex::new(portions));
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..plan.jobs_per_file)
                .map(|_| Arc::clone(&portions))
                .map(|portions| scope.spawn(move || count(&portions, dialect, counter)))
                .collect();
            // Nobody is left to take a portion when all threads have panicked.
            drop(portions);
            let mut portion = Portion::new();
            let mut bytes = 0;
            let read = session.each(|record| {
                self.seen(record);
                if let Some(object) = record.whole_object() {
                    bytes += object.text().len();
                    portion.push(object.text().to_owned());
                }
                if bytes >= PORTION {
                    bytes = 0;
                    // A panic is passed on below.
                    let _ = give.send(std::mem::take(&mut portion));
                }
                Ok(())
            });
            let _ = give.send(portion);
            drop(give);
            for thread in threads {
                match thread.join() {
                    Ok(found) => self.merge(&found),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            read
        })
    }
}

fn count(
    portions: &Mutex<Receiver<Portion>>,
    dialect: &dyn Dialect,
    counter: &MessageCounter,
) -> Counted {
    let mut found = Counted::default();
    let next = || {
        portions
            .lock()
            .map_or(None, |portions| portions.recv().ok())
    };
    while let Some(portion) = next() {
        for text in portion {
            if let Ok(object) = Object::parse(&text) {
                found.conversation(&object, dialect, counter);
            }
        }
    }
    found
}
