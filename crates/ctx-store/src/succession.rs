//! A session whose place new content takes, once that is made.

use std::fs::File;
use std::path::Path;

use crate::files::is_unchanged;
use crate::{
    Look, MinIdle, NewContent, ReplaceOutcome, Replacement, SessionId, Store, StoreError,
    refuse_replacement,
};

/// What becomes of lines that an agent appends to a session while a new one is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// They stand behind the new session, as they would have in the old one.
    Follows,
    /// Nothing may follow what is written: the session stays as it is.
    Stops,
}

/// A session whose place new content takes.
pub struct Succession<'s> {
    claim: Claim<'s>,
    growth: Growth,
}

/// How far the replacement has begun.
enum Claim<'s> {
    /// The new content is made of its bytes: it is locked, and they are copied.
    Input(Box<Replacement<'s>>),
    /// It has nothing to do with the new content, as far as we know. No lock is held while
    /// that is waited for; the file is replaced if it is as it was seen.
    Other {
        look: Box<Look>,
        session: SessionId,
        min_idle: MinIdle,
        store: &'s Store,
    },
}

impl Store {
    /// Of a session that the new content is made of; its bytes are in the file.
    pub fn succeed_input(
        &self,
        path: &Path,
        session: &SessionId,
        min_idle: MinIdle,
        growth: Growth,
    ) -> Result<(Succession<'_>, File), StoreError> {
        let mut replacement = self.begin_replacement(path, session, min_idle)?;
        if growth == Growth::Stops {
            replacement = replacement.unless_it_grows();
        }
        let bytes = replacement.bytes()?;
        let claim = Claim::Input(Box::new(replacement));
        Ok((Succession { claim, growth }, bytes))
    }

    /// Of a session that is no input, as far as we know, or in a dry run of one that is: nothing
    /// is locked. All that can be refused now is refused before the work, not after it. Where no
    /// session is named, it is the file's own.
    pub fn succeed_other(
        &self,
        path: &Path,
        session: Option<&SessionId>,
        min_idle: MinIdle,
    ) -> Result<Succession<'_>, StoreError> {
        refuse_replacement(path)?;
        let look = Box::new(Look::at(path)?);
        let session = session.map_or_else(|| SessionId::of_file(path), |it| Ok(it.clone()))?;
        look.refuse_unless_idle(self, &session, min_idle)?;
        let claim = Claim::Other {
            look,
            session,
            min_idle,
            store: self,
        };
        let growth = Growth::Stops;
        Ok(Succession { claim, growth })
    }
}

impl Succession<'_> {
    /// What becomes of lines that come meanwhile.
    pub fn growth(&self) -> Growth {
        self.growth
    }

    /// The new content takes the session's place; [`Replacement::commit_after`] explains `first`.
    pub fn commit_after<E>(
        self,
        new: &mut NewContent<'_>,
        first: impl FnOnce() -> Result<(), E>,
    ) -> Result<Result<ReplaceOutcome, E>, StoreError> {
        let replacement = match self.claim {
            Claim::Input(replacement) => *replacement,
            Claim::Other {
                look,
                session,
                min_idle,
                store,
            } => {
                let path = &look.live.path;
                let replacement = store.begin_replacement(path, &session, min_idle)?;
                // Also when it only grew.
                if !is_unchanged(&replacement.live.meta, &look.live.meta) {
                    return Err(StoreError::Changed(look.live.path.clone()));
                }
                replacement.unless_it_grows()
            }
        };
        replacement.commit_after(new, first)
    }
}
