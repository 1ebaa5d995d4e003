//! Whether a record is in the context, and as what.

/// Whether a record is in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// In the context, as a message or as a fragment of one.
    Inside(Fragment),
    /// Not in the context.
    Outside(Outside),
}

/// What a record holds of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The number of the message in the context, from 0.
    pub message: u64,
    /// Whether the message begins with this record; else it continues it.
    pub begins: bool,
    /// Whether the message ends with this record; else others of the file follow.
    pub ends: bool,
}

/// Why a record is not in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outside {
    /// No model is ever sent it: progress, settings, a header.
    NeverSent,
    /// It is in the context of another agent, which this one had help it.
    OtherAgent,
    /// It is on a branch that was left.
    DeadBranch,
    /// A compaction stands for it.
    BeforeCompaction,
    /// A later record says it anew.
    Superseded,
}
