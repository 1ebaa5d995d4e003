//! Analyzes what fills the context window of a session: the kinds of content over time, what
//! reduced the context, its largest parts, the tokens that would be freed by pruning, and what the
//! last compaction kept and lost.
//!
//! The session is read once. Apart from a name that is stored for each result, memory use is
//! bounded.

mod compaction_score;
mod kind;
mod largest;
#[cfg(test)]
mod tests;
mod timeline;

use std::borrow::Cow;

use compaction_score::RecordedCompaction;
use ctx_engine::calls::CallNames;
use ctx_engine::count::{Share, Tally};
use ctx_engine::message_counter::{MessageCounter, PRIMING};
use ctx_engine::prune::{Plan, PrunePass};
use ctx_engine::{Notes, PassError, Session};
use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, Message, Record, Role, Usage, UsageOf};
use kind::{Counted, count};
use largest::{Calls, Largest};
use timeline::Timeline;

pub use compaction_score::{CompactionScore, MOST_LOST};
pub use kind::{ContentKind, TokensByKind};
pub use largest::{Group, Item, MOST_GROUPS, MOST_ITEMS, Savings};
pub use timeline::{Cut, MOST_POINTS, Mark, Point, Replaced};

/// The profile of a session.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The tokens in the current context, by kind.
    pub context: TokensByKind,
    /// For each tool, the tokens in its calls and their results, largest first.
    pub tools: Vec<(String, Share)>,
    /// The size of the context after each record, thinned out to the chart's resolution.
    pub points: Vec<Point>,
    /// The reductions of the context, in chronological order.
    pub marks: Vec<Mark>,
    /// The largest parts of the context.
    pub largest: Vec<Item>,
    /// The tokens that would be freed by pruning, or why the session cannot be pruned.
    pub savings: Result<Savings, String>,
    /// What the last recorded compaction kept and lost.
    pub score: Option<CompactionScore>,
    /// The model that the last request was sent to, if the session names it.
    pub model: Option<String>,
}

/// Reads the successive states of a session, from the oldest to the current one.
pub struct ProfilePass {
    counter: MessageCounter,
    timeline: Timeline,
}

impl ProfilePass {
    /// Creates a pass that has not read any session yet.
    pub fn new(counter: MessageCounter) -> Self {
        Self { counter, timeline: Timeline::default() }
    }

    /// Reads an earlier state of the session. `replaced` describes the file replacement that led to
    /// this state.
    pub fn earlier(
        &mut self,
        session: &mut Session,
        replaced: Option<Replaced>,
    ) -> Result<(), PassError> {
        let Some(dialect) = session.dialect() else { return Ok(()) };
        self.timeline.begin(replaced);
        let mut walk = Walk::new(self.counter, dialect);
        session.visit(|record| drop(follow(&mut walk, &mut self.timeline, record)))?;
        self.timeline.settle();
        Ok(())
    }

    /// Reads the current state of the session, and returns the profile. `replaced` describes the
    /// file replacement that led to this state, and `plan` is the pruning plan to preview.
    pub fn now(
        mut self,
        session: &mut Session,
        replaced: Option<Replaced>,
        plan: &Plan,
    ) -> Result<Profile, PassError> {
        self.timeline.begin(replaced);
        let dialect = session.dialect();
        let prune = session.refuse_document("pruned", false);
        let mut now = CurrentSession {
            walk: dialect.map(|dialect| Walk::new(self.counter, dialect)),
            tally: Tally::default(),
            names: CallNames::default(),
            calls: Calls::default(),
            largest: Largest::default(),
            score: RecordedCompaction::default(),
            prune: prune.map(|()| PrunePass::new(plan, dialect, true)),
            model: None,
        };
        now.tally.begin();
        session.visit(|record| now.push(record, &mut self.timeline))?;
        self.timeline.settle();
        Ok(now.finish(self.timeline))
    }
}

/// Adds the next record in a session to the curve.
fn follow<'r>(walk: &mut Walk, timeline: &mut Timeline, record: &Record<'r>) -> Option<Step<'r>> {
    let step = walk.push(record);
    if let Some(step) = &step {
        timeline.push(record, step, walk);
    }
    let usage = record.whole_object().and_then(|it| walk.dialect.usage(it));
    let usage = usage.filter(|usage| !usage.is_of_helper);
    // Some agents record the usage before or after the reply, in a record that is never sent.
    let is_unsent = record.presence == Some(Presence::Outside(Outside::NeverSent));
    let is_apart = |usage: &Usage| matches!(usage.of, UsageOf::Before | UsageOf::Next);
    if let Some(usage) = usage
        && (step.is_some() || (is_unsent && is_apart(&usage)))
    {
        timeline.recorded(usage.prompt);
    }
    step
}

