//! Pruning: which tool results are shortened or cleared, which reasoning and which
//! records go. Nothing is summed up and nothing that a user or the model said
//! changes.
//!
//! A pure decision over facts: [`Pruner::push`] takes the facts of each record,
//! [`Pruner::finish`] gives a [`Verdict`] on each, [`Policy::apply`] carries it
//! out; it declines what would not make the message smaller. Pruning twice with one policy is pruning once: a
//! text that was shortened is known by its handle.

mod apply;
mod errors;
mod facts;
mod files;
mod noise;
mod policy;
mod repeated;
mod replace;
mod tools;
mod trim;
mod verdict;
mod window;

use std::collections::HashMap;

use ctx_transcript::Role;

pub use facts::{CallFacts, Facts, Reasoning, ResultFacts, TextFacts};
pub use files::{Access, FileUse};
pub use policy::{Policy, Trim};
use repeated::Later;
pub use replace::{MAX_NOTE, Replacement};
pub use tools::{Glob, ToolFilter};
pub use verdict::{Action, Changes, Freed, Gone, Reason, Rule, Verdict};

use crate::split::{self, Keep, Splitter};

/// Takes the facts of records and decides at the end.
pub struct Pruner<'p> {
    policy: &'p Policy,
    facts: Vec<Fact>,
    /// The latest call of each id.
    calls: HashMap<String, Called>,
    splitter: Option<Splitter>,
    zones: Vec<split::Verdict>,
}

/// What stays of a record's facts.
#[derive(Debug)]
enum Fact {
    Message(Said),
    Other,
}

#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
struct Said {
    role: Role,
    begins_turn: bool,
    is_summary: bool,
    fixed: bool,
    calls: bool,
    reasoning: Reasoning,
    empty: bool,
    answers: Vec<Answer>,
}

/// A result with what is known of its call.
#[derive(Debug)]
struct Answer {
    tool: Option<String>,
    file: Option<FileUse>,
    text: Option<TextFacts>,
    /// Its call must stay as it is, and so must it.
    fixed: bool,
}

struct Called {
    tool: String,
    file: Option<FileUse>,
    fixed: bool,
}

impl Fact {
    fn said(&self) -> Option<&Said> {
        match self {
            Self::Message(said) => Some(said),
            Self::Other => None,
        }
    }

    fn role(&self) -> Option<Role> {
        self.said().map(|said| said.role)
    }

    /// Whether a turn begins here, or a summary stands for those before.
    fn begins(&self) -> bool {
        self.said()
            .is_some_and(|said| said.begins_turn || said.is_summary)
    }
}

impl<'p> Pruner<'p> {
    /// Nothing seen yet.
    pub fn new(policy: &'p Policy) -> Self {
        let splitter = policy.window_messages.map(|messages| {
            Splitter::new(Keep {
                messages: Some(messages),
                ..Keep::default()
            })
        });
        Self {
            policy,
            facts: Vec::new(),
            calls: HashMap::new(),
            splitter,
            zones: Vec::new(),
        }
    }

    /// The next record.
    pub fn push(&mut self, facts: Facts<'_>) {
        self.push_to_window(&facts);
        let Facts::Message {
            outline,
            calls,
            results,
            reasoning,
            empty,
            fixed,
        } = facts
        else {
            self.facts.push(Fact::Other);
            return;
        };
        let has_calls = !calls.is_empty() || !outline.calls.is_empty();
        // Before the results: in some formats a record answers its own calls.
        for CallFacts { id, tool, file } in calls {
            self.calls.insert(id, Called { tool, file, fixed });
        }
        let said = Said {
            role: outline.role,
            begins_turn: outline.begins_turn,
            is_summary: outline.is_summary,
            fixed,
            calls: has_calls,
            reasoning,
            empty,
            answers: results
                .into_iter()
                .map(|result| self.answer(result))
                .collect(),
        };
        self.facts.push(Fact::Message(said));
    }

