//! Which result answers which call: the one place where [`Rules`] are interpreted.

use crate::rules::{PairBy, Results, Rules};
use crate::{Outline, Role};

/// Follows a sequence of messages. `T` is what the caller knows a call by.
pub(crate) struct Pairs<T> {
    rules: Rules,
    /// Whether results that stand behind other content of their message answer.
    late_results: bool,
    /// Calls without a result, in order.
    waiting: Vec<OpenCall<T>>,
    /// Whether results may still come for them.
    results_may_come: bool,
    messages: u64,
    turns: u64,
    last_role: Option<Role>,
}

/// A call that has no result yet.
pub(crate) struct OpenCall<T> {
    pub(crate) id: String,
    pub(crate) call: T,
    /// Its message, and the turn that it is in.
    message: u64,
    turn: u64,
}

/// What a message does to the calls before it.
pub(crate) struct Step<T> {
    /// Whether it ends the exchange before it.
    pub(crate) ends_exchange: bool,
    /// The calls of that exchange that got no result.
    pub(crate) unanswered: Vec<OpenCall<T>>,
    /// For each result of the message the call that it answers.
    pub(crate) answers: Vec<Option<T>>,
}

/// What is left at the end.
pub(crate) struct End<T> {
    /// Calls that can get no result any more.
    pub(crate) unanswered: Vec<OpenCall<T>>,
    /// Calls whose results may still come, if more messages do.
    pub(crate) open: Vec<OpenCall<T>>,
}

impl<T: Copy> Pairs<T> {
    /// Nothing seen yet.
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            late_results: false,
            waiting: Vec::new(),
            results_may_come: false,
            messages: 0,
            turns: 0,
            last_role: None,
        }
    }

    /// As [`Self::new`] for one who will put the results of a message first: they
    /// answer although other content stands before them.
    pub(crate) fn with_late_results(rules: Rules) -> Self {
        Self {
            late_results: true,
            ..Self::new(rules)
        }
    }

    /// The next message; `call` gives what its calls are known by, in their order.
    pub(crate) fn push(&mut self, outline: &Outline<'_>, call: impl Fn(usize) -> T) -> Step<T> {
        let mut step = Step {
            ends_exchange: false,
            unanswered: Vec::new(),
            answers: Vec::new(),
        };
        if self.rules.system_apart && outline.role.is_system() {
            return step;
        }
        self.messages += 1;
        self.turns += u64::from(outline.begins_turn);
        let is_reply = outline.role == Role::Assistant;
        let is_same_role = self.rules.merges_roles && self.last_role == Some(outline.role);
        let continues = is_same_role || !outline.begins_message();
        step.ends_exchange = match self.rules.results {
            Results::BehindReply => outline.results.is_empty() && !(is_reply && continues),
            Results::NextUserMessage => is_reply && !continues,
            Results::Later => false,
        };
        if step.ends_exchange {
            step.unanswered = std::mem::take(&mut self.waiting);
        }
        match self.rules.results {
            Results::NextUserMessage if is_reply => self.open(outline, call),
            Results::NextUserMessage => step.answers = self.blocks(outline, continues),
            Results::BehindReply | Results::Later => {
                step.answers = self.answers(outline);
                self.open(outline, call);
            }
        }
        self.last_role = Some(outline.role);
        step
    }

    /// What is left. A call of an earlier turn waits for nothing: the agent that made
    /// it went on without.
    pub(crate) fn finish(&mut self) -> End<T> {
        let waiting = std::mem::take(&mut self.waiting);
        let may_come = |waiting: &OpenCall<T>| self.results_may_come && waiting.turn == self.turns;
        let (open, unanswered) = waiting.into_iter().partition(may_come);
        End { unanswered, open }
    }

    fn open(&mut self, outline: &Outline<'_>, call: impl Fn(usize) -> T) {
        let calls = outline.calls.iter().enumerate();
        self.waiting.extend(calls.map(|(place, id)| OpenCall {
            id: id.clone().into_owned(),
            call: call(place),
            message: self.messages,
            turn: self.turns,
        }));
        self.results_may_come = true;
    }

    /// The results of a message that holds them as blocks, before anything else.
    fn blocks(&mut self, outline: &Outline<'_>, continues: bool) -> Vec<Option<T>> {
        if !continues {
            self.results_may_come = self.last_role != Some(Role::User);
        }
        self.results_may_come &= self.late_results || !outline.results_late;
        let answers = self.answers(outline);
        self.results_may_come &= !outline.has_content;
        answers
    }

    fn answers(&mut self, outline: &Outline<'_>) -> Vec<Option<T>> {
        let results = outline.results.iter();
        results.map(|id| self.answer(id)).collect()
    }

    fn answer(&mut self, id: &str) -> Option<T> {
        if !self.results_may_come {
            return None;
        }
        let at = match self.rules.pair_by {
            PairBy::Order => 0,
            // The nearest earlier reply, since ids may come again, and in it the first.
            PairBy::Id => {
                let last = self.waiting.iter().rfind(|waiting| waiting.id == id)?;
                let message = last.message;
                let is_it = |waiting: &OpenCall<T>| waiting.message == message && waiting.id == id;
                self.waiting.iter().position(is_it)?
            }
        };
        (at < self.waiting.len()).then(|| self.waiting.remove(at).call)
    }
}

