//! The usage that the agent has recorded with its last reply. Agents trust that number more than
//! the messages: with the old one they would compact a pruned session as soon as it is opened.
//!
//! Claude Code adds the numbers of the last reply, Codex takes the total of its last event that
//! counts tokens, pi the total of the last reply that was not aborted (docs/agents.md).

use std::ops::RangeInclusive;

use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, Record, UsageOf};

use crate::counter::MessageCounter;
use crate::estimate::CalibrationPass;

/// Reads the records before pruning, and what is freed from each.
pub(super) struct PrunedUsage {
    usage: CalibrationPass,
    /// The line of each record that changes, and the tokens that it loses.
    freed: Vec<(u64, u64)>,
}

/// The new usage of the last reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewUsage {
    of: UsageOf,
    /// The lines that hold the usage.
    lines: RangeInclusive<u64>,
    prompt: u64,
    /// The tokens of prompt and reply before and after.
    pub(super) tokens: (u64, u64),
}

impl PrunedUsage {
    pub(super) fn new(counter: MessageCounter, dialect: &'static dyn Dialect) -> Self {
        Self { usage: CalibrationPass::new(counter, Some(dialect)), freed: Vec::new() }
    }

    /// The next record, its tokens if they are known, and how many of them are freed.
    pub(super) fn push(&mut self, record: &Record<'_>, tokens: Option<u64>, freed: u64) {
        self.usage.push(record, tokens);
        if freed > 0 {
            self.freed.push((record.line, freed));
        }
    }

    /// `None` if the request of the last reply does not change, or if a compaction follows the
    /// reply: agents do not use its usage then.
    pub(super) fn finish(self) -> Option<NewUsage> {
        let usage = self.usage.finish();
        let last = usage.last.as_ref()?;
        let was_sent = self.freed.iter().filter(|(line, _)| *line < last.begins);
        let freed = was_sent.map(|(_, tokens)| tokens).sum();
        let prompt = usage.without(freed)?;
        if prompt >= last.usage.prompt {
            return None;
        }
        Some(NewUsage {
            of: last.of,
            lines: last.lines.clone(),
            prompt,
            tokens: (last.usage.total(), prompt.saturating_add(last.usage.output)),
        })
    }
}

impl NewUsage {
    /// The bytes of `record` with the new usage; `None` if it does not hold the usage.
    pub(super) fn applied_to(&self, record: &Record<'_>, dialect: &dyn Dialect) -> Option<Vec<u8>> {
        let is_read = match record.presence {
            None | Some(Presence::Inside(_)) => true,
            Some(Presence::Outside(why)) => why == Outside::NeverSent,
        };
        if !is_read || !self.lines.contains(&record.line) {
            return None;
        }
        let object = record.whole_object()?;
        if dialect.usage(object)?.of != self.of {
            return None;
        }
        let edits = dialect.log()?.lessened(object, self.prompt);
        (!edits.is_empty()).then(|| record.edited(&edits))
    }
}
