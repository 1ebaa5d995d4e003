//! How much of the end of a session is kept: settings of a policy, most of which are also flags.

use serde::{Deserialize, Serialize};

use crate::share::Share;

/// How much of the end is kept at least. If several are set, everything that one of them keeps is
/// kept. If none is set, only pins and the latest user message are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "What is kept"))]
pub struct Keep {
    /// Keep the last N messages, not counting system messages
    #[cfg_attr(feature = "clap", arg(id = "keep_messages", long = "keep-messages", value_name = "N", value_parser = crate::parse_count))]
    pub messages: Option<u64>,
    /// Keep the last N turns: a user message and all up to the next
    #[cfg_attr(feature = "clap", arg(id = "keep_turns", long = "keep-turns", value_name = "N", value_parser = crate::parse_count))]
    pub turns: Option<u64>,
    /// Keep the last messages that hold N tokens or more
    #[cfg_attr(feature = "clap", arg(id = "keep_tokens", long = "keep-tokens", value_name = "N", value_parser = crate::parse_count))]
    pub tokens: Option<u64>,
    /// Keep the last messages that fill this share of what the target leaves to the messages
    #[cfg_attr(feature = "clap", arg(skip))]
    pub recent_share: Option<Share>,
}

impl Keep {
    /// Whether any of them is set.
    pub fn is_some(&self) -> bool {
        *self != Self::default()
    }
}
