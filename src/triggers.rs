//! The flags that say when a compaction is due, the same in every tool.

use clap::Args;
use ctx_policy::Policy;
use ctx_select::trigger::{DEFAULT_SHARE, Triggers};

use crate::counting::Counting;

/// Flags of every tool that decides whether a compaction is due.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct TriggerArgs {
    /// The limits.
    #[command(flatten)]
    pub triggers: Triggers,
    /// Due because the model refused the session as too long
    #[arg(long, help_heading = "Policy")]
    pub overflow: bool,
}

impl TriggerArgs {
    /// Whether any of them was given.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// What the flags mean, and for what they leave out the policy, if there is one;
    /// without a limit it is a share of the window.
    pub fn resolve(&self, policy: Option<&Policy>, counting: &Counting) -> Triggers {
        if policy.is_some_and(|policy| !policy.enabled) {
            return Triggers::default();
        }
        let below = policy.map(|policy| policy.trigger).unwrap_or_default();
        let window = counting.model.map(|model| model.window);
        let mut triggers = self.triggers.or(below).with_model(window);
        if policy.is_none() && triggers.is_empty() {
            triggers.share = Some(DEFAULT_SHARE);
        }
        // Where the model refused nothing there is nothing to tell of it.
        triggers.on_overflow =
            self.overflow && policy.is_none_or(|policy| policy.trigger.on_overflow);
        triggers
    }
}
