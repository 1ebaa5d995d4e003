//! Finds signed reasoning that is invalidated by a change to the session. Newer models bind each
//! block of reasoning to all messages before it. If any of those messages changes, the API rejects
//! or drops the block.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ctx_format::binding::{fate, without_reasoning};
use ctx_format::{Dialect, InvalidReasoning, Outline, Record, Role, counted};
use ctx_policy::SignedReasoning;

use crate::{ErrorKind, Notes, Result};

/// Finds the blocks of signed reasoning after the first changed or dropped message, and removes them
/// where the API would reject the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundReasoning {
    /// What to do with the blocks.
    pub(crate) action: SignedReasoning,
    /// Whether a message has been changed or dropped so far.
    pub(crate) changed: bool,
    /// Whether a block has been kept so far. If a later block is then dropped, there is a gap, which
    /// makes all blocks after it invalid.
    has_kept: bool,
    blocks: usize,
    removed: usize,
    /// How many blocks have been removed since the last request or final reply.
    removed_in_loop: usize,
    first_line: u64,
    /// The model in use at this point, if the session names it.
    model: Option<String>,
    models: BTreeSet<Option<String>>,
    fate: Option<InvalidReasoning>,
}

impl BoundReasoning {
    pub(crate) fn new(action: SignedReasoning) -> Self {
        Self { action, ..Self::default() }
    }

    /// Examines the next record, and returns its new bytes if it changes: none if nothing is left of
    /// it. `new` holds the new bytes before reasoning is removed. `changes` is true if anything other
    /// than the record's own reasoning changes.
    pub(crate) fn write(
        &mut self,
        record: &Record<'_>,
        new: Option<Vec<u8>>,
        dialect: &dyn Dialect,
        changes: bool,
    ) -> Option<Vec<u8>> {
        let left = self.without_bound(record, new.as_deref(), dialect);
        self.changed |= changes;
        left.or(new)
    }

    /// Notes that a record is dropped. `changes` is true if it has anything other than reasoning.
    pub(crate) fn skip(&mut self, changes: bool) {
        self.changed |= changes || self.has_kept;
    }

    fn without_bound(
        &mut self,
        record: &Record<'_>,
        new: Option<&[u8]>,
        dialect: &dyn Dialect,
    ) -> Option<Vec<u8>> {
        let object = record.whole_object().filter(|_| !record.is_outside())?;
        let stated = dialect.model(object).map(Cow::into_owned);
        let named = || record.model.as_deref().map(Into::into);
        self.model = stated.or(self.model.take()).or_else(named);
        if self.removed_in_loop > 0 && dialect.exchange(object).is_some_and(|it| ends_loop(&it)) {
            self.removed_in_loop = 0;
        }
        let before = dialect.sealed(object).reasoning;
        if before == 0 {
            return None;
        }
        let fate = fate(dialect, self.model.as_deref())?;
        let edited = new.map(|bytes| record.origin.clone().record(bytes));
        let record = edited.as_ref().unwrap_or(record);
        let object = record.whole_object()?;
        let blocks = dialect.sealed(object).reasoning;
        self.changed |= self.has_kept && blocks < before;
        self.has_kept |= !self.changed && blocks > 0;
        if !self.changed || blocks == 0 {
            return None;
        }
        if self.blocks == 0 {
            self.first_line = record.line;
        }
        self.blocks += blocks;
        self.models.insert(self.model.clone());
        self.fate = self.fate.or(Some(fate));
        if fate != InvalidReasoning::Rejected || self.action == SignedReasoning::Keep {
            return None;
        }
        self.removed += blocks;
        if dialect.exchange(object).is_some_and(|it| !ends_loop(&it)) {
            self.removed_in_loop += blocks;
        }
        without_reasoning(record, dialect)
    }

    /// Returns true if blocks were or must be removed.
    pub(crate) fn removes(&self) -> bool {
        self.removed > 0
    }

    /// Reports the blocks of signed reasoning that were found. Returns an error if blocks of an
    /// unfinished reply were removed: some models require them.
    pub(crate) fn finish(&self, notes: &mut Notes) -> Result<()> {
        if self.removed_in_loop > 0 && self.action == SignedReasoning::Auto {
            return Err(ErrorKind::OpenLoop.at(self.first_line));
        }
        if self.blocks == 0 {
            return Ok(());
        }
        let blocks = counted(self.blocks, "signed block");
        let name = |model: &Option<String>| {
            model.clone().unwrap_or_else(|| "an unrecorded model".to_owned())
        };
        let models = self.models.iter().map(name).collect::<Vec<_>>().join(", ");
        let (what, why) = match self.fate {
            _ if self.removed == self.blocks => {
                ("removed", "the API rejects it after a change to an earlier message")
            }
            Some(InvalidReasoning::RemovedByAgent) => (
                "kept",
                "if the API rejects it after the change, the agent sends the session without it",
            ),
            Some(InvalidReasoning::Ignored) => {
                ("kept", "GPT-6.2 and newer ignore it after a change to an earlier message")
            }
            _ => (
                "kept",
                "after the change, Claude Fable 5.1, Opus 5.5 and newer reject the session unless the request sets drop_block",
            ),
        };
        let text = format_args!("{what} {blocks} of reasoning by {models}: {why}");
        notes.warn_at(self.first_line, text);
        Ok(())
    }
}

/// Returns true if no tool loop is open after a message: it is a request or a final reply.
pub(crate) fn ends_loop(outline: &Outline<'_>) -> bool {
    outline.begins_turn || (outline.role == Role::Assistant && outline.calls.is_empty())
}
