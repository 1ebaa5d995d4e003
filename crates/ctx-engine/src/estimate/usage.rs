//! Compares a session's recorded usage with our count of the same requests.
//!
//! A request consists of the records on the path to its reply. The path includes records in the
//! context and records that compactions have replaced, but not those on abandoned branches or from
//! other agents. Our count of a request is the sum of the tokens on its path. After a compaction,
//! the sum restarts with the records that the compaction kept.
//!
//! If a result was pruned or offloaded, the file does not contain the text that was sent. Nothing
//! is learned from the difference between the replies before and after a pruned or offloaded
//! result, and no size is predicted for the later reply.
//!
//! In some logs, a line changes what is sent of an earlier record. The requests before that line
//! contained the old content.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::estimate::{Calibrator, Estimate, Request};
use crate::message_counter::{MessageCounter, PRIMING};
use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, Message, Outline, Portion, Record, Role, Usage, UsageOf};
use serde::Serialize;

use crate::placeholder::ReplacedResults;

/// The result of comparing a session's recorded usage with our counts.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The number of tokens in the context, as we count them.
    pub counted: u64,
    /// The estimated size of the context, or `None` if no usage is recorded.
    pub estimate: Option<Estimate>,
    /// How many tokens the API counts per token that we count.
    pub factor: f64,
    /// The number of tokens in a request besides its messages.
    pub base: Option<u64>,
    /// The model of the last reply with recorded usage or, if there is none, the last model named
    /// in the session.
    pub model: Option<String>,
    /// The context window of `model`, taken from the session or, failing that, from our list of
    /// models.
    pub window: Option<u64>,
    /// The replies with recorded usage, in order.
    pub replies: Vec<Reply>,
    /// The last reply with recorded usage, unless a compaction followed it.
    pub last: Option<LastReply>,
    /// What was learned from the replies.
    pub(crate) calibrator: Calibrator,
}

/// The reply from whose usage the agent derives the length of its context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastReply {
    /// Identifies the reply that the usage belongs to.
    pub of: UsageOf,
    /// The line where the reply begins. Everything before this line was sent.
    pub begins: u64,
    /// The range of lines that record the usage of the reply.
    pub lines: RangeInclusive<u64>,
    /// The recorded usage of the reply.
    pub usage: Usage,
}

/// A reply with recorded usage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reply {
    /// The 1-based line of the reply.
    pub line: u64,
    /// The model that wrote the reply, if it is known.
    pub model: Option<String>,
    /// The number of tokens in the request's messages, as we count them.
    pub counted: u64,
    /// The number of tokens in the whole request, as the API counts them.
    pub prompt: u64,
    /// The smallest size predicted from earlier replies. `None` if there was nothing to base a
    /// prediction on.
    pub low: Option<u64>,
    /// The likely size.
    pub tokens: Option<u64>,
    /// The largest size.
    pub high: Option<u64>,
}

impl Calibration {
    /// Returns the likely size of the last request after `freed` tokens, as we count them, are
    /// removed. Returns `None` if no reply with recorded usage follows the last compaction.
    pub fn without(&self, freed: u64) -> Option<u64> {
        self.last.as_ref()?;
        self.calibrator.without(freed)
    }

    /// Returns how many replies were predicted, and for how many of these the API's count was
    /// within the predicted range.
    pub fn foretold(&self) -> (usize, usize) {
        let foretold =
            self.replies.iter().filter_map(|it| Some((it.low?..=it.high?).contains(&it.prompt)));
        foretold.fold((0, 0), |(all, held), is_held| (all + 1, held + usize::from(is_held)))
    }
}

/// A prompt with fewer tokens than this share of our count is not the size of the request.
const FEWEST: u64 = 10;

/// Learns from the usage in the records of a session.
pub struct CalibrationPass {
    counter: MessageCounter,
    dialect: Option<&'static dyn Dialect>,
    calibrator: Calibrator,
    /// The number of tokens on the path since the last compaction, including the records that it
    /// kept.
    sum: u64,
    /// The number of tokens in the context so far.
    inside: u64,
    model: Option<String>,
    window: Option<u64>,
    run: Run,
    /// The last reply with recorded usage. Later lines may record the same usage again.
    open: Option<Open>,
    replies: Vec<Reply>,
    replaced: ReplacedResults,
    /// The number of results so far that differ from what was sent.
    pruned: u64,
    /// The value of `pruned` before the last reply that was learned from.
    pruned_before: u64,
    /// By how many tokens each record, given by its id, was larger before a later line changed it.
    /// `None` if the agent has no such lines.
    shrunk: Option<HashMap<String, u64>>,
}

