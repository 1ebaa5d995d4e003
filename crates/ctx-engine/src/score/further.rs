//! Additional measures during the reading of the sessions.

use ctx_format::Message;

use super::{Exam, Later};

/// Measures that see each message of both sessions.
#[derive(Default)]
pub struct Further {
    /// Values needed later.
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
