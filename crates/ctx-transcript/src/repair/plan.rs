//! Deciding what to do, from outlines alone.

use std::collections::BTreeMap;

use super::{Action, Edit, PlannedResult, Repair, ResultAt, What};
use crate::pairs::{OpenCall, Pairs};
use crate::rules::{Results, Rules};
use crate::{Outline, Role};

/// Sees the messages of a session and decides how to mend it. It pairs calls and
/// results as [`crate::Validator`] does.
pub struct Planner {
    rules: Rules,
    /// Calls are known by their place in `calls`.
    pairs: Pairs<usize>,
    /// All calls of the session.
    calls: Vec<Call>,
    /// How many of them are of exchanges that are over.
    over: usize,
    /// Those of them that got no result there.
    left: Vec<ClosedCall>,
    /// The exchange that goes on.
    exchange: Exchange,
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

/// A call whose exchange is over.
struct ClosedCall {
    call: usize,
    exchange: Exchange,
}

struct Call {
    id: String,
    /// As the record has it: the same unless renamed.
    was: String,
    record: usize,
    line: u64,
    /// Its result stands where it should.
    answered: bool,
    /// Where its result was found instead.
    found: Option<ResultAt>,
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
            // Results that stand too late in their message are put first.
            pairs: Pairs::with_late_results(rules),
            calls: Vec::new(),
            over: 0,
            left: Vec::new(),
            exchange: Exchange::default(),
            messages: Vec::new(),
            emptied: BTreeMap::new(),
            repair: Repair::default(),
        }
    }

    /// The next message: its number among all records, its line, its outline.
    pub fn push(&mut self, record: usize, line: u64, outline: &Outline<'_>) {
        if !outline.role.is_system() {
            self.messages.push((record, line, outline.role));
        }
        let first = self.calls.len();
        let step = self.pairs.push(outline, |place| first + place);
        if step.ends_exchange {
            self.end_exchange(step.unanswered);
            self.over = first;
        }
        if step.ends_exchange || outline.role == Role::Assistant {
            self.exchange.last = record;
        }
        if outline.role == Role::User {
            self.exchange.user.get_or_insert(record);
        }
        let is_answer = step.answers.iter().any(Option::is_some);
        for (place, call) in step.answers.into_iter().enumerate() {
            match call {
                Some(call) => self.answered(call, ResultAt { record, place }),
                None => self.misplaced(ResultAt { record, place }, line, outline),
            }
        }
        if outline.results_late && is_answer {
            self.edit(record).change.results_first = true;
            self.act(line, "", What::ResultsFirst);
        }
        self.open(record, line, outline);
    }

    fn end_exchange(&mut self, unanswered: Vec<OpenCall<usize>>) {
        let exchange = std::mem::take(&mut self.exchange);
        self.leave(unanswered, |_| exchange);
    }

    fn leave(&mut self, unanswered: Vec<OpenCall<usize>>, exchange: impl Fn(&Call) -> Exchange) {
        for OpenCall { call, .. } in unanswered {
            let exchange = exchange(&self.calls[call]);
            self.left.push(ClosedCall { call, exchange });
        }
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
                let renamed = &mut self.edit(record).change.rename_calls;
                renamed.insert(place, id.clone());
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
    }

    /// A result stands where it should.
    fn answered(&mut self, call: usize, at: ResultAt) {
        self.exchange.last = at.record;
        let call = &mut self.calls[call];
        call.answered = true;
        if call.id != call.was {
            let to = call.id.clone();
            let renamed = &mut self.edit(at.record).change.rename_results;
            renamed.insert(at.place, to);
        }
    }

    /// A result cannot stay: it goes to the nearest call that lacks one, or away.
    fn misplaced(&mut self, at: ResultAt, line: u64, outline: &Outline<'_>) {
        let id = &outline.results[at.place];
        let of_exchange = self.over..self.calls.len();
        let is_known = self.calls[of_exchange.clone()]
            .iter()
            .any(|call| call.was == *id);
        let earlier = self.left.iter().rev().map(|left| left.call);
        let call = of_exchange
            .chain(earlier)
            .find(|call| self.calls[*call].waits_for(id));
        let what = match call {
            Some(call) => {
                self.calls[call].found = Some(at);
                What::Move {
                    to: self.calls[call].line,
                }
            }
            None if is_known => What::DropRepeated,
            None => What::DropOrphan,
        };
        self.act(line, id, what);
        self.edit(at.record).change.without.push(at.place);
        let size = (outline.results.len(), outline.has_content);
        self.emptied.insert(at.record, size);
    }

    /// What is to be done. Calls at the end that wait for their results are left
    /// to wait, unless `strict`.
    pub fn finish(mut self, strict: bool) -> Repair {
        let pairs = std::mem::replace(&mut self.pairs, Pairs::new(self.rules));
        let end = pairs.finish();
        let (exchange, results) = (self.exchange, self.rules.results);
        let belongs = |call: &Call| match results {
            Results::Later => Exchange {
                last: call.record,
                user: None,
            },
            _ => exchange,
        };
        self.leave(end.unanswered, belongs);
        if strict {
            self.leave(end.open, belongs);
        }
        for ClosedCall { call, exchange } in std::mem::take(&mut self.left) {
            self.give_result(call, exchange);
        }
        self.drop_emptied();
        self.begin_with_user();
        self.repair.actions.sort_by_key(|action| action.line);
        self.repair
    }

    /// A call gets the result that was found elsewhere, or one that says it is missing.
    fn give_result(&mut self, call: usize, exchange: Exchange) {
        let Call {
            id,
            record,
            line,
            found,
            ..
        } = &self.calls[call];
        let answer = PlannedResult {
            id: id.clone(),
            call: *record,
            found: *found,
        };
        if found.is_none() {
            self.act(*line, &answer.id, What::Answer);
        }
        let as_blocks = self.rules.results == Results::NextUserMessage;
        match exchange.user.filter(|_| as_blocks) {
            Some(user) => self.edit(user).into.push(answer),
            None => self.edit(exchange.last).behind.push(answer),
        }
    }

    /// Messages that held nothing but results which go.
    fn drop_emptied(&mut self) {
        for (record, (results, has_content)) in std::mem::take(&mut self.emptied) {
            let edit = self.edit(record);
            let nothing_stays = edit.change.without.len() == results && edit.into.is_empty();
            edit.drop = nothing_stays && !has_content;
        }
    }

    fn begin_with_user(&mut self) {
        let edits = &self.repair.edits;
        let stays = |record: &usize| edits.get(record).is_none_or(|edit| !edit.drop);
        let first = self.messages.iter().find(|(record, ..)| stays(record));
        match first.copied() {
            Some((record, line, role)) if !self.rules.may_begin_with(role) => {
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
