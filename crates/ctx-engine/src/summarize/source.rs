//! Where a model's answers come from, and how large the model's context window is.

use std::cell::OnceCell;

use chrono::{DateTime, Utc};
use ctx_llm::{Client, Clock, Completion, LlmError, Tape, Usage};

use crate::Notes;

/// The source of a model's answers, shown as its address or its folder.
#[derive(derive_more::Display)]
pub enum ModelSource {
    /// A server that is asked for each answer.
    #[display("{}", &_0.settings.endpoint)]
    Server(Client),
    /// A server whose answers are also recorded on a tape.
    #[display("{}", &_0.settings.endpoint)]
    Recorded(Client, Tape),
    /// A tape of answers that were recorded earlier. No server is asked.
    #[display("{}", _0.dir.display())]
    Replayed(Tape),
}

impl ModelSource {
    /// Asks the model and adds the cost to `usage`.
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

    /// Asks the named model from now on, if the server lists it, and then returns its name.
    pub fn choose<'n>(&mut self, name: &'n str) -> Result<Option<&'n str>, LlmError> {
        let listed = match self {
            Self::Server(client) => client.choose(name),
            Self::Recorded(client, tape) => tape.record_model(name, || client.choose(name))?,
            Self::Replayed(tape) => tape.replay_model(name),
        };
        Ok(listed.then_some(name))
    }

    /// Returns the context window that the server reports. With recorded answers, the window is the
    /// one reported at the time of recording.
    fn window(&self) -> Result<Option<u64>, LlmError> {
        match self {
            Self::Server(client) => Ok(client.window()),
            Self::Recorded(client, tape) => tape.record_window(|| client.window()),
            Self::Replayed(tape) => Ok(tape.replay_window()),
        }
    }
}

/// A model's context window: the limit for its input and output together, in tokens.
#[derive(Debug)]
pub struct Window {
    /// The window given by the user or, failing that, the one in our list of models.
    listed: Option<u64>,
    /// Whether the server may use a window that differs from `listed`.
    may_differ: bool,
    /// The window reported by the server, which is asked at most once.
    told: OnceCell<Option<u64>>,
}

/// The minimum window, in tokens, of practically all models. A request that fits is sent without
/// asking the server for the model's window.
const SHORTEST: u64 = 4_096;
/// The window assumed for unknown models.
const GUESS: u64 = 32_000;

impl Window {
    /// Creates the window from `said`, the user's value, or from our entry for the named model. The
    /// server may have to be asked as well: it can run a model with public weights in a smaller
    /// window, and only the server knows the window of an unlisted model.
    pub fn of_model(said: Option<u64>, name: Option<&str>) -> Self {
        let model = name.and_then(ctx_tokens::model);
        Self {
            listed: said.or(model.map(|model| model.window)),
            may_differ: said.is_none() && model.is_none_or(|model| model.open),
            told: OnceCell::new(),
        }
    }

    /// Returns the window to use for a request of `needed` tokens. Asks the server at most once,
    /// and only if the answer matters.
    pub fn tokens(
        &self,
        source: &ModelSource,
        needed: u64,
        notes: &mut Notes,
    ) -> Result<u64, LlmError> {
        let listed = self.listed;
        let told = match self.told.get() {
            Some(told) => *told,
            None if !self.may_differ || needed <= SHORTEST => return Ok(listed.unwrap_or(GUESS)),
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

/// Adds a note that the window is unknown. The note is a warning if the request may not fit into
/// the assumed window.
fn tell_guess(needed: u64, notes: &mut Notes) {
    let what = format!(
        "the model's window is unknown and assumed to be {GUESS} tokens; set it with --llm-window"
    );
    if needed > GUESS - GUESS / 10 {
        notes.warn(what);
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

    /// Returns the window for a request of this size, the number of times the server was asked, and
    /// the notes.
    fn tokens(window: &Window, needed: u64, acts: Vec<Act>) -> (u64, usize, Vec<String>) {
        let (model, server) = acting_model(acts);
        let mut notes = Notes::default();
        let found = window.tokens(&model.source, needed, &mut notes);
        // The server is not asked again.
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
        let known = || Window::of_model(Some(5_000), None);
        let unknown = || Window::of_model(None, None);
        let at_most = || Window { listed: Some(50_000), ..unknown() };
        for (window, needed, acts, expected) in [
            (known(), 90_000, told(), (5_000, 0)),
            (unknown(), 4_000, told(), (32_000, 0)),
            (unknown(), 5_000, told(), (9_000, 1)),
            (at_most(), 4_000, told(), (50_000, 0)),
            (at_most(), 5_000, told(), (9_000, 1)),
            (at_most(), 5_000, silent(), (50_000, 1)),
        ] {
            let (tokens, asked, notes) = tokens(&window, needed, acts);
            assert_eq!(((tokens, asked), notes), (expected, none.clone()), "{window:?}");
        }
        let guess = "the model's window is unknown and assumed to be 32000 tokens; set it with --llm-window";
        let (tokens, asked, notes) = tokens(&unknown(), 5_000, silent());
        assert_eq!((tokens, asked, notes), (32_000, 1, vec![guess.to_owned()]));
    }
}
