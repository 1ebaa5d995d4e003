//! The decisions about all records, from their facts alone.

use ctx_transcript::Role;

use super::facts::Reasoning;
use super::note::note;
use super::policy::Policy;
use super::repeated::Later;
use super::session::{Said, Session};
use super::sparse::compact;
use super::verdict::{Reason, Rule};
use super::window;
use crate::count::MessageCounter;

/// What was decided.
#[derive(Debug)]
pub(super) struct Decisions {
    /// About each record.
    pub(super) fates: Vec<Fate>,
    /// About each answer.
    pub(super) changes: Vec<Change>,
}

/// What happens to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    Drop(Rule),
    /// Some of its answers change, or more.
    Change {
        reasoning: bool,
        arguments: bool,
    },
}

/// What happens to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// A note takes its place, of so many tokens.
    Note(Reason, u32),
    /// Noise goes and what is long is trimmed.
    Reduce,
}

/// Decides.
struct Decider<'s> {
    session: &'s Session,
    policy: &'s Policy,
    counter: &'s MessageCounter,
    /// What is before the window.
    dropped: Vec<bool>,
    /// The first record of those at the end that stay as they are.
    protected_from: usize,
}

impl Decisions {
    /// What a policy makes of a session.
    pub(super) fn of(session: &Session, policy: &Policy, counter: &MessageCounter) -> Self {
        let decider = Decider {
            session,
            policy,
            counter,
            dropped: window::dropped(session, policy.user_first),
            protected_from: protected_from(session, policy.protect_last),
        };
        let changes = decider.changes();
        Self {
            fates: decider.fates(&changes),
            changes,
        }
    }
}

/// The first of the last assistant messages that are protected; with fewer of
/// them nothing may change.
fn protected_from(session: &Session, replies: usize) -> usize {
    let Some(before) = replies.checked_sub(1) else {
        return session.records.len();
    };
    let is_reply = |index: &usize| {
        let said = session.said(*index);
        said.is_some_and(|said| said.role == Role::Assistant && said.begins_message)
    };
    let last_first = (0..session.records.len()).rev();
    last_first.filter(is_reply).nth(before).unwrap_or(0)
}

impl Decider<'_> {
    /// The message of a record that may change.
    fn free(&self, record: usize) -> Option<&Said> {
        let said = self.session.said(record)?;
        let stays = said.fixed || said.role.is_system() || record >= self.protected_from;
        (!stays).then_some(said)
    }

    /// What happens to each answer.
    fn changes(&self) -> Vec<Change> {
        let mut changes = vec![Change::None; self.session.answers.len()];
        let mut later = Later::new(self.session, self.policy);
        for record in (0..self.session.records.len()).rev() {
            if self.dropped[record] {
                continue;
            }
            let free = self.free(record).is_some();
            for answer in self.session.answers_of(record).rev() {
                let may_change = free && self.may_change(answer);
                let reasons = if may_change {
                    let [superseded, repeated] = later.reasons(answer);
                    let old = self.policy.clear.is_some().then_some(Reason::Old);
                    [superseded, repeated, old]
                } else {
                    [None; 3]
                };
                later.add(answer, reasons == [None; 3]);
                if may_change {
                    changes[answer] = self.change(answer, reasons);
                }
            }
        }
        changes
    }

    fn may_change(&self, answer: usize) -> bool {
        let answer = &self.session.answers[answer];
        let tool = || answer.tool.map(|tool| self.session.tools[tool].as_str());
        answer.is_text && !answer.fixed && self.policy.tools.allows(tool())
    }

    /// The first that makes it smaller.
    fn change(&self, answer: usize, reasons: [Option<Reason>; 3]) -> Change {
        let text = self.session.text(answer);
        let noted = reasons.into_iter().flatten().find_map(|reason| {
            let note = note(self.session, self.policy, answer, reason);
            let shorter = text.by(&note, self.counter)?;
            Some(Change::Note(reason, compact(shorter.tokens)))
        });
        noted.unwrap_or_else(|| match self.session.reduced(answer) {
            Some(_) => Change::Reduce,
            None => Change::None,
        })
    }

    fn fates(&self, changes: &[Change]) -> Vec<Fate> {
        let records = 0..self.session.records.len();
        let begins_turn = |record: &usize| {
            let said = self.session.said(*record);
            said.is_some_and(|said| said.begins_turn)
        };
        let latest_turn = records.clone().rfind(begins_turn);
        let first = self.first_said();
        let fate = |record: usize| {
            if self.dropped[record] {
                return Fate::Drop(Rule::Window);
            }
            let Some(said) = self.free(record) else {
                return Fate::Keep;
            };
            let reasoning = self.policy.drops(Rule::Reasoning)
                && said.reasoning != Reasoning::No
                && latest_turn.is_some_and(|turn| record < turn);
            let is_empty = said.reasoning == Reasoning::Only && reasoning;
            if is_empty || (said.empty && self.policy.drops(Rule::Empty)) {
                return if first == Some(record) {
                    Fate::Keep
                } else {
                    Fate::Drop(Rule::Empty)
                };
            }
            let arguments = self.policy.argument_chars.is_some()
                && self.session.arguments.get(record).is_some();
            let mut changes = changes[self.session.answers_of(record)].iter();
            if reasoning || arguments || changes.any(|change| *change != Change::None) {
                Fate::Change {
                    reasoning,
                    arguments,
                }
            } else {
                Fate::Keep
            }
        };
        records.map(fate).collect()
    }

    /// The first message of the conversation: it decides whether the API takes it.
    fn first_said(&self) -> Option<usize> {
        let records = self.session.records.iter().zip(&self.dropped);
        records.into_iter().position(|(record, dropped)| {
            !dropped && record.role().is_some_and(|role| !role.is_system())
        })
    }
}
