//! The window of a model, as given, listed, reported by its server, or guessed.

use std::cell::OnceCell;

use ctx_llm::LlmError;

use super::ModelSource;
use crate::Notes;

/// Input and output of a model together, in tokens.
#[derive(Debug)]
pub struct Window {
    listed: Listed,
    /// The server's answer, requested once.
    told: OnceCell<Option<u64>>,
}

/// What is known about it in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Known(u64),
    AtMost(u64),
    Unknown,
}

/// Hardly anybody has a shorter window, so that what fits into it needs no answer.
const SHORTEST: u64 = 4_096;
/// The assumed window of an unknown model.
const GUESS: u64 = 32_000;

impl Window {
    /// A known window.
    pub fn known(tokens: u64) -> Self {
        Self::of(Listed::Known(tokens))
    }

    /// A known window, unless the server gives the model less.
    pub fn at_most(tokens: u64) -> Self {
        Self::of(Listed::AtMost(tokens))
    }

    /// Only the server may know.
    pub fn unknown() -> Self {
        Self::of(Listed::Unknown)
    }

    /// The given window, else the listed one of the named model. If its weights are public, a
    /// server may give it less.
    pub fn of_model(said: Option<u64>, name: Option<&str>) -> Self {
        match (said, name.and_then(ctx_tokens::model)) {
            (Some(tokens), _) => Self::known(tokens),
            (None, Some(model)) if model.open => Self::at_most(model.window),
            (None, Some(model)) => Self::known(model.window),
            (None, None) => Self::unknown(),
        }
    }

    fn of(listed: Listed) -> Self {
        Self { listed, told: OnceCell::new() }
    }

    /// The tokens, for a question of `needed` tokens. A server is asked only where that
    /// matters, and once.
    pub fn tokens(
        &self,
        source: &ModelSource,
        needed: u64,
        notes: &mut Notes,
    ) -> Result<u64, LlmError> {
        let listed = match self.listed {
            Listed::Known(tokens) => return Ok(tokens),
            Listed::AtMost(tokens) => Some(tokens),
            Listed::Unknown => None,
        };
        let told = match self.told.get() {
            Some(told) => *told,
            None if needed <= SHORTEST => return Ok(listed.unwrap_or(GUESS)),
            None => {
                let told = source.window()?;
                if told.or(listed).is_none() {
                    tell_guess(needed, notes);
                }
                *self.told.get_or_init(|| told)
            }
        };
        Ok(told.or(listed).unwrap_or(GUESS))
    }
}

/// Notes that the window is unknown, with a warning if more would fit into a larger one.
fn tell_guess(needed: u64, notes: &mut Notes) {
    let what = format!(
        "the model's window is not known: {GUESS} tokens are a guess; --llm-window says it"
    );
    if needed > GUESS - GUESS / 10 {
        notes.warn(&[], what);
    } else {
        notes.info(what);
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::Act;

    use super::super::fixtures::{acting_model, texts};
    use super::Window;
    use crate::Notes;

    /// The tokens for those that are needed, how often the server was asked, and the notes.
    fn tokens(window: &Window, needed: u64, acts: Vec<Act>) -> (u64, usize, Vec<String>) {
        let (model, server) = acting_model(acts);
        let mut notes = Notes::new();
        let found = window.tokens(&model.source, needed, &mut notes);
        // Not again.
        let again = window.tokens(&model.source, needed, &mut notes);
        assert_eq!(found, again);
        let asked = server.requests().len();
        (found.expect("no tape"), asked, texts(&mut notes))
    }

    fn says(entry: &str) -> Vec<Act> {
        vec![Act::ok(&format!(r#"{{"data":[{{"id":"m",{entry}}}]}}"#))]
    }

    #[test]
    fn a_server_is_asked_only_where_its_answer_matters() {
        let silent = || vec![Act::answer("404 Not Found", "", "")];
        let told = || says(r#""max_model_len":9000"#);
        let none: Vec<String> = Vec::new();
        for (window, needed, acts, expected) in [
            (Window::known(5_000), 90_000, told(), (5_000, 0)),
            (Window::unknown(), 4_000, told(), (32_000, 0)),
            (Window::unknown(), 5_000, told(), (9_000, 1)),
            (Window::at_most(50_000), 4_000, told(), (50_000, 0)),
            (Window::at_most(50_000), 5_000, told(), (9_000, 1)),
            (Window::at_most(50_000), 5_000, silent(), (50_000, 1)),
        ] {
            let (tokens, asked, notes) = tokens(&window, needed, acts);
            assert_eq!(((tokens, asked), notes), (expected, none.clone()), "{window:?}");
        }
        let guess =
            "the model's window is not known: 32000 tokens are a guess; --llm-window says it";
        let (tokens, asked, notes) = tokens(&Window::unknown(), 5_000, silent());
        assert_eq!((tokens, asked, notes), (32_000, 1, vec![guess.to_owned()]));
    }
}
