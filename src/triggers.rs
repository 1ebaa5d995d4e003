//! The flags that say when a compaction is due, the same in every tool.

use clap::Args;
use ctx_select::share::Share;
use ctx_select::trigger::{DEFAULT_SHARE, DEFAULT_WINDOW, Triggers};

use crate::counting::Counting;

/// Flags of every tool that decides whether a compaction is due.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct TriggerArgs {
    /// Due with more messages than N, system ones left out
    #[arg(long, value_name = "N", value_parser = ctx_cli::parse_count, help_heading = "Triggers")]
    pub trigger_messages: Option<u64>,
    /// Due with a context of more than N tokens
    #[arg(long, value_name = "N", value_parser = ctx_cli::parse_count, help_heading = "Triggers")]
    pub trigger_tokens: Option<u64>,
    /// Due with a context of more than this share of the window [default: 0.8]
    #[arg(long, value_name = "SHARE", help_heading = "Triggers")]
    pub trigger_share: Option<Share>,
    /// Due with more bytes of tool results than N
    #[arg(long, value_name = "N", value_parser = ctx_cli::parse_count, help_heading = "Triggers")]
    pub trigger_tool_bytes: Option<u64>,
    /// Due with more turns than N
    #[arg(long, value_name = "N", value_parser = ctx_cli::parse_count, help_heading = "Triggers")]
    pub trigger_turns: Option<u64>,
    /// Due when the context leaves fewer than N tokens of the window free
    #[arg(long, value_name = "N", value_parser = ctx_cli::parse_count, help_heading = "Triggers")]
    pub reserve: Option<u64>,
    /// Tokens of the window [default: the model's, else 128k]
    #[arg(long, value_name = "N", value_parser = ctx_cli::parse_count, help_heading = "Triggers")]
    pub window: Option<u64>,
    /// Due because the model refused the session: its window was full
    #[arg(long, help_heading = "Triggers")]
    pub overflow: bool,
    /// With fewer than N messages nothing but an overflow is due
    #[arg(long, value_name = "N", value_parser = ctx_cli::parse_count, help_heading = "Triggers")]
    pub min_messages: Option<u64>,
    /// Above this share of a limit a flush is due, to save what is needed
    #[arg(long, value_name = "SHARE", help_heading = "Triggers")]
    pub flush_share: Option<Share>,
}

impl TriggerArgs {
    /// Whether any of them was given.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// What the flags mean; without a limit it is a share of the window.
    pub fn resolve(&self, counting: &Counting) -> Triggers {
        let window = self.window.or(counting.model.map(|model| model.window));
        let mut triggers = Triggers {
            messages: self.trigger_messages,
            tokens: self.trigger_tokens,
            share: self.trigger_share,
            reserve: self.reserve,
            window: window.unwrap_or(DEFAULT_WINDOW),
            tool_bytes: self.trigger_tool_bytes,
            turns: self.trigger_turns,
            min_messages: self.min_messages,
            flush_share: self.flush_share,
            on_overflow: false,
        };
        if triggers.is_empty() {
            triggers.share = Some(DEFAULT_SHARE);
        }
        triggers.on_overflow = self.overflow;
        triggers
    }
}
