//! Pruning: which tool results are shortened or cleared, which reasoning and which
//! records go. Nothing is summed up and nothing that a user or the model said
//! changes.
//!
//! A pure decision over facts: [`Pruner::message`] takes the facts of each message,
//! which hold all numbers, so that [`Pruner::finish`] can give final [`Verdicts`] and
//! say what they free; [`Changes::carry_out`] does what was decided. What would not make
//! a message smaller is not decided. Pruning twice with one policy is pruning once: a
//! text that was shortened is known by its handle.

mod apply;
mod decide;
mod errors;
mod facts;
mod files;
mod noise;
mod note;
mod policy;
mod repeated;
mod replace;
mod session;
mod sparse;
mod sums;
mod table;
mod tools;
mod trim;
mod verdict;
mod verdicts;
mod window;

use std::collections::HashMap;

use ctx_transcript::Outline;

pub use facts::{MessageFacts, Questions};
pub use files::{Access, FileUse};
pub use policy::{Policy, ReferencePattern, Trim};
pub use replace::{MAX_NOTE, Replacement};
pub use sums::{Sum, Sums};
pub use tools::{Glob, ToolFilter};
pub use verdict::{Changes, Freed, Rule, Verdict};
pub use verdicts::Verdicts;

use crate::count::MessageCounter;
use crate::split;
use facts::{CallFacts, CallId, ResultFacts};
use session::{Said, Session};
use sparse::compact;
use table::Id;
use verdict::CallArguments;
use window::Window;

/// Takes the facts of records and decides at the end.
pub struct Pruner<'p> {
    policy: &'p Policy,
    counter: MessageCounter,
    session: Session,
    /// The latest call of each id.
    calls: HashMap<CallId, Called>,
    window: Option<Window>,
}

/// A call that results may answer.
#[derive(Clone, Copy)]
struct Called {
    tool: Id,
    file: Option<Id>,
    fixed: bool,
}

impl<'p> Pruner<'p> {
    /// Nothing seen yet. The facts are answers to the same `questions`.
    pub fn new(questions: &Questions<'p>) -> Self {
        Self {
            policy: questions.policy,
            counter: questions.counter,
            session: Session::default(),
            calls: HashMap::new(),
            window: questions.policy.window_messages.map(Window::new),
        }
    }

    /// The next record is a message.
    pub fn message(&mut self, outline: &Outline<'_>, facts: MessageFacts) {
        if let Some(window) = &mut self.window {
            window.message(outline, facts.fixed);
        }
        let record = self.session.records.len();
        // Before the results: in some formats a record answers its own calls.
        for (number, call) in (0..).zip(facts.calls) {
            self.call(record, number, call, facts.fixed);
        }
        for result in facts.results {
            self.result(result);
        }
        if facts.reasoning_tokens > 0 {
            let tokens = compact(facts.reasoning_tokens);
            self.session.reasoning.push(record, tokens);
        }
        self.session.add_record(Some(Said {
            role: outline.role,
            begins_message: outline.begins_message(),
            begins_turn: outline.begins_turn,
            is_summary: outline.is_summary,
            fixed: facts.fixed,
            empty: facts.empty,
            reasoning: facts.reasoning,
            tokens: compact(facts.tokens),
        }));
    }

    /// The next record is a line that is no message.
    pub fn line(&mut self) {
        self.other(split::Facts::Line);
    }

    /// The next record is a last line in the writing.
    pub fn tail(&mut self) {
        self.other(split::Facts::Tail);
    }

    /// The verdicts on all records.
    pub fn finish(mut self) -> Verdicts<'p> {
        self.session.window = self.window.map(Window::finish).unwrap_or_default();
        Verdicts::new(self.session, self.policy, &self.counter)
    }

    fn other(&mut self, facts: split::Facts<'_>) {
        if let Some(window) = &mut self.window {
            window.push(facts);
        }
        self.session.add_record(None);
    }

    fn result(&mut self, mut result: ResultFacts) {
        let called = self.calls.get(&result.id);
        let named = result.tool.take();
        let tool = called.map(|call| call.tool);
        let tool = tool.or_else(|| named.map(|name| self.session.tools.id(name)));
        let file = called.and_then(|call| call.file);
        let fixed = called.is_some_and(|call| call.fixed);
        self.session.add_answer(result, tool, file, fixed);
    }

    fn call(&mut self, record: usize, number: u32, call: CallFacts, fixed: bool) {
        let called = Called {
            tool: self.session.tools.id(call.tool),
            file: call.file.map(|file| self.session.files.id(file)),
            fixed,
        };
        self.calls.insert(call.id, called);
        if let Some(shorter) = call.shorter {
            let arguments = CallArguments {
                call: number,
                shorter,
            };
            self.session.arguments.push(record, arguments);
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
