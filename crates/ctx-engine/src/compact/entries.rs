//! Stores the facts about each record of a surveyed session. A session can have any number of
//! records, so only the latest entries are held in memory. All other entries are in a temporary
//! file.

use std::cell::RefCell;
use std::path::PathBuf;

use ctx_format::Spool;
use zerocopy::{Immutable, IntoBytes, TryFromBytes};

use crate::{PassError, Result};

/// The facts about a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Immutable, IntoBytes, TryFromBytes)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) line: u32,
    /// The record's token count before pruning; 0 for a line without a message.
    pub(super) tokens: u32,
    /// The 1-based number of the first record in the same exchange; 0 if the record is not in an
    /// exchange.
    pub(super) exchange: u32,
    pub(super) kind: EntryKind,
    /// The number of tool results in the record; 255 means 255 or more.
    pub(super) results: u8,
    pub(super) is_summary: bool,
    pub(super) begins_message: bool,
    pub(super) begins_turn: bool,
    pub(super) pinned: bool,
    /// Whether the record is the first fragment in its line.
    pub(super) begins: bool,
    /// Whether the record is the last fragment in its line.
    pub(super) ends: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Immutable, IntoBytes, TryFromBytes)]
#[repr(u8)]
pub(super) enum EntryKind {
    /// A message of the system or the developer.
    System,
    User,
    Assistant,
    /// A message with another role.
    Other,
    /// A line that is not a message.
    #[default]
    Line,
    Blank,
    /// A last line that is still being written.
    Tail,
}

impl EntryKind {
    pub(super) fn is_message(self) -> bool {
        matches!(self, Self::System | Self::User | Self::Assistant | Self::Other)
    }
}

/// The entries of all records, in order.
#[derive(Default)]
pub(super) struct Entries {
    spool: RefCell<Spool>,
    count: usize,
}

/// The length of an entry in bytes.
const LENGTH: usize = size_of::<Entry>();
/// The number of entries to hold in memory at a time.
const BLOCK: usize = 16 << 10;

impl Entries {
    pub(super) fn new(temp: PathBuf) -> Self {
        Self { spool: RefCell::new(Spool::with_limit(temp, BLOCK * LENGTH)), count: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, entry: &Entry) -> Result<()> {
        self.count += 1;
        self.spool.get_mut().push(entry.as_bytes()).map_err(PassError::temporary)
    }

    /// Passes each entry to `handle`, with its 0-based number.
    pub(super) fn each(&self, mut handle: impl FnMut(usize, Entry)) -> Result<()> {
        let mut block = Vec::new();
        for first in (0..self.count).step_by(BLOCK) {
            let length = BLOCK.min(self.count - first) * LENGTH;
            block.clear();
            let copied = self.spool.borrow_mut().copy_to(first * LENGTH, length, &mut block);
            copied.map_err(PassError::temporary)?;
            for (number, bytes) in (first..).zip(block.chunks_exact(LENGTH)) {
                handle(number, Entry::try_read_from_bytes(bytes).expect("our own bytes"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Entries, Entry, EntryKind};

    const KINDS: [EntryKind; 3] = [EntryKind::Assistant, EntryKind::Line, EntryKind::Tail];

    /// Returns an entry whose fields all depend on `number`.
    fn entry(number: usize) -> Entry {
        let bit = |at: usize| number >> at & 1 == 1;
        let small = u32::try_from(number).expect("a small number");
        Entry {
            line: small + 1,
            tokens: small << 8,
            exchange: u32::MAX - small,
            kind: KINDS[number % KINDS.len()],
            results: number.to_le_bytes()[0],
            is_summary: bit(0),
            begins_message: bit(1),
            begins_turn: bit(2),
            pinned: bit(3),
            begins: bit(4),
            ends: bit(5),
        }
    }

    #[test]
    fn entries_come_back_as_they_were_from_memory_and_from_the_file() {
        for count in [0, 100, BLOCK, 2 * BLOCK + 100] {
            let mut entries = Entries::new(std::env::temp_dir());
            for number in 0..count {
                entries.push(&entry(number)).expect("written");
            }
            assert_eq!(entries.len(), count);
            let mut next = 0;
            let read = entries.each(|number, found| {
                assert_eq!((number, found), (next, entry(next)));
                next += 1;
            });
            read.expect("read");
            assert_eq!(next, count);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let mut entries = Entries::new("/no/such/folder".into());
        let failed = (0..=BLOCK).find_map(|number| entries.push(&entry(number)).err());
        assert!(failed.expect("a file is needed").to_string().contains("temporary"));
    }
}
