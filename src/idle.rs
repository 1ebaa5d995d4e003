//! How long a session has to be left alone before a tool changes it.

use clap::Args;
use ctx_select::duration::FixedSpan;
use ctx_store::MinIdle;

/// The flag of every tool that may replace a session file.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct IdleArgs {
    /// Refuse files changed within DURATION [default: 10m for agents' files]
    ///
    /// An agent keeps its history in memory while it runs, and does not see what is changed in
    /// its file. What a tool wrote last does not count. The units are w, d, h, min (or m), s
    /// and ms.
    #[arg(long, value_name = "DURATION", help_heading = "Store")]
    min_idle: Option<FixedSpan>,
}

impl IdleArgs {
    /// What was asked for.
    pub fn get(self) -> MinIdle {
        MinIdle(self.min_idle.map(|FixedSpan(asked)| asked))
    }
}
