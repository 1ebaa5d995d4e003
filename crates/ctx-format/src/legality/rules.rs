//! Represents an API's requirements for a sequence of messages as data, and pairs calls with
//! results.
//!
//! Each format states its own [`Rules`]. Only `Pairs` interprets the rules, so validation and
//! repair always agree on which result belongs to which call.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde::Deserialize;

use crate::{Outline, Role};

/// An API's requirements for a sequence of messages. The default requirements are the most lenient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// The name of the dialect, whose demands on the content of messages are in `rules.json`.
    pub dialect: &'static str,
    /// Where the API expects the results of a reply's calls.
    pub results: Results,
    /// Whether adjacent messages with the same role count as one message.
    pub merges_roles: bool,
    /// Whether system messages are separate from the sequence, so that they may come between a call
    /// and its result.
    pub system_apart: bool,
    /// Whether the first message that is not a system message must be from the user.
    pub user_first: bool,
    /// Whether no two calls in the session may have the same id.
    pub unique_ids: bool,
    /// The maximum number of blocks that mark the end of a cached prefix, if there is a maximum.
    pub cache_marks: Option<usize>,
}

/// Where the API expects the results of a reply's calls.
///
/// A record that contains both a call and its result lists neither in its outline, because nothing
/// can separate them. Examples are calls to Anthropic's server tools and all calls in the Gemini
/// CLI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Results {
    /// In separate messages directly after the reply, as in `chat`.
    BehindReply,
    /// In blocks at the beginning of the user message after the reply, as in `anthropic`.
    NextUserMessage,
    /// In separate messages at any position after the call, as in `responses`.
    #[default]
    Later,
}

impl Rules {
    /// Returns true if no call may have the id of a call before the message.
    pub(crate) fn keeps_ids(self, outline: &Outline<'_>) -> bool {
        // A reply can consist of several items.
        self.unique_ids || self.results == Results::Later && outline.role == Role::Assistant
    }

    /// Returns true if a session may begin with this message.
    pub fn may_begin_with(self, outline: &Outline<'_>) -> bool {
        let has_summary = outline.content.as_ref().is_some_and(|content| content.summary.is_some());
        let role = outline.role;
        !self.user_first || role == Role::User || role.is_system() || has_summary
    }
}

/// Uses call ids to pair calls with results in a sequence of messages. If several calls have the
/// same id, a result answers the nearest earlier reply with an open call that has this id. If that
/// reply has several such calls, the result answers the first. `T` is the type with which the
/// caller identifies a call.
#[derive(Clone, Default)]
pub(crate) struct Pairs<T> {
    rules: Rules,
    /// Whether a result can answer a call even if it follows other content in its message.
    pub(crate) late_results: bool,
    /// The calls without a result, in session order.
    waiting: BTreeMap<u64, OpenCall<T>>,
    /// The calls without a result, grouped by id and then by message, with the latest message last.
    by_id: HashMap<Arc<str>, Vec<SameId>, RandomState>,
    /// The number of calls so far.
    calls: u64,
    /// The number of references to items of earlier requests that may be calls.
    references: u64,
    /// Whether the waiting calls can still get a result.
    results_may_come: bool,
    messages: u64,
    turns: u64,
    last_role: Option<Role>,
}

#[derive(Clone)]
/// The numbers of waiting calls that are in the same message and have the same id.
struct SameId {
    message: u64,
    calls: VecDeque<u64>,
}

/// A call that has no result yet.
#[derive(Clone)]
pub(crate) struct OpenCall<T> {
    pub(crate) id: Arc<str>,
    pub(crate) call: T,
    turn: u64,
}

/// The effects of a message on earlier calls.
#[derive(Default)]
pub(crate) struct Step<T> {
    /// Whether the message ends the preceding exchange.
    pub(crate) ends_exchange: bool,
    /// The calls without a result in the exchange that has ended.
    pub(crate) unanswered: Vec<OpenCall<T>>,
    /// What each result in the message answers.
    pub(crate) answers: Vec<Answer<T>>,
}

/// What a result answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer<T> {
    Call(T),
    /// A call of an earlier request.
    Elsewhere,
    None,
}

