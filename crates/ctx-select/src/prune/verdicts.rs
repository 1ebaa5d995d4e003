//! What was decided about a whole session, and what comes of it in tokens.

use super::decide::{Change, Decisions, Fate};
use super::note::note;
use super::policy::Policy;
use super::session::Session;
use super::sums::Sums;
use super::verdict::{Changes, Freed, NewText, Rule, Verdict};
use crate::count::{MessageCounter, PRIMING};
use crate::trigger::Size;

/// The verdicts on all records of a session, in their order.
#[derive(Debug)]
pub struct Verdicts<'p> {
    session: Session,
    policy: &'p Policy,
    decisions: Decisions,
}

impl<'p> Verdicts<'p> {
    pub(super) fn new(session: Session, policy: &'p Policy, counter: &MessageCounter) -> Self {
        Self {
            decisions: Decisions::of(&session, policy, counter),
            session,
            policy,
        }
    }

    /// Those of another policy. The facts that it needs must have been asked for: it is
    /// the policy that they were gathered for, with some of its rules left out.
    #[must_use]
    pub fn under(self, policy: &'p Policy, counter: &MessageCounter) -> Self {
        Self::new(self.session, policy, counter)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Verdict<'_>> {
        (0..self.session.records.len()).map(|record| self.get(record))
    }

    /// The verdict on a record, by its number from 0.
    pub fn get(&self, record: usize) -> Verdict<'_> {
        match self.decisions.fates[record] {
            Fate::Keep => Verdict::Keep,
            Fate::Drop(rule) => Verdict::Drop(rule),
            Fate::Change {
                reasoning,
                arguments,
            } => Verdict::Change(Changes {
                policy: self.policy,
                results: self
                    .session
                    .answers_of(record)
                    .map(|answer| self.new_text(answer))
                    .collect(),
                arguments: if arguments {
                    self.session.arguments.all(record).collect()
                } else {
                    Vec::new()
                },
                reasoning,
            }),
        }
    }

    /// Whether a record goes.
    pub fn is_dropped(&self, record: usize) -> bool {
        matches!(self.decisions.fates[record], Fate::Drop(_))
    }

    /// Whether any record goes.
    pub fn drop_any(&self) -> bool {
        (0..self.session.records.len()).any(|record| self.is_dropped(record))
    }

    /// Whether a record is a message.
    pub fn is_message(&self, record: usize) -> bool {
        self.session.said(record).is_some()
    }

    /// What the changes of a record free, or its loss.
    pub fn freed(&self, record: usize) -> Vec<Freed> {
        match self.decisions.fates[record] {
            Fate::Keep => Vec::new(),
            Fate::Drop(rule) => {
                let said = self.session.said(record).into_iter();
                said.map(|said| rule.freed_all(said.tokens)).collect()
            }
            Fate::Change {
                reasoning,
                arguments,
            } => {
                let answers = self.session.answers_of(record);
                let mut freed: Vec<Freed> = answers.filter_map(|at| self.freed_by(at)).collect();
                if arguments {
                    let arguments = self.session.arguments.all(record);
                    freed.extend(arguments.map(|arguments| Freed {
                        rule: Rule::Arguments,
                        before: arguments.shorter.before,
                        after: arguments.shorter.after,
                    }));
                }
                if reasoning {
                    let tokens = self.session.reasoning.get(record);
                    freed.push(Rule::Reasoning.freed_all(tokens.copied().unwrap_or(0)));
                }
                freed
            }
        }
    }

    /// All that is freed, by rule.
    pub fn sums(&self) -> Sums {
        let records = 0..self.session.records.len();
        records.flat_map(|record| self.freed(record)).collect()
    }

    /// The tokens that are left of a record; only where the size was asked for.
    pub fn tokens(&self, record: usize) -> u64 {
        let Some(said) = self
            .session
            .said(record)
            .filter(|_| !self.is_dropped(record))
        else {
            return 0;
        };
        let (mut before, mut after) = (0, u64::from(said.tokens));
        for freed in self.freed(record) {
            before += freed.before;
            after += freed.after;
        }
        // Several texts count other than as one, which is what is freed.
        let answers = self.session.answers_of(record);
        for at in answers.filter(|at| self.decisions.changes[*at] != Change::None) {
            before += u64::from(self.session.amount(at).tokens);
            after += self.session.text(at).tokens;
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
            if size.tokens == 0 {
                size.tokens = PRIMING;
            }
            size.messages += u64::from(!said.role.is_system());
            size.turns += u64::from(said.begins_turn);
            size.tokens += self.tokens(record);
            let answers = self.session.answers_of(record);
            size.tool_bytes += answers.map(|at| self.bytes(at)).sum::<u64>();
        }
        size
    }

    fn freed_by(&self, answer: usize) -> Option<Freed> {
        let (rule, after) = match self.decisions.changes[answer] {
            Change::None => return None,
            Change::Note(reason, tokens) => (reason.rule(), tokens),
            Change::Reduce => {
                let reduced = self.session.reduced(answer)?;
                (reduced.rule, reduced.amount.tokens)
            }
        };
        Some(Freed {
            rule,
            before: self.session.text(answer).tokens,
            after: after.into(),
        })
    }

    /// Bytes of what is left of an answer.
    fn bytes(&self, answer: usize) -> u64 {
        let reduced = || self.session.reduced(answer).map(|reduced| reduced.amount);
        match self.new_text(answer) {
            None => self.session.amount(answer).bytes.into(),
            Some(NewText::Note(text)) => text.len() as u64,
            Some(NewText::Reduced(_)) => reduced().map_or(0, |amount| amount.bytes.into()),
        }
    }

    fn new_text(&self, answer: usize) -> Option<NewText> {
        let handle = || self.session.text(answer).handle;
        match self.decisions.changes[answer] {
            Change::None => None,
            Change::Note(reason, _) => {
                let note = note(&self.session, self.policy, answer, reason);
                Some(NewText::Note(handle().behind(&note)))
            }
            Change::Reduce => Some(NewText::Reduced(handle())),
        }
    }
}
