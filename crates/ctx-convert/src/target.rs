//! The dialects that can be written.

mod anthropic;
mod chat;
mod claude_code;
mod codex;
mod gemini;
mod items;
mod notes;
mod pi;
mod responses;

use ctx_transcript::Dialect;

pub(crate) use notes::Notes;

use crate::session::Session;
use crate::turn::Turn;

/// A dialect that is written.
pub(crate) trait Target {
    /// What stands before all messages.
    fn begin(&mut self) -> Vec<Line> {
        Vec::new()
    }

    /// The records that say these turns, which belong together.
    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line>;

    /// What is left when nothing more comes.
    fn end(&mut self) -> Vec<Line> {
        Vec::new()
    }
}

/// A record to be written.
pub(crate) struct Line {
    /// A JSON object, on one line.
    pub(crate) json: String,
    /// The places of the records that it is made of among those of the unit.
    pub(crate) origins: Vec<usize>,
    /// Whether it has no place of its own for the time.
    pub(crate) wants_time: bool,
}

impl Line {
    /// A message of a linear dialect.
    pub(crate) fn of_message(json: String, origins: &[usize]) -> Self {
        Self {
            json,
            origins: origins.to_vec(),
            wants_time: true,
        }
    }

    /// A line of an agent.
    fn of_log(json: String, origins: &[usize]) -> Self {
        Self {
            json,
            origins: origins.to_vec(),
            wants_time: false,
        }
    }
}

/// What writes `dialect`.
pub(crate) fn of(dialect: &dyn Dialect, session: Session) -> Box<dyn Target> {
    match dialect.name() {
        "anthropic" => Box::new(anthropic::Writer),
        "responses" => Box::new(responses::Writer),
        "claude-code" => Box::new(claude_code::Writer::new(session)),
        "codex" => Box::new(codex::Writer::new(session)),
        "gemini" => Box::new(gemini::Writer::new(session)),
        "pi" => Box::new(pi::Writer::new(session)),
        _ => Box::new(chat::Writer),
    }
}
