//! What else is measured while the sessions are read.

use ctx_transcript::Message;

use super::{Exam, Later};

/// Measures that see each message of both sessions.
#[derive(Default)]
pub struct Further {
    /// What was needed later.
    pub later: Option<Later>,
    /// Questions with their evidence.
    pub exam: Option<Exam>,
}

impl Further {
    pub(super) fn after(&mut self, message: &Message<'_>) {
        if let Some(later) = &mut self.later {
            later.after(message);
        }
        if let Some(exam) = &mut self.exam {
            exam.after(message);
        }
    }

    pub(super) fn before(&mut self, message: &Message<'_>) {
        if let Some(later) = &mut self.later {
            later.before(message);
        }
        if let Some(exam) = &mut self.exam {
            exam.before(message);
        }
    }
}
