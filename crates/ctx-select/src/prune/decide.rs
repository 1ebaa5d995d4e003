//! The decisions about all records, from their facts alone.

use std::cell::OnceCell;

use ctx_transcript::Role;

use super::notes::{Later, Reasons};
use super::policy::{Policy, Questions};
use super::rule::Rule;
use super::session::{Amount, Answer, Change, Said, Session};
use super::window;
use crate::count::MessageCounter;

/// What was decided.
#[derive(Debug)]
pub(super) struct Decisions {
    /// About each record.
    pub(super) fates: Vec<Fate>,
    /// About each answer.
    pub(super) changes: Vec<Option<Change>>,
    /// The first record of those at the end that stay as they are.
    pub(super) protected_from: usize,
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

/// Decides.
struct Decider<'s> {
    session: &'s Session,
    policy: &'s Policy,
    counter: MessageCounter,
    /// What is before the window, where there is one.
    dropped: Vec<bool>,
    /// The first record of those at the end that stay as they are.
    protected_from: usize,
}

impl Decisions {
    /// What a policy makes of a session.
    pub(super) fn of(session: &Session, questions: &Questions<'_>) -> Self {
        let Questions {
            policy, counter, ..
        } = *questions;
        let decider = Decider {
            session,
            policy,
            counter,
            dropped: window::dropped(session, policy),
            protected_from: protected_from(session, policy.protect_last),
        };
        let changes = decider.changes();
        Self {
            fates: decider.fates(&changes),
            changes,
            protected_from: decider.protected_from,
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
    /// Whether a record is before the window.
    fn is_dropped(&self, record: usize) -> bool {
        self.dropped.get(record).is_some_and(|dropped| *dropped)
    }

    /// The message of a record that may change.
    fn free(&self, record: usize) -> Option<Said> {
        let said = self.session.said(record)?;
        let stays = said.fixed || said.role.is_system() || record >= self.protected_from;
        (!stays).then_some(said)
    }

    /// What happens to each answer.
    fn changes(&self) -> Vec<Option<Change>> {
        let mut changes = vec![None; self.session.answers.len()];
        let mut later = Later::new(self.session, self.policy);
        for record in (0..self.session.records.len()).rev() {
            if self.is_dropped(record) {
                continue;
            }
            let free = self.free(record).is_some();
            for answer in self.session.answers_of(record).rev() {
                let may_change = free && self.may_change(answer);
                let reasons = if may_change {
                    later.reasons(answer)
                } else {
                    Reasons::default()
                };
                later.add(answer, reasons == Reasons::default());
                if may_change {
                    changes[answer] = self.change(answer, reasons);
                }
            }
        }
        changes
    }

    fn may_change(&self, answer: usize) -> bool {
        let Answer {
            is_text, called, ..
        } = self.session.answers[answer];
        is_text && !called.fixed && self.policy.tools.allows(self.session.tool(answer))
    }

    /// The first that makes it smaller.
    fn change(&self, answer: usize, reasons: Reasons) -> Option<Change> {
        let text = self.session.text(answer);
        let handle = OnceCell::new();
        let noted = reasons.into_iter().flatten().find_map(|reason| {
            let handle = handle.get_or_init(|| self.session.handle(answer, self.policy.saved));
            let shorter = text.by(reason.note(self.policy), handle, &self.counter)?;
            Some(Change {
                rule: reason.rule(),
                note: Some(reason),
                amount: Amount::of(shorter.tokens, shorter.text.len() as u64),
            })
        });
        noted.or_else(|| self.session.reduced.get(answer).copied())
    }

    fn fates(&self, changes: &[Option<Change>]) -> Vec<Fate> {
        let records = 0..self.session.records.len();
        let begins_turn = |record: &usize| {
            let said = self.session.said(*record);
            said.is_some_and(|said| said.begins_turn)
        };
        let latest_turn = records.clone().rfind(begins_turn);
        let first = self.first_said();
        let fate = |record: usize| {
            if self.is_dropped(record) {
                return Fate::Drop(Rule::Window);
            }
            let Some(said) = self.free(record) else {
                return Fate::Keep;
            };
            let reasoning = self.session.reasoning.get(record);
            let may_go =
                self.policy.drops(Rule::Reasoning) && latest_turn.is_some_and(|turn| record < turn);
            let reasoning = reasoning.filter(|_| may_go);
            let why_dropped = if said.empty && self.policy.drops(Rule::Empty) {
                Some(Rule::Empty)
            } else {
                reasoning.filter(|it| it.is_all).map(|_| Rule::Reasoning)
            };
            if let Some(rule) = why_dropped {
                return if first == Some(record) {
                    Fate::Keep
                } else {
                    Fate::Drop(rule)
                };
            }
            let arguments = self.policy.argument_chars.is_some()
                && self.session.arguments.get(record).is_some();
            let mut changes = changes[self.session.answers_of(record)].iter();
            if reasoning.is_some() || arguments || changes.any(Option::is_some) {
                Fate::Change {
                    reasoning: reasoning.is_some(),
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
        let mut records = self.session.records.iter().enumerate();
        let first = records.find(|(at, record)| {
            !self.is_dropped(*at) && record.role().is_some_and(|role| !role.is_system())
        });
        first.map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use ctx_tokens::Encoding;
    use ctx_transcript::{Message, Outline, Part, Role};

    use super::{Decisions, Fate, protected_from};
    use crate::count::MessageCounter;
    use crate::prune::session::{Reasoning, Said, Session};
    use crate::prune::{Policy, Questions, Rule};

    /// A session of messages with a text each; an empty one is a reply without a text.
    fn session(messages: &[(Role, &'static str)]) -> Session {
        let mut session = Session::default();
        for (role, text) in messages {
            let outline = Outline {
                role: *role,
                begins_turn: *role == Role::User,
                ..Outline::of_line()
            };
            let message = Message::new(*role, vec![Part::Text((*text).into())]);
            session.add_message(Said::of(&outline, &message, false));
        }
        session
    }

    fn fates(session: &Session, drop: Rule, protect_last: usize) -> Vec<Fate> {
        let policy = Policy {
            drop: vec![drop],
            protect_last,
            ..Policy::default()
        };
        let questions = Questions {
            policy: &policy,
            counter: MessageCounter::new(Encoding::default()),
            size: false,
        };
        Decisions::of(session, &questions).fates
    }

    const SAID: [(Role, &str); 5] = [
        (Role::Assistant, ""),
        (Role::User, "a"),
        (Role::Assistant, ""),
        (Role::User, "b"),
        (Role::Assistant, ""),
    ];

    #[test]
    fn protection_begins_at_the_first_of_the_last_replies() {
        let session = session(&SAID);
        let from = |replies| protected_from(&session, replies);
        assert_eq!([0, 1, 2, 3, 4].map(from), [5, 4, 2, 0, 0]);
    }

    #[test]
    fn the_first_message_and_the_protected_ones_never_go() {
        let gone = Fate::Drop(Rule::Empty);
        let keep = Fate::Keep;
        let session = session(&SAID);
        let fates = |protect_last| fates(&session, Rule::Empty, protect_last);
        assert_eq!(fates(0), [keep, keep, gone, keep, gone]);
        assert_eq!(fates(1), [keep, keep, gone, keep, keep]);
    }

    #[test]
    fn reasoning_of_the_latest_turn_stays() {
        let mut session = session(&[
            (Role::User, "a"),
            (Role::Assistant, "b"),
            (Role::User, "c"),
            (Role::Assistant, "d"),
        ]);
        for record in [1, 3] {
            let (tokens, is_all) = (5, false);
            let reasoning = Reasoning { tokens, is_all };
            session.reasoning.insert(record, reasoning);
        }
        let changed = Fate::Change {
            reasoning: true,
            arguments: false,
        };
        let keep = Fate::Keep;
        let fates = fates(&session, Rule::Reasoning, 0);
        assert_eq!(fates, [keep, changed, keep, keep]);
    }
}
