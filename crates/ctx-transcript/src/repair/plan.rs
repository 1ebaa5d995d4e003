//! Deciding what to do, from outlines alone.

use std::collections::BTreeMap;

use super::{Action, Answer, Edit, Repair, What};
use crate::{Outline, Role, Rules};

/// Sees the messages of a session and decides how to mend it. It reads them as
/// [`crate::Validator`] does.
pub struct Planner {
    rules: Rules,
    /// The exchange that goes on, and its calls.
    exchange: Exchange,
    calls: Vec<Call>,
    /// Calls of exchanges that are over, and that got no result there.
    unanswered: Vec<(Exchange, Call)>,
    results_may_come: bool,
    last_role: Option<Role>,
    /// Messages that are not system ones: record, line, role.
    messages: Vec<(usize, u64, Role)>,
    /// Records of which results are taken: how many they have, and whether
    /// anything else is in them.
    emptied: BTreeMap<usize, (usize, bool)>,
    repair: Repair,
}

/// Where the results of some calls belong.
#[derive(Clone, Copy, Default)]
struct Exchange {
    /// The last record of it: results that are records go behind it.
    last: usize,
    /// The user message that follows the calls: results that are blocks go into it.
    user: Option<usize>,
}

struct Call {
    id: String,
    /// As the record has it: the same unless renamed.
    was: String,
    record: usize,
    line: u64,
    /// Answered where it should be.
    answered: bool,
    /// Where its result was found instead.
    found: Option<(usize, usize)>,
}

impl Call {
    fn waits_for(&self, id: &str) -> bool {
        !self.answered && self.found.is_none() && self.was == id
    }
}

