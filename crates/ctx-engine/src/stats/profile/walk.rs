//! Follows the context of a session record by record: what each adds, and where it starts over.
//!
//! Records that a compaction replaced were in the context once, so they count until the summary
//! comes; abandoned branches and other agents never count.

use crate::counter::{MessageCounter, PRIMING};
use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, Message, Object, Outline, Record, Role};

use super::kind::{Counted, Kind, Kinds, count};

/// Reads the records of a session in their order.
pub(super) struct Walk {
    counter: MessageCounter,
    dialect: &'static dyn Dialect,
    /// The context after the last record.
    pub(super) context: Kinds,
    /// The part of it that the agent would still send at the end of the session.
    inside: Kinds,
}

/// An empty context: what primes the reply counts with the replies.
fn primed() -> Kinds {
    let mut kinds = Kinds::default();
    kinds.add(Kind::Assistant, PRIMING);
    kinds
}

/// A record of the context, current or earlier.
pub(super) struct Step<'r> {
    pub(super) message: Message<'r>,
    pub(super) is_summary: bool,
    /// Whether it is in the context at the end.
    pub(super) is_inside: bool,
    pub(super) counted: Counted,
    /// The context before, if it starts over with this record.
    pub(super) before: Option<Kinds>,
}

impl Walk {
    pub(super) fn new(counter: MessageCounter, dialect: &'static dyn Dialect) -> Self {
        Self { counter, dialect, context: primed(), inside: primed() }
    }

    /// What the agent would send at the end of the session.
    pub(super) fn finish(self) -> Kinds {
        // A session without a message is not primed for a reply.
        if self.inside == primed() {
            return Kinds::default();
        }
        self.inside
    }

    /// The next record; `None` for one that never was in the context.
    pub(super) fn push<'r>(&mut self, record: &Record<'r>) -> Option<Step<'r>> {
        let object = record.whole_object()?;
        let (is_inside, outline, message) = self.read(record, object)?;
        let is_summary = outline.is_summary || outline.role == Role::Other;
        let text = Kind::of_text(outline.role, is_summary);
        let counted = count(&self.counter, &message, text);
        let mut before = None;
        // In a list of messages nothing is left of what a summary replaces.
        if is_summary && record.presence.is_some() {
            before = Some(self.context);
            self.context = if is_inside { self.inside } else { primed() };
        }
        self.context += counted.kinds;
        if is_inside {
            self.inside += counted.kinds;
        }
        Some(Step { message, is_summary, is_inside, counted, before })
    }

    fn read<'r>(
        &self,
        record: &Record<'r>,
        object: &Object<'r>,
    ) -> Option<(bool, Outline<'r>, Message<'r>)> {
        let dialect = self.dialect;
        Some(match record.presence {
            None | Some(Presence::Inside(_)) => {
                (true, record.outline(Some(dialect))?, record.message(Some(dialect))?)
            }
            Some(Presence::Outside(Outside::BeforeCompaction)) => {
                (false, dialect.outline(object)?, dialect.message(object)?)
            }
            Some(Presence::Outside(_)) => return None,
        })
    }
}
