//! The end of what a killed run has left of an addition: see [`crate::unfinished`].

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::tail::Tail;
use crate::unfinished::Found;
use crate::{
    Facts, Figures, NewContent, Replacement, SessionId, SessionLock, SnapshotKind, Store, hash,
};

/// What the audit log calls it.
const OPERATION: &str = "repair-addition";

impl Store {
    /// Takes away what a killed run has left of an addition to a file that is claimed.
    /// `None` where the file was changed by that.
    pub(crate) fn repair_addition(
        &self,
        session: &SessionId,
        lock: SessionLock,
        live: Live,
    ) -> Result<Option<(SessionLock, Live)>, StoreError> {
        let Some((note, found)) = self.unfinished_addition(&live)? else {
            return Ok(Some((lock, live)));
        };
        match found {
            Found::Nothing => {
                note.remove();
                return Ok(Some((lock, live)));
            }
            Found::Part { old, modified } => {
                let facts = Facts {
                    bytes: Some(old),
                    ..Facts::of(session)
                };
                let operation = self.begin(OPERATION, &facts)?;
                Tail::open(live)?.cut(old, modified)?;
                self.done(&operation, &facts)?;
            }
            Found::PartAndMore(part) => {
                let draft = live.draft(self)?;
                let replacement = Replacement::new(self, session, lock, live, draft);
                replace_without(replacement, part)?;
            }
        }
        note.remove();
        Ok(None)
    }
}

/// What an agent has written behind a part of ours stays, each line by itself.
fn replace_without(replacement: Replacement<'_>, part: Range<u64>) -> Result<(), StoreError> {
    let path = replacement.live.path.clone();
    let bytes = replacement.bytes()?;
    let rest = || Without {
        file: &bytes,
        at: 0,
        part: part.clone(),
    };
    let sha256 = hash(&mut rest()).naming("read", &path)?;
    let mut new = NewContent {
        reader: &mut rest(),
        sha256: &sha256,
        operation: OPERATION,
        kind: SnapshotKind::PreCompact,
        figures: Figures::default(),
    };
    replacement.commit(&mut new).map(drop)
}

/// A file without a part of it.
struct Without<'a> {
    file: &'a File,
    at: u64,
    part: Range<u64>,
}

impl Read for Without<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.contains(&self.at) {
            self.at = self.part.end;
        }
        let before = self.part.start.saturating_sub(self.at);
        let most = match usize::try_from(before) {
            Ok(before) if before > 0 => before.min(buffer.len()),
            _ => buffer.len(),
        };
        let count = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
