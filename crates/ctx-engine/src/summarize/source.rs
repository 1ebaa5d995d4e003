//! Sources of a model's answers: a server, a recorded server, a recording.

use std::fmt;

use chrono::{DateTime, Utc};
use ctx_llm::{Client, Clock, Completion, LlmError, Tape, Usage};

/// The source of a model's answers.
pub enum ModelSource {
    /// A server.
    Server(Client),
    /// A server whose answers are recorded.
    Recorded(Client, Tape),
    /// Recorded answers.
    Replayed(Tape),
}

impl ModelSource {
    /// Asks; what a server took is added to `usage`.
    pub fn ask(
        &self,
        question: &ctx_llm::Question<'_>,
        now: fn() -> DateTime<Utc>,
        usage: &mut Usage,
    ) -> Result<Completion, LlmError> {
        let clock = Clock { now: &now, sleep: &std::thread::sleep };
        match self {
            Self::Server(client) => client.ask(question, clock, usage),
            Self::Recorded(client, tape) => {
                tape.record(question, || client.ask(question, clock, usage))
            }
            Self::Replayed(tape) => tape.replay(question),
        }
    }

    /// The window that the server reports, or reported when it was recorded.
    pub(super) fn window(&self) -> Result<Option<u64>, LlmError> {
        match self {
            Self::Server(client) => Ok(client.window()),
            Self::Recorded(client, tape) => tape.record_window(|| client.window()),
            Self::Replayed(tape) => Ok(tape.replay_window()),
        }
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(client) | Self::Recorded(client, _) => client.endpoint().fmt(f),
            Self::Replayed(tape) => tape.dir().display().fmt(f),
        }
    }
}
