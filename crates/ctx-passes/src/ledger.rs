//! The ledger of a session, read while the session passes: in threads of its own once
//! there is much of it, since that takes longer than all else that is done with a record.

use ctx_ledger::{Ledger, Reading};
use ctx_transcript::{Dialect, Message, Object, Zone};

use crate::in_turn::{InTurn, Work};

/// Reads messages in their order.
pub struct LedgerReader {
    dialect: &'static dyn Dialect,
    state: State,
}

enum State {
    /// Few bytes so far: threads would cost more than they save.
    Short { ledger: Box<Ledger>, bytes: usize },
    Long {
        threads: InTurn<Reader>,
        batch: Vec<Entry>,
        bytes: usize,
    },
}

/// What is handed to the threads.
enum Entry {
    /// A message of this line, as its record has it.
    Message(u64, Vec<u8>, Zone),
    /// The text of an earlier summary.
    Earlier(String),
}

/// Reads a batch of entries.
struct Reader {
    dialect: &'static dyn Dialect,
}

impl Work for Reader {
    type Job = Vec<Entry>;
    type Done = Vec<(u64, Reading)>;
    type State = Ledger;

    fn work(&self, job: Vec<Entry>) -> Vec<(u64, Reading)> {
        let read = |entry| match entry {
            Entry::Earlier(text) => Some((0, Reading::of_earlier(&text))),
            Entry::Message(line, record, zone) => {
                let text = std::str::from_utf8(&record).ok()?;
                let object = Object::parse(text).ok()?;
                let message = self.dialect.message(&object)?;
                Some((line, Reading::of(&message, zone)))
            }
        };
        job.into_iter().filter_map(read).collect()
    }

    fn absorb(&self, ledger: &mut Ledger, done: Vec<(u64, Reading)>) {
        for (line, reading) in done {
            ledger.absorb(line, reading);
        }
    }
}

/// Bytes of records after which threads are started.
const SHORT: usize = 1 << 20;
/// Bytes of records that are handed on at once.
const BATCH: usize = 256 << 10;

impl LedgerReader {
    /// Nothing read yet.
    pub fn new(dialect: &'static dyn Dialect) -> Self {
        Self {
            dialect,
            state: State::Short {
                ledger: Box::default(),
                bytes: 0,
            },
        }
    }

    /// The next message, from this line of the session; `record` is what it was read
    /// from, without a tag.
    pub fn push(&mut self, line: u64, message: &Message<'_>, record: &[u8], zone: Zone) {
        match &mut self.state {
            State::Short { ledger, bytes } => {
                ledger.push(line, message, zone);
                *bytes += record.len();
                self.start_if_long();
            }
            State::Long { .. } => {
                self.hand_on(Entry::Message(line, record.to_vec(), zone), record.len());
            }
        }
    }

    /// The text of an earlier summary.
    pub fn push_earlier(&mut self, text: &str) {
        match &mut self.state {
            State::Short { ledger, .. } => ledger.push_earlier(text),
            State::Long { .. } => self.hand_on(Entry::Earlier(text.to_owned()), text.len()),
        }
    }

    /// The ledger, once everything was read.
    pub fn finish(self) -> Ledger {
        match self.state {
            State::Short { ledger, .. } => *ledger,
            State::Long {
                mut threads, batch, ..
            } => {
                threads.push(batch);
                threads.finish()
            }
        }
    }

    fn start_if_long(&mut self) {
        if let State::Short { ledger, bytes } = &mut self.state
            && *bytes > SHORT
        {
            self.state = State::Long {
                threads: InTurn::start(
                    Reader {
                        dialect: self.dialect,
                    },
                    std::mem::take(ledger.as_mut()),
                ),
                batch: Vec::new(),
                bytes: 0,
            };
        }
    }

    fn hand_on(&mut self, entry: Entry, size: usize) {
        if let State::Long {
            threads,
            batch,
            bytes,
        } = &mut self.state
        {
            batch.push(entry);
            *bytes += size;
            if *bytes > BATCH {
                threads.push(std::mem::take(batch));
                *bytes = 0;
            }
        }
    }
}
