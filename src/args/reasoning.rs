//! The flag for signed reasoning, which some models bind to all messages before it.

use ctx_policy::SignedReasoning;

/// The flag of all tools that change sessions.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct ReasoningArgs {
    /// How to treat invalid reasoning
    ///
    /// Claude Fable 5.1, Opus 5.5 and newer reject a session if a message before a signed block of
    /// reasoning has changed. This flag matters only for the formats `anthropic` and `pi`: other
    /// agents and APIs discard such blocks themselves.
    #[arg(long, value_enum, value_name = "HOW", default_value_t, help_heading = "What is kept")]
    pub signed_reasoning: SignedReasoning,
}