#[cfg(test)]
mod tests {
    use super::Pairs;
    use crate::dialect::{Chat, Dialect};
    use crate::rules::{PairBy, Rules};
    use crate::{Outline, Role};

    /// `a`ssistant with calls, `t`ool with results, `u`ser; ids follow.
    fn outline(text: &str) -> Outline<'_> {
        let (role, ids) = text.split_at(1);
        let ids: Vec<_> = ids.split('.').skip(1).map(Into::into).collect();
        let (role, calls, results) = match role {
            "a" => (Role::Assistant, ids, vec![]),
            "t" => (Role::Tool, vec![], ids),
            _ => (Role::User, vec![], vec![]),
        };
        Outline {
            role,
            calls,
            results,
            begins_turn: role == Role::User,
            ..Outline::of_line()
        }
    }

    /// Which call each result answers, by message and place, and which calls are left.
    fn pairs(rules: Rules, messages: &[&str]) -> (Vec<Option<(usize, usize)>>, Vec<usize>) {
        let (mut answers, mut left) = (Vec::new(), Vec::new());
        let mut pairs = Pairs::new(rules);
        for (number, text) in messages.iter().enumerate() {
            let step = pairs.push(&outline(text), |place| (number, place));
            answers.extend(step.answers);
            left.extend(step.unanswered.into_iter().map(|waiting| waiting.call.0));
        }
        let end = pairs.finish();
        left.extend(end.unanswered.into_iter().map(|waiting| waiting.call.0));
        (answers, left)
    }

    #[test]
    fn without_ids_the_order_pairs() {
        let rules = Rules {
            pair_by: PairBy::Order,
            ..Chat.rules()
        };
        let messages = ["u", "a..", "t.", "t.", "t.", "a.", "u", "t."];
        let answers = vec![Some((1, 0)), Some((1, 1)), None, None];
        assert_eq!(pairs(rules, &messages), (answers, vec![5]));
    }

    #[test]
    fn calls_of_adjacent_replies_wait_together_where_they_are_one() {
        let rules = Rules {
            merges_roles: true,
            ..Chat.rules()
        };
        let messages = ["u", "a.x", "a.y", "t.y", "t.x", "a.z", "u"];
        let answers = vec![Some((2, 0)), Some((1, 0))];
        assert_eq!(pairs(rules, &messages), (answers, vec![5]));
        assert_eq!(
            pairs(Chat.rules(), &messages),
            (vec![Some((2, 0)), None], vec![1, 5])
        );
    }

    #[test]
    fn a_result_answers_the_nearest_reply_and_in_it_the_first_call() {
        let rules = Rules {
            merges_roles: true,
            ..Chat.rules()
        };
        let messages = ["a.x", "a.x.x", "t.x", "t.x", "t.x"];
        let answers = vec![Some((1, 0)), Some((1, 1)), Some((0, 0))];
        assert_eq!(pairs(rules, &messages), (answers, vec![]));
    }
}
