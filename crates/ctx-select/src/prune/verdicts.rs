//! What was decided about a whole session, and what comes of it in tokens.

use ctx_transcript::{Message, Part};

use super::decide::{Decisions, Fate};
use super::policy::{Policy, Questions};
use super::rule::Rule;
use super::session::{Answer, Change, Session};
use super::sums::{Freed, Sums};
use crate::count::{ByKind, PRIMING};
use crate::trigger::Size;

/// The verdicts on all records of a session, by their numbers from 0.
pub struct Verdicts<'p> {
    pub(super) session: Session,
    pub(super) questions: Questions<'p>,
    pub(super) decisions: Decisions,
}

impl<'p> Verdicts<'p> {
    pub(super) fn new(session: Session, questions: Questions<'p>) -> Self {
        Self {
            decisions: Decisions::of(&session, &questions),
            session,
            questions,
        }
    }

    /// Those of another policy. The facts that it needs must have been asked for: it is
    /// the policy that they were gathered for, with some of its rules left out.
    #[must_use]
    pub fn under(self, policy: &'p Policy) -> Self {
        let questions = Questions {
            policy,
            ..self.questions
        };
        // Both at once would take twice the memory.
        drop(self.decisions);
        Self::new(self.session, questions)
    }

    /// Whether a record stays, though changed.
    pub fn is_changed(&self, record: usize) -> bool {
        matches!(self.decisions.fates[record], Fate::Change { .. })
    }

    /// Whether a record goes.
    pub fn is_dropped(&self, record: usize) -> bool {
        matches!(self.decisions.fates[record], Fate::Drop(_))
    }

    /// The rule by which a record goes.
    pub fn dropped_by(&self, record: usize) -> Option<Rule> {
        match self.decisions.fates[record] {
            Fate::Drop(rule) => Some(rule),
            Fate::Keep | Fate::Change { .. } => None,
        }
    }

    /// Whether a record is among those at the end that stay as they are.
    pub fn is_protected(&self, record: usize) -> bool {
        record >= self.decisions.protected_from
    }

    /// Whether any record goes.
    pub fn drop_any(&self) -> bool {
        (0..self.session.records.len()).any(|record| self.is_dropped(record))
    }

    /// Whether a record is a message.
    pub fn is_message(&self, record: usize) -> bool {
        self.session.said(record).is_some()
    }

    /// How many tokens the changes of a record free, or its loss.
    pub fn gain(&self, record: usize) -> u64 {
        let freed = self.freed(record).into_iter();
        freed.map(|it| it.before.saturating_sub(it.after)).sum()
    }

    /// What the changes of a record free, or its loss.
    pub fn freed(&self, record: usize) -> Vec<Freed> {
        let all = |rule, tokens: u32| Freed {
            rule,
            before: tokens.into(),
            after: 0,
        };
        match self.decisions.fates[record] {
            Fate::Keep => Vec::new(),
            Fate::Drop(rule) => {
                let said = self.session.said(record).into_iter();
                said.map(|said| all(rule, said.tokens)).collect()
            }
            Fate::Change {
                reasoning,
                arguments,
            } => {
                let changed = self.changed_answers(record);
                let mut freed: Vec<Freed> = changed
                    .map(|(answer, change)| Freed {
                        rule: change.rule,
                        before: self.session.text(answer).tokens,
                        after: change.amount.tokens.into(),
                    })
                    .collect();
                let shorter = self.session.arguments.get(record).filter(|_| arguments);
                freed.extend(shorter.into_iter().flatten());
                let gone = self.session.reasoning.get(record).filter(|_| reasoning);
                freed.extend(gone.map(|gone| all(Rule::Reasoning, gone.tokens)));
                freed
            }
        }
    }

    /// All that is freed, by rule.
    pub fn sums(&self) -> Sums {
        let records = 0..self.session.records.len();
        records.flat_map(|record| self.freed(record)).collect()
    }

    /// The tokens of the message of a record as it came, where it is one. Results that were
    /// counted to decide about them are not counted again.
    pub fn tokens_before(&self, record: usize, message: &Message<'_>) -> Option<u64> {
        let said = self.session.said(record)?;
        if self.questions.size {
            return Some(said.tokens.into());
        }
        let counter = self.questions.counter;
        let mut answers = self.session.answers_of(record);
        let known = |answer: usize| {
            let Answer {
                is_text, amount, ..
            } = self.session.answers[answer];
            let counts_as_one = self.session.several.get(answer).is_none();
            (is_text && counts_as_one && amount.tokens > 0).then_some(amount.tokens)
        };
        let tokens = counter.message_of(message, |part| match part {
            Part::Result(_) => match answers.next().and_then(known) {
                Some(tokens) => ByKind {
                    results: tokens.into(),
                    ..ByKind::default()
                },
                None => counter.part(part),
            },
            _ => counter.part(part),
        });
        Some(tokens.total())
    }

    /// The tokens that are left of a record; only where the size was asked for.
    pub fn tokens(&self, record: usize) -> u64 {
        let said = self.session.said(record);
        let Some(said) = said.filter(|_| !self.is_dropped(record)) else {
            return 0;
        };
        let (mut before, mut after) = (0, u64::from(said.tokens));
        for freed in self.freed(record) {
            before += freed.before;
            after += freed.after;
        }
        // Several texts count other than as one, which is what is freed.
        for (answer, _) in self.changed_answers(record) {
            before += u64::from(self.session.amount(answer).tokens);
            after += self.session.text(answer).tokens;
        }
        after - before
    }

    /// The size of the session that is left; only where it was asked for.
    pub fn size(&self) -> Size {
        let mut size = Size::default();
        for record in 0..self.session.records.len() {
            let said = self.session.said(record);
            let Some(said) = said.filter(|_| !self.is_dropped(record)) else {
                continue;
            };
            size.messages += u64::from(!said.role.is_system());
            size.turns += u64::from(said.begins_turn);
            size.tokens = size.tokens.max(PRIMING) + self.tokens(record);
            for answer in self.session.answers_of(record) {
                let change = self.decisions.changes[answer];
                let left = change.map_or(self.session.amount(answer), |change| change.amount);
                size.tool_bytes += u64::from(left.bytes);
            }
        }
        size
    }

    fn changed_answers(&self, record: usize) -> impl Iterator<Item = (usize, Change)> {
        let answers = self.session.answers_of(record);
        answers.filter_map(|answer| Some((answer, self.decisions.changes[answer]?)))
    }
}
