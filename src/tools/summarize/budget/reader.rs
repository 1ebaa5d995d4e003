//! The ledger of a session, read in a thread of its own: that takes as long as all
//! else that is done with a record.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{JoinHandle, spawn};

use ctx_ledger::Ledger;
use ctx_transcript::{Dialect, Object, Zone};

/// So many records may wait.
const WAITING: usize = 64;

/// A record for the ledger.
enum Next {
    /// A message, from this line.
    Message(u64, Vec<u8>),
    /// The text of an earlier summary.
    Earlier(String),
}

/// Hands records to the thread, in their order.
pub(super) struct Reader {
    sender: SyncSender<Next>,
    thread: JoinHandle<Ledger>,
}

impl Reader {
    pub(super) fn new(dialect: &'static dyn Dialect) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        Self {
            sender,
            thread: spawn(move || read(dialect, &receiver)),
        }
    }

    /// A record that holds a message, without its tag.
    pub(super) fn message(&self, line: u64, record: &[u8]) {
        self.send(Next::Message(line, record.to_vec()));
    }

    pub(super) fn earlier(&self, text: String) {
        self.send(Next::Earlier(text));
    }

    fn send(&self, next: Next) {
        // Nobody listens when the thread has panicked, which the end tells.
        let _ = self.sender.send(next);
    }

    /// All of it, once everything was handed over.
    pub(super) fn finish(self) -> Ledger {
        drop(self.sender);
        match self.thread.join() {
            Ok(ledger) => ledger,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn read(dialect: &dyn Dialect, records: &Receiver<Next>) -> Ledger {
    let mut ledger = Ledger::new();
    for next in records {
        match next {
            Next::Earlier(text) => ledger.push_earlier(&text),
            Next::Message(line, record) => {
                let text = std::str::from_utf8(&record).ok();
                let object = text.and_then(|text| Object::parse(text).ok());
                if let Some(message) = object.as_ref().and_then(|o| dialect.message(o)) {
                    ledger.push(line, &message, Zone::Old);
                }
            }
        }
    }
    ledger
}