impl<T: Copy + Default> Pairs<T> {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Adds the next message. `call` returns the caller's identifier for the call with the given
    /// index in the message.
    pub(crate) fn push(&mut self, outline: &Outline<'_>, call: impl Fn(usize) -> T) -> Step<T> {
        let mut step = Step::default();
        if self.rules.system_apart && outline.role.is_system() {
            return step;
        }
        let is_item = self.rules.results == Results::Later && self.last_role == Some(outline.role);
        self.messages += u64::from(!is_item && outline.begins_message());
        self.references += u64::from(outline.content.as_ref().is_some_and(|it| it.may_be_call));
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
            self.by_id.clear();
            step.unanswered = std::mem::take(&mut self.waiting).into_values().collect();
        }
        match self.rules.results {
            Results::NextUserMessage if is_reply => self.open(outline, call),
            Results::NextUserMessage => step.answers = self.answers_in_blocks(outline, continues),
            Results::BehindReply | Results::Later => {
                step.answers = self.answers(outline);
                self.open(outline, call);
            }
        }
        self.last_role = Some(outline.role);
        step
    }

    /// Returns the calls without a result: those that may still get one in a later message, and
    /// those that can no longer get one. The latter include the calls from earlier turns, because
    /// the agent continued without their results.
    pub(crate) fn finish(&mut self) -> (Vec<OpenCall<T>>, Vec<OpenCall<T>>) {
        let may_come = |call: &OpenCall<T>| self.results_may_come && call.turn == self.turns;
        std::mem::take(&mut self.waiting).into_values().partition(may_come)
    }

    fn open(&mut self, outline: &Outline<'_>, call: impl Fn(usize) -> T) {
        for (place, id) in outline.calls.iter().enumerate() {
            let id: Arc<str> = id.as_ref().into();
            let groups = self.by_id.entry(id.clone()).or_default();
            match groups.last_mut() {
                Some(last) if last.message == self.messages => last.calls.push_back(self.calls),
                _ => groups
                    .push(SameId { message: self.messages, calls: VecDeque::from([self.calls]) }),
            }
            let open = OpenCall { id, call: call(place), turn: self.turns };
            self.waiting.insert(self.calls, open);
            self.calls += 1;
        }
        self.results_may_come = true;
    }

    /// Pairs the results in a message with calls, for a format in which results are the first
    /// blocks of a message.
    fn answers_in_blocks(&mut self, outline: &Outline<'_>, continues: bool) -> Vec<Answer<T>> {
        if !continues {
            self.results_may_come = self.last_role != Some(Role::User);
        }
        self.results_may_come &= self.late_results || !outline.results_late;
        let answers = self.answers(outline);
        self.results_may_come &= !outline.has_content;
        answers
    }

    fn answers(&mut self, outline: &Outline<'_>) -> Vec<Answer<T>> {
        let answer = |id: &Cow<'_, str>| match self.answer(id, outline.answers_in_order) {
            Some(call) => Answer::Call(call),
            None if self.references > 0 => {
                self.references -= 1;
                Answer::Elsewhere
            }
            None => Answer::None,
        };
        outline.results.iter().map(answer).collect()
    }

    fn answer(&mut self, id: &str, in_order: bool) -> Option<T> {
        if !self.results_may_come {
            return None;
        }
        let is_by_id = !in_order || !id.is_empty() || self.by_id.contains_key(id);
        let next = self.waiting.values().next().filter(|_| !is_by_id).map(|call| call.id.clone());
        let id = next.as_deref().unwrap_or(id);
        let groups = self.by_id.get_mut(id)?;
        let nearest = groups.last_mut()?;
        let first = nearest.calls.pop_front()?;
        if nearest.calls.is_empty() {
            groups.pop();
        }
        if groups.is_empty() {
            self.by_id.remove(id);
        }
        self.waiting.remove(&first).map(|waiting| waiting.call)
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Pairs};
    use crate::dialect::{Chat, Dialect};
    use crate::rules::Rules;
    use crate::{Outline, Role};

    /// Creates an outline from a short text: `a` (assistant with calls), `t` (tool with results) or
    /// `u` (user), followed by the ids of the calls or results.
    fn outline(text: &str) -> Outline<'_> {
        let (role, ids) = text.split_at(1);
        let ids: Vec<_> = ids.split('.').skip(1).map(Into::into).collect();
        let (role, calls, results) = match role {
            "a" => (Role::Assistant, ids, vec![]),
            "t" => (Role::Tool, vec![], ids),
            _ => (Role::User, vec![], vec![]),
        };
        Outline { role, calls, results, begins_turn: role == Role::User, ..Outline::of_line() }
    }

    /// For each result, the message and index of the call that it answers, and then the messages of
    /// calls without a result.
    fn pairs(rules: Rules, messages: &[&str]) -> (Vec<Option<(usize, usize)>>, Vec<usize>) {
        let (mut answers, mut left) = (Vec::new(), Vec::new());
        let mut pairs = Pairs::new(rules);
        for (number, text) in messages.iter().enumerate() {
            let step = pairs.push(&outline(text), |place| (number, place));
            answers.extend(step.answers.into_iter().map(|answer| match answer {
                Answer::Call(call) => Some(call),
                _ => None,
            }));
            left.extend(step.unanswered.into_iter().map(|waiting| waiting.call.0));
        }
        let (_, unanswered) = pairs.finish();
        left.extend(unanswered.into_iter().map(|waiting| waiting.call.0));
        (answers, left)
    }

    #[test]
    fn calls_of_adjacent_replies_wait_together_where_they_are_one() {
        let rules = Rules { merges_roles: true, ..Chat.rules() };
        let messages = ["u", "a.x", "a.y", "t.y", "t.x", "a.z", "u"];
        let answers = vec![Some((2, 0)), Some((1, 0))];
        assert_eq!(pairs(rules, &messages), (answers, vec![5]));
        assert_eq!(pairs(Chat.rules(), &messages), (vec![Some((2, 0)), None], vec![1, 5]));
    }

    #[test]
    fn a_result_answers_the_nearest_reply_and_in_it_the_first_call() {
        let rules = Rules { merges_roles: true, ..Chat.rules() };
        let messages = ["a.x", "a.x.x", "t.x", "t.x", "t.x"];
        let answers = vec![Some((1, 0)), Some((1, 1)), Some((0, 0))];
        assert_eq!(pairs(rules, &messages), (answers, vec![]));
    }
}
