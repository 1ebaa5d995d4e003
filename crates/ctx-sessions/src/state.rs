//! How full a session's window is, and whether a compaction is due.

use ctx_select::trigger::{Step, Triggers};

use crate::content::Content;

/// What a list shows of a session beside its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Tokens of the window; `None` where the model is not known.
    pub(crate) window: Option<u64>,
    /// What is due; `None` where that depends on a window that is not known.
    pub(crate) step: Option<Step>,
}

impl State {
    /// The state by `triggers`. The window is theirs, else the one that the file tells, else
    /// that of the model.
    pub(crate) fn of(content: &Content, triggers: &Triggers, model: Option<u64>) -> Self {
        let window = triggers.window.or(content.recorded_window).or(model);
        let mut triggers = Triggers {
            window,
            ..*triggers
        };
        let needs_window = triggers.share.is_some() || triggers.reserve.is_some();
        let is_open = needs_window && window.is_none();
        if is_open {
            (triggers.share, triggers.reserve) = (None, None);
        }
        let due = triggers.check(&content.size());
        let is_answered = !is_open || due.step == Step::Compact || due.held_back.is_some();
        Self {
            window,
            step: is_answered.then_some(due.step),
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::share::Share;
    use ctx_select::trigger::{Step, Triggers};

    use super::State;
    use crate::Content;

    fn step(content: &Content, triggers: Triggers, model: Option<u64>) -> Option<Step> {
        State::of(content, &triggers, model).step
    }

    #[test]
    fn the_window_is_the_flags_else_the_files_else_the_models() {
        let of = |flag, file| {
            let triggers = Triggers {
                window: flag,
                ..Triggers::default()
            };
            let content = Content {
                recorded_window: file,
                ..Content::default()
            };
            State::of(&content, &triggers, Some(3)).window
        };
        assert_eq!(of(Some(1), Some(2)), Some(1));
        assert_eq!(of(None, Some(2)), Some(2));
        assert_eq!(of(None, None), Some(3));
    }

    #[test]
    fn without_a_window_a_share_decides_nothing() {
        let content = Content {
            messages: 90,
            recorded: Some(85),
            estimated: 1,
            ..Content::default()
        };
        let share = Triggers {
            share: Some(Share::of_percent(80)),
            ..Triggers::default()
        };
        assert_eq!(step(&content, share, Some(100)), Some(Step::Compact));
        assert_eq!(step(&content, share, Some(200)), Some(Step::None));
        assert_eq!(step(&content, share, None), None);
        let messages = Triggers {
            messages: Some(80),
            ..share
        };
        assert_eq!(step(&content, messages, None), Some(Step::Compact));
    }
}