    /// All verdicts, in the order of the records.
    pub fn finish(mut self) -> Vec<Verdict> {
        if let Some(splitter) = &mut self.splitter {
            splitter.finish();
            self.zones.extend(std::iter::from_fn(|| splitter.next()));
        }
        let dropped = match self.splitter {
            Some(_) => window::dropped(&self.zones, &self.facts, self.policy.user_first),
            None => vec![false; self.facts.len()],
        };
        let open = self.protected_from();
        let mut actions = self.actions(&dropped, open);
        let turn = self
            .facts
            .iter()
            .rposition(|fact| fact.said().is_some_and(|s| s.begins_turn));
        let first = self.first_said(&dropped);
        let verdict = |(index, fact): (usize, &Fact)| {
            if dropped[index] {
                return Verdict::Drop(Gone::Window);
            }
            let Some(said) = fact.said().filter(|said| index < open && !said.is_fixed()) else {
                return Verdict::Keep;
            };
            let reasoning = self.policy.drops(Rule::Reasoning)
                && said.reasoning != Reasoning::No
                && turn.is_some_and(|turn| index < turn);
            let is_empty = said.reasoning == Reasoning::Only && reasoning;
            if is_empty || (said.empty && self.policy.drops(Rule::Empty)) {
                return if first == Some(index) {
                    Verdict::Keep
                } else {
                    Verdict::Drop(Gone::Empty)
                };
            }
            let changes = Changes {
                results: std::mem::take(&mut actions[index]),
                reasoning,
                arguments: said.calls && self.policy.argument_chars.is_some(),
            };
            if changes.is_none() {
                Verdict::Keep
            } else {
                Verdict::Change(changes)
            }
        };
        self.facts.iter().enumerate().map(verdict).collect()
    }

    /// The window is decided as the exchanges of a split are. An earlier summary
    /// stays: it is all that is left of what it stands for.
    fn push_to_window(&mut self, facts: &Facts<'_>) {
        let Some(splitter) = &mut self.splitter else {
            return;
        };
        splitter.push(match facts {
            Facts::Message { outline, fixed, .. } => split::Facts::Message {
                outline,
                tokens: 0,
                pinned: *fixed || outline.is_summary,
            },
            Facts::Line => split::Facts::Line,
            Facts::Tail => split::Facts::Tail,
        });
        self.zones.extend(std::iter::from_fn(|| splitter.next()));
    }

    fn answer(&self, result: ResultFacts) -> Answer {
        let called = self.calls.get(&result.id);
        Answer {
            tool: called.map(|call| call.tool.clone()).or(result.tool),
            file: called.and_then(|call| call.file.clone()),
            text: result.text,
            fixed: called.is_some_and(|call| call.fixed),
        }
    }

    /// The first of the last assistant messages that are protected; with fewer of
    /// them nothing may change.
    fn protected_from(&self) -> usize {
        let is_reply = |fact: &Fact| fact.role() == Some(Role::Assistant);
        let replies = self.facts.iter().enumerate().rev();
        match self.policy.protect_last {
            0 => self.facts.len(),
            count => replies
                .filter(|(_, fact)| is_reply(fact))
                .nth(count - 1)
                .map_or(0, |(index, _)| index),
        }
    }

    /// The first message of the conversation: it decides whether the API takes it.
    fn first_said(&self, dropped: &[bool]) -> Option<usize> {
        let is_said = |fact: &Fact| fact.role().is_some_and(|role| !role.is_system());
        (0..self.facts.len()).find(|index| !dropped[*index] && is_said(&self.facts[*index]))
    }

    /// What happens to the results of each record.
    fn actions(&self, dropped: &[bool], open: usize) -> Vec<Vec<Action>> {
        let mut actions = vec![Vec::new(); self.facts.len()];
        let mut later = Later::default();
        for (index, fact) in self.facts.iter().enumerate().rev() {
            let Some(said) = fact.said().filter(|_| !dropped[index]) else {
                continue;
            };
            let free = index < open && !said.is_fixed();
            for answer in said.answers.iter().rev() {
                let action = if free {
                    self.action(answer, &later)
                } else {
                    Action::default()
                };
                later.add(answer, action.clear.is_empty());
                actions[index].push(action);
            }
            actions[index].reverse();
        }
        actions
    }

    fn action(&self, answer: &Answer, later: &Later<'_>) -> Action {
        let policy = self.policy;
        let may_change = answer.text.as_ref().is_some_and(|text| !text.taken_out)
            && !answer.fixed
            && policy.tools.allows(answer.tool.as_deref());
        if !may_change {
            return Action::default();
        }
        let mut clear = later.reasons(policy, answer);
        clear.extend(policy.clear.is_some().then_some(Reason::Old));
        Action {
            clear,
            reduce: policy.trim.is_some() || policy.drops(Rule::Noise),
        }
    }
}

impl Said {
    fn is_fixed(&self) -> bool {
        self.fixed || self.role.is_system()
    }
}

impl Changes {
    fn is_none(&self) -> bool {
        !self.reasoning && !self.arguments && self.results.iter().all(Action::is_none)
    }
}

#[cfg(test)]
mod tests;