impl Planner {
    /// Nothing seen yet.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            exchange: Exchange::default(),
            calls: Vec::new(),
            unanswered: Vec::new(),
            results_may_come: false,
            last_role: None,
            messages: Vec::new(),
            emptied: BTreeMap::new(),
            repair: Repair::default(),
        }
    }

    /// The next message: its number among all records, its line, its outline.
    pub fn push(&mut self, record: usize, line: u64, outline: &Outline<'_>) {
        let as_messages = self.rules.results_are_messages();
        let is_system = outline.role.is_system();
        if is_system && !as_messages {
            return;
        }
        if !is_system {
            self.messages.push((record, line, outline.role));
        }
        if as_messages {
            if outline.results.is_empty() {
                self.close();
                self.exchange.last = record;
            }
            self.answer(record, line, outline);
            self.open(record, line, outline);
        } else if outline.role == Role::Assistant {
            if self.last_role != Some(Role::Assistant) {
                self.close();
            }
            self.exchange.last = record;
            self.open(record, line, outline);
        } else {
            self.blocks(record, line, outline);
        }
        self.last_role = Some(outline.role);
    }

    fn blocks(&mut self, record: usize, line: u64, outline: &Outline<'_>) {
        if self.last_role != Some(Role::User) {
            self.results_may_come = true;
        }
        if outline.role == Role::User {
            self.exchange.user.get_or_insert(record);
        }
        let in_place = self.answer(record, line, outline);
        if outline.results_late && in_place {
            self.edit(record).results_first = true;
            self.act(line, "", What::ResultsFirst);
        }
        self.results_may_come &= !outline.has_content;
    }

    fn open(&mut self, record: usize, line: u64, outline: &Outline<'_>) {
        let first = self.calls.len();
        for (place, was) in outline.calls.iter().enumerate() {
            let taken = |id: &str| self.calls[first..].iter().any(|call| call.id == id);
            let mut id = was.clone().into_owned();
            if taken(&id) && !id.is_empty() {
                let is_free =
                    |id: &String| !taken(id) && !outline.calls.iter().any(|other| other == id);
                let mut others = (2..).map(|number| format!("{was}-{number}"));
                id = others
                    .find(is_free)
                    .expect("there are more numbers than calls");
                self.edit(record).rename_calls.insert(place, id.clone());
                self.act(line, was, What::Rename { to: id.clone() });
            }
            self.calls.push(Call {
                id,
                was: was.clone().into_owned(),
                record,
                line,
                answered: false,
                found: None,
            });
        }
        self.results_may_come = true;
    }

    /// Finds the call of each result; `true` when one of them may stay here.
    fn answer(&mut self, record: usize, line: u64, outline: &Outline<'_>) -> bool {
        let mut in_place = false;
        for (place, id) in outline.results.iter().enumerate() {
            if self.results_may_come && self.answer_here(record, place, id) {
                in_place = true;
                continue;
            }
            let what = self.answer_elsewhere(record, place, id);
            self.act(line, id, what);
            self.edit(record).without.push(place);
            let size = (outline.results.len(), outline.has_content);
            self.emptied.insert(record, size);
        }
        in_place
    }

    fn answer_here(&mut self, record: usize, place: usize, id: &str) -> bool {
        let Some(call) = self.calls.iter_mut().find(|call| call.waits_for(id)) else {
            return false;
        };
        call.answered = true;
        let renamed = (call.id != call.was).then(|| call.id.clone());
        self.exchange.last = record;
        if let Some(to) = renamed {
            self.edit(record).rename_results.insert(place, to);
        }
        true
    }

    /// The result cannot stay: it goes to the nearest call that lacks one, or away.
    fn answer_elsewhere(&mut self, record: usize, place: usize, id: &str) -> What {
        let is_known = self.calls.iter().any(|call| call.was == *id);
        let earlier = self.unanswered.iter_mut().rev().map(|(_, call)| call);
        let mut calls = self.calls.iter_mut().chain(earlier);
        match calls.find(|call| call.waits_for(id)) {
            Some(call) => {
                call.found = Some((record, place));
                What::Move { to: call.line }
            }
            None if is_known => What::DropRepeated,
            None => What::DropOrphan,
        }
    }

    fn close(&mut self) {
        let exchange = std::mem::take(&mut self.exchange);
        let calls = std::mem::take(&mut self.calls).into_iter();
        let left = calls.filter(|call| !call.answered);
        self.unanswered.extend(left.map(|call| (exchange, call)));
    }

    /// What is to be done. Calls at the end that wait for their results are left
    /// to wait, unless `strict`.
    pub fn finish(mut self, strict: bool) -> Repair {
        if strict || !self.results_may_come {
            self.close();
        }
        for (exchange, call) in std::mem::take(&mut self.unanswered) {
            if call.found.is_none() {
                self.act(call.line, &call.id, What::Answer);
            }
            let answer = Answer {
                id: call.id,
                call: call.record,
                from: call.found,
            };
            match exchange.user.filter(|_| !self.rules.results_are_messages()) {
                Some(user) => self.edit(user).into.push(answer),
                None => self.edit(exchange.last).behind.push(answer),
            }
        }
        self.drop_emptied();
        self.begin_with_user();
        self.repair.actions.sort_by_key(|action| action.line);
        self.repair
    }

    /// Messages that held nothing but results which go.
    fn drop_emptied(&mut self) {
        let as_messages = self.rules.results_are_messages();
        for (record, (results, has_content)) in std::mem::take(&mut self.emptied) {
            let edit = self.edit(record);
            let nothing_stays = edit.without.len() == results && edit.into.is_empty();
            edit.drop = nothing_stays && (as_messages || !has_content);
        }
    }

    fn begin_with_user(&mut self) {
        let edits = &self.repair.edits;
        let stays = |record: &usize| edits.get(record).is_none_or(|edit| !edit.drop);
        let first = self.messages.iter().find(|(record, ..)| stays(record));
        match first.copied() {
            Some((record, line, role)) if self.rules.user_first() && role != Role::User => {
                self.edit(record).begin = true;
                self.act(line, "", What::Begin);
            }
            _ => {}
        }
    }

    fn edit(&mut self, record: usize) -> &mut Edit {
        self.repair.edits.entry(record).or_default()
    }

    fn act(&mut self, line: u64, id: &str, what: What) {
        self.repair.actions.push(Action {
            line,
            id: id.to_owned(),
            what,
        });
    }
}
