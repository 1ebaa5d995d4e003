//! The flags that say when a compaction is due, the same in every tool.

use clap::Args;
use ctx_select::trigger::{DEFAULT_SHARE, Triggers};

use crate::counting::Counting;

/// Flags of every tool that decides whether a compaction is due.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct TriggerArgs {
    /// The limits.
    #[command(flatten)]
    pub triggers: Triggers,
    /// Due because the model refused the session: its window was full
    #[arg(long, help_heading = "Triggers")]
    pub overflow: bool,
}

impl TriggerArgs {
    /// Whether any of them was given.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// What the flags mean; without a limit it is a share of the window.
    pub fn resolve(&self, counting: &Counting) -> Triggers {
        let window = counting.model.map(|model| model.window);
        let mut triggers = self.triggers.with_model(window);
        if triggers.is_empty() {
            triggers.share = Some(DEFAULT_SHARE);
        }
        triggers.on_overflow = self.overflow;
        triggers
    }
}
