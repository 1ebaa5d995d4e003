//! Extracts items for the memory during the other work of a compaction, because that takes as long
//! as everything else.

use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use chrono::NaiveDate;
use ctx_engine::compact::MessageReader;
use ctx_format::Message;
use ctx_memory::{Extractor, MemoryItem, reconcile};
use ctx_store::SessionId;
use ctx_summary::ledger::rules::MemoryKind;

/// Extracts items from the messages of a session, in a thread of its own where one can be had.
pub(super) struct ItemReader {
    session: String,
    state: State,
}

enum State {
    /// No message came yet.
    New,
    Threaded(SyncSender<Entry>, JoinHandle<Items>),
    Alone(Items),
}

type Entry = (Message<'static>, u64, Option<NaiveDate>);

/// So many messages may wait for the thread.
const WAITING: usize = 64;

struct Items {
    extractor: Extractor,
    items: Vec<MemoryItem>,
}

impl Items {
    fn new(session: &str) -> Self {
        Self { extractor: Extractor::new(session, &MemoryKind::ALL), items: Vec::new() }
    }

    fn read(&mut self, message: &Message<'_>, line: u64, date: Option<NaiveDate>) {
        self.items.extend(self.extractor.read(message, line, date));
    }
}

impl ItemReader {
    pub(super) fn new(session: &SessionId) -> Self {
        Self { session: session.to_string(), state: State::New }
    }

    fn start(&self) -> State {
        let (sender, queue) = sync_channel::<Entry>(WAITING);
        let mut items = Items::new(&self.session);
        let thread = Builder::new().spawn(move || {
            for (message, line, date) in queue {
                items.read(&message, line, date);
            }
            items
        });
        match thread {
            Ok(thread) => State::Threaded(sender, thread),
            Err(_) => State::Alone(Items::new(&self.session)),
        }
    }

    /// The items of all messages.
    pub(super) fn finish(self) -> Vec<MemoryItem> {
        let items = match self.state {
            State::New => return Vec::new(),
            State::Alone(items) => items,
            State::Threaded(sender, thread) => {
                drop(sender);
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            }
        };
        reconcile(items.items)
    }
}

impl MessageReader for ItemReader {
    fn read(&mut self, message: &Message<'_>, line: u64, date: Option<NaiveDate>) {
        if matches!(self.state, State::New) {
            self.state = self.start();
        }
        match &mut self.state {
            State::New => {}
            State::Alone(items) => items.read(message, line, date),
            State::Threaded(sender, _) => {
                // This fails only where the thread has panicked, which `finish` passes on.
                let _ = sender.send((message.clone().into_owned(), line, date));
            }
        }
    }
}