/// A reply whose usage may be recorded again by later lines.
struct Open {
    key: Key,
    last: LastReply,
    /// The number of tokens in the request's messages, as we count them.
    counted: u64,
    model: Option<String>,
    /// The number of results before the reply that differ from what was sent.
    pruned: u64,
}

/// The model's messages since the last message from any other role. The messages become a reply as
/// soon as their usage is recorded.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    number: u64,
    /// The number of tokens on the path before the reply. `None` before the first reply, and for
    /// replies that are not on the path.
    before: Option<u64>,
    /// The line where the reply begins.
    line: u64,
    /// The number of results before the reply that differ from what was sent.
    pruned: u64,
    /// Whether the reply may still continue.
    goes_on: bool,
}

/// Identifies a reply. If replies have no id, the number tells them apart.
type Key = (UsageOf, u64);

impl CalibrationPass {
    /// Creates a pass that has not learned anything yet.
    pub fn new(counter: MessageCounter, dialect: Option<&'static dyn Dialect>) -> Self {
        let log = dialect.and_then(|dialect| dialect.log());
        Self {
            counter,
            dialect,
            calibrator: Calibrator::new(counter.encoding),
            sum: 0,
            inside: 0,
            model: None,
            window: None,
            run: Run::default(),
            open: None,
            replies: Vec::new(),
            replaced: ReplacedResults::default(),
            pruned: 0,
            pruned_before: 0,
            shrunk: log.and_then(ctx_format::Log::edit_writer).map(|_| HashMap::new()),
        }
    }

    /// Processes a record. `tokens` is the record's token count, if it is known and the record is
    /// in the context.
    pub fn push(&mut self, record: &Record<'_>, tokens: Option<u64>) {
        let (Some(dialect), Some(object)) = (self.dialect, record.whole_object()) else { return };
        let not_sent = record.presence == Some(Presence::Outside(Outside::NeverSent));
        let was_sent = record.presence == Some(Presence::Outside(Outside::BeforeCompaction));
        let is_inside = !record.is_outside();
        if self.shrunk.is_some() {
            self.edits(record, dialect, not_sent);
        }
        if !is_inside && !not_sent && !was_sent {
            // The record is not on the path, so it was not part of any request.
            let outline = dialect.outline(object);
            if outline.is_some_and(|outline| outline.role == Role::Assistant) {
                self.run.before = None;
                self.run.goes_on = false;
            }
            return;
        }
        if let Some(model) = dialect.model(object) {
            self.model = Some(model.into_owned());
        }
        let usage = dialect.usage(object).filter(|usage| !usage.is_of_helper);
        if not_sent {
            // The record itself was not sent, but it may record the usage of a request.
            let is_apart = |usage: &Usage| matches!(usage.of, UsageOf::Before | UsageOf::Next);
            if let Some(usage) = usage.filter(is_apart) {
                self.usage(&usage, record.line);
            }
            return;
        }
        let outline = dialect.outline(object);
        // A summary starts a new request, and so does a list of messages with several roles.
        let starts_over = |it: &Outline<'_>| it.is_summary || it.role == Role::Other;
        if outline.as_ref().is_some_and(starts_over) {
            self.compacted(is_inside);
        }
        let of_reply = |usage: &Usage| matches!(usage.of, UsageOf::Reply(_)).then_some(usage.of);
        let reply = usage.as_ref().and_then(of_reply);
        let continues = reply.is_some() && reply == self.open.as_ref().map(|open| open.key.0);
        if let Some(usage) = usage {
            self.usage(&usage, record.line);
        }
        if let Some(outline) = outline {
            self.run.said(outline.role, self.sum, record.line, self.pruned);
            let tokens = tokens.unwrap_or_else(|| {
                // Only the usage tells whether a record outside the context continues a reply.
                let sent = || Some(Message { continues, ..dialect.message(object)? });
                let message = if is_inside { record.message(self.dialect) } else { sent() };
                message.map_or(0, |message| self.counter.message(&message).total())
            });
            if !outline.results.is_empty() {
                self.pruned += self.replaced.count(object, dialect);
            }
            self.sum += tokens;
            self.inside += if is_inside { tokens } else { 0 };
        }
    }