/// Collects the data for the profile from the current state of a session.
struct CurrentSession<'p> {
    /// Tracks the size of the context; `None` if the dialect is unknown.
    walk: Option<Walk>,
    tally: Tally,
    names: CallNames,
    calls: Calls,
    largest: Largest,
    score: RecordedCompaction,
    prune: Result<PrunePass<'p>, PassError>,
    model: Option<String>,
}

impl CurrentSession<'_> {
    fn push(&mut self, record: &Record<'_>, timeline: &mut Timeline) {
        if let Ok(prune) = &mut self.prune
            && let Err(error) = prune.push(record)
        {
            self.prune = Err(error);
        }
        let Some(walk) = &mut self.walk else { return };
        let Some(step) = follow(walk, timeline, record) else { return };
        self.score.push(record, &step, walk.dialect);
        let model = record.object().and_then(|object| walk.dialect.model(object));
        self.model = model.map(Cow::into_owned).or_else(|| self.model.take());
        step.message.calls().for_each(|call| self.names.push(call));
        if step.is_inside {
            let (line, message) = (record.line, &step.message);
            self.tally.message(&walk.counter, message);
            self.largest.push(line, message, &step.counted, &self.names);
            self.calls.push(line, message, &self.names);
        }
    }

    fn finish(self, timeline: Timeline) -> Profile {
        let calls = &self.calls;
        let decided = self.prune.and_then(|prune| prune.finish(true, &mut Notes::default()));
        let savings = decided.map(|decision| calls.savings(&decision));
        let mut tools = self.tally.by_tool();
        tools.retain(|(name, share)| share.count > 0 || name == "(unknown)");
        tools.sort_by(|a, b| b.1.tokens.cmp(&a.1.tokens).then_with(|| a.0.cmp(&b.0)));
        let (points, marks) = timeline.finish();
        Profile {
            context: self.walk.map(Walk::finish).unwrap_or_default(),
            tools,
            points,
            marks,
            largest: self.largest.0,
            savings: savings.map_err(|error| error.to_string()),
            score: self.score.finish(),
            model: self.model,
        }
    }
}

/// Tracks the size of the context while the records of a session are read in order.
struct Walk {
    counter: MessageCounter,
    dialect: &'static dyn Dialect,
    /// The context after the last record.
    context: TokensByKind,
    /// The tokens in `context` that are still in the context at the end of the session.
    inside: TokensByKind,
}

/// Returns the tokens in a context without messages: only those that prime the reply, which count
/// as assistant text.
fn primed() -> TokensByKind {
    let mut kinds = TokensByKind::default();
    kinds.add(ContentKind::Assistant, PRIMING);
    kinds
}

/// A record that is in the current context or was in an earlier one.
struct Step<'r> {
    message: Message<'r>,
    is_summary: bool,
    /// Whether the record is still in the context at the end of the session.
    is_inside: bool,
    counted: Counted,
    /// The context before this record, if this record is a summary that starts the context over.
    before: Option<TokensByKind>,
}

impl Walk {
    fn new(counter: MessageCounter, dialect: &'static dyn Dialect) -> Self {
        Self { counter, dialect, context: primed(), inside: primed() }
    }

    /// Returns the tokens in the context at the end of the session, by kind.
    fn finish(self) -> TokensByKind {
        // A session without messages has no reply to prime.
        if self.inside == primed() {
            return TokensByKind::default();
        }
        self.inside
    }

    /// Processes the next record. Returns `None` if the record was never in the context.
    fn push<'r>(&mut self, record: &Record<'r>) -> Option<Step<'r>> {
        let object = record.whole_object()?;
        let dialect = self.dialect;
        let (is_inside, outline, message) = match record.presence {
            None | Some(Presence::Inside(_)) => {
                (true, record.outline(Some(dialect))?, record.message(Some(dialect))?)
            }
            Some(Presence::Outside(Outside::BeforeCompaction)) => {
                (false, dialect.outline(object)?, dialect.message(object)?)
            }
            Some(Presence::Outside(_)) => return None,
        };
        let is_summary = outline.is_summary || outline.role == Role::Other;
        let text = ContentKind::of_text(outline.role, is_summary);
        let counted = count(&self.counter, &message, text);
        let mut before = None;
        // Only an agent's log still contains the messages that were replaced by a summary. A plain
        // list of messages no longer contains replaced messages.
        if is_summary && record.presence.is_some() {
            before = Some(self.context);
            self.context = if is_inside { self.inside } else { primed() };
        }
        self.context += counted.kinds;
        if is_inside {
            self.inside += counted.kinds;
        }
        Some(Step { message, is_summary, is_inside, counted, before })
    }
}
