//! Builds the ledger of a session while its messages are read. Long sessions are processed on
//! several threads, because finding the items in a message takes longer than all other work on its
//! record.

use ctx_format::{Dialect, Message, Record, Zone};
use ctx_summary::Recognizer;
use ctx_summary::ledger::{Ledger, OpenCalls, Reading};

use crate::parallel::{InTurn, Work};

/// Builds a ledger from messages, which are added in order.
#[derive(Default)]
pub struct LedgerReader {
    /// The ledger, used only until threads have been started.
    ledger: Ledger,
    /// The total length, in bytes, of the records that have been added to `ledger`.
    bytes: usize,
    threads: Option<InTurn<Reader>>,
    calls: OpenCalls,
}

/// A message or earlier summary in which a thread has to find the items.
enum Entry {
    /// A message, with its line in the session and its zone.
    Message(u64, Message<'static>, Zone),
    /// The text of an earlier summary.
    Earlier(String),
}

/// Finds items on worker threads, one portion of messages at a time.
struct Reader;

impl Work for Reader {
    type Item = Entry;
    type Done = Vec<(u64, Reading)>;
    type State = Ledger;

    fn work(&self, portion: &[Entry]) -> Vec<(u64, Reading)> {
        let read = |entry: &Entry| match entry {
            Entry::Earlier(text) => (0, Reading::of_earlier(text)),
            Entry::Message(line, message, zone) => (*line, Reading::of(message, *zone)),
        };
        portion.iter().map(read).collect()
    }

    fn absorb(&self, ledger: &mut Ledger, _: &[Entry], done: Vec<(u64, Reading)>) {
        for (line, reading) in done {
            ledger.absorb(line, reading);
        }
    }
}

/// The number of record bytes above which threads save more time than they cost.
const MANY_BYTES: usize = 1 << 20;

impl LedgerReader {
    /// Adds the next message to the ledger, with its line in the session and the length of its
    /// record.
    pub fn push(&mut self, line: u64, message: &Message<'_>, bytes: usize, zone: Zone) {
        let message = self.calls.name_tools(message);
        if let Some(threads) = &mut self.threads {
            let message = message.into_owned().into_owned();
            return threads.push(Entry::Message(line, message, zone), bytes);
        }
        self.ledger.push(line, &message, zone);
        self.bytes += bytes;
        if self.bytes > MANY_BYTES {
            let ledger = std::mem::take(&mut self.ledger);
            self.threads = Some(InTurn::start(Reader, ledger));
        }
    }

    /// Adds a message that is replaced by a summary, whether it is itself an earlier summary or not.
    pub fn push_old(
        &mut self,
        record: &Record<'_>,
        message: &Message<'_>,
        dialect: &dyn Dialect,
        recognizer: &Recognizer,
    ) {
        let object = record.whole_object();
        if let Some(text) = object.and_then(|it| recognizer.summary_in(dialect, it, message)) {
            return self.push_earlier(&text);
        }
        self.push(record.line, &recognizer.as_said(message), record.bytes.len(), Zone::Old);
    }

    /// Adds the text of an earlier summary to the ledger.
    pub fn push_earlier(&mut self, text: &str) {
        match &mut self.threads {
            None => self.ledger.push_earlier(text),
            Some(threads) => threads.push(Entry::Earlier(text.to_owned()), text.len()),
        }
    }

    /// Returns the ledger. Must be called after all messages have been pushed.
    pub fn finish(self) -> Ledger {
        self.threads.map_or(self.ledger, InTurn::finish)
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::dialect::Chat;
    use ctx_format::{Dialect, Object, Zone};

    use super::{LedgerReader, MANY_BYTES};

    /// Returns the items found in a session with this many requests, and whether threads were used.
    fn items(requests: usize, filler: usize) -> (Vec<String>, bool) {
        let mut reader = LedgerReader::default();
        for number in 0..requests {
            if number + 1 == requests {
                reader.push_earlier("- Keep port 8443.");
            }
            let filler = "x ".repeat(filler);
            let record = format!(
                r#"{{"role":"user","content":"Please fix src/file_{number}.rs now. {filler}"}}"#
            );
            let object = Object::parse(&record).expect("an object");
            let message = Chat.message(&object).expect("a message");
            reader.push(number as u64 + 1, &message, record.len(), Zone::Old);
        }
        let threaded = reader.threads.is_some();
        let ledger = reader.finish();
        let items = ledger.items.list.iter().map(|item| item.text.clone());
        (items.collect(), threaded)
    }

    #[test]
    fn threads_find_the_same_in_the_same_order() {
        let (few, threaded) = items(40, 10);
        assert!(!threaded);
        assert!(few.len() >= 40, "{few:?}");
        let (many, threaded) = items(40, MANY_BYTES / 20);
        assert!(threaded);
        assert_eq!(many.len(), few.len());
    }
}
