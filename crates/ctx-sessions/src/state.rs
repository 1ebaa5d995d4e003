//! How full a session's window is, and whether a compaction is due.

use ctx_policy::trigger::{Step, Triggers};

use crate::content::Content;

/// What a list shows about a session in addition to its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Tokens of the window; `None` where the model is not known.
    pub(crate) window: Option<u64>,
    /// The step that is due, or `None` if it depends on an unknown window.
    pub(crate) step: Option<Step>,
}

impl State {
    /// The state by `triggers`. Their window precedes that of the session.
    pub(crate) fn of(content: &Content, triggers: &Triggers) -> Self {
        let window = triggers.window.or(content.recorded_window);
        let mut triggers = Triggers { window, ..*triggers };
        let needs_window = triggers.share.is_some() || triggers.reserve.is_some();
        let is_open = needs_window && window.is_none();
        if is_open {
            (triggers.share, triggers.reserve) = (None, None);
        }
        let due = triggers.check(&content.size());
        let is_answered = !is_open || due.step == Step::Compact || due.held_back.is_some();
        Self { window, step: is_answered.then_some(due.step) }
    }
}

#[cfg(test)]
mod tests {
    use ctx_policy::share::Share;
    use ctx_policy::trigger::{Step, Triggers};

    use super::State;
    use crate::Content;

    #[test]
    fn without_a_window_a_share_decides_nothing() {
        let of = |triggers: &Triggers, recorded_window| {
            let content =
                Content { messages: 90, context_tokens: 86, recorded_window, ..Content::default() };
            State::of(&content, triggers)
        };
        let share = Triggers { share: Some(Share::of_percent(80)), ..Triggers::default() };
        assert_eq!(of(&share, Some(100)).step, Some(Step::Compact));
        assert_eq!(of(&share, Some(200)).step, Some(Step::None));
        assert_eq!(of(&share, None).step, None);
        let messages = Triggers { messages: Some(80), ..share };
        assert_eq!(of(&messages, None).step, Some(Step::Compact));
        let window = Triggers { window: Some(100), ..share };
        assert_eq!(of(&window, Some(200)).window, Some(100));
    }
}
