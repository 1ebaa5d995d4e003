//! What a model is asked, and what it answers.

use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What the model shall do.
    pub instructions: &'a str,
    /// With what.
    pub text: &'a str,
    /// The answer is no longer.
    pub max_tokens: u64,
    /// Which of how many questions it is, as far as that is known; from 1.
    pub part: (usize, usize),
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Completion {
    /// Trimmed, never empty.
    pub text: String,
    /// The model reached `max_tokens`: the end is missing.
    pub cut: bool,
}