    /// Processes lines that change what is sent of an earlier record, and the records that they
    /// change.
    fn edits(&mut self, record: &Record<'_>, dialect: &dyn Dialect, not_sent: bool) {
        let (Some(object), Some(shrunk)) = (record.whole_object(), &mut self.shrunk) else {
            return;
        };
        let target = dialect.log().and_then(|log| log.edited(object)).filter(|_| not_sent);
        if let Some(tokens) = target.and_then(|target| shrunk.remove(&*target)) {
            self.pruned += 1;
            match &mut self.open {
                Some(open) => open.counted += tokens,
                None => self.calibrator.shrunk(tokens),
            }
        }
        let is_changed = record.portion.as_ref().is_some_and(Portion::is_content);
        if is_changed || record.presence == Some(Presence::Outside(Outside::Superseded)) {
            let tokens = |message: Option<Message<'_>>| {
                message.map_or(0, |message| self.counter.message(&message).total())
            };
            let before = tokens(dialect.message(&object.whole()));
            let freed = before.saturating_sub(tokens(record.message(Some(dialect))));
            if let Some(id) = dialect.links(object).id {
                self.pruned += 1;
                shrunk.insert(id.into_owned(), freed);
            }
        }
    }

    /// After a compaction, restarts the path with the records that are still in the context. The
    /// summary is the next record to be added.
    fn compacted(&mut self, is_inside: bool) {
        self.close();
        self.calibrator.compacted();
        self.sum = if is_inside { self.inside } else { 0 };
        self.run = Run { number: self.run.number, ..Run::default() };
    }

    fn usage(&mut self, usage: &Usage, line: u64) {
        self.window = usage.window.or(self.window);
        let (counted, number, begins, pruned) = match usage.of {
            UsageOf::Record | UsageOf::Next => (self.sum, line, line, self.pruned),
            UsageOf::Reply(_) => (self.sum, 0, line, self.pruned),
            UsageOf::Before => {
                let Run { number, before: Some(before), line, pruned, .. } = self.run else {
                    return;
                };
                (before, number, line, pruned)
            }
        };
        // Some servers report only the tokens that they had not cached, or placeholders.
        if usage.prompt < counted / FEWEST {
            return;
        }
        let key = (usage.of, number);
        match &mut self.open {
            // The reply begins at its first fragment, but the final figures are in the last
            // fragment.
            Some(open) if open.key == key => {
                open.last.lines = *open.last.lines.start()..=line;
                open.last.usage = *usage;
            }
            _ => {
                self.close();
                let last = LastReply { of: usage.of, begins, lines: line..=line, usage: *usage };
                self.open = Some(Open { key, last, counted, model: self.model.clone(), pruned });
            }
        }
    }

    /// Compares the last reply with its prediction, and then learns from it.
    fn close(&mut self) {
        let Some(Open { last, counted, model, pruned, .. }) = self.open.take() else { return };
        let as_sent = pruned == self.pruned_before;
        self.pruned_before = pruned;
        let foretold = self.calibrator.estimate(counted);
        let prompt = last.usage.prompt;
        self.calibrator.learn(&Request { counted, prompt, model: model.as_deref(), as_sent });
        let foretold = foretold.filter(|_| as_sent);
        self.replies.push(Reply {
            line: *last.lines.start(),
            model,
            counted,
            prompt,
            low: foretold.map(|it| it.low),
            tokens: foretold.map(|it| it.tokens),
            high: foretold.map(|it| it.high),
        });
    }

    /// Returns the calibration learned from the session.
    pub fn finish(mut self) -> Calibration {
        let last = self.open.as_ref().map(|open| open.last.clone());
        self.close();
        let counted = self.inside;
        let model = self.calibrator.model.as_deref().map(str::to_owned).or(self.model);
        Calibration {
            counted: if counted == 0 { 0 } else { counted + PRIMING },
            estimate: self.calibrator.estimate(counted),
            factor: self.calibrator.fit.factor,
            base: self.calibrator.base(),
            window: self.window.or_else(|| Some(ctx_tokens::model(model.as_deref()?)?.window)),
            model,
            replies: self.replies,
            last,
            calibrator: self.calibrator,
        }
    }
}

impl Run {
    /// Processes the message in `line`. `sum` is the number of tokens on the path before the
    /// message.
    fn said(&mut self, role: Role, sum: u64, line: u64, pruned: u64) {
        let is_reply = role == Role::Assistant;
        if is_reply && !self.goes_on {
            self.number += 1;
            self.before = Some(sum);
            (self.line, self.pruned) = (line, pruned);
        }
        self.goes_on = is_reply;
    }
}

#[cfg(test)]
mod tests;
