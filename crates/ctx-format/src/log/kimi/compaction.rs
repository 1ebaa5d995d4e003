//! A compaction in Kimi Code's format: a line with a summary and the number of messages that it
//! replaces.
//!
//! The count makes the agent keep the messages after it. If other messages stay, or if a kept
//! record has changed, the summary replaces all messages, and the kept records are written again
//! after it.

use super::REPLACES_ALL;
use super::entry::{Entry, EntryKind};
use super::replay::Replay;
use super::view::Lines;
use crate::Object;
use crate::log::compaction::{Compaction, CompactionError, CompactionWriter, LineText, NewLines};
use crate::log::view::ViewBuilder;

/// The text that precedes the summary in the message to the model.
const OPENING: &str = "What came before in this session was compacted. Its summary:";

/// Collects the lines of a session.
#[derive(Default)]
pub(super) struct Writer {
    lines: Lines,
    /// The number of records so far.
    count: usize,
    /// The name of the agent, as raw JSON.
    agent: Option<String>,
}

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.lines.push(self.count, object);
        self.count += 1;
        if let Some(agent) = object.get("agentId").filter(|_| self.agent.is_none()) {
            self.agent = Some(agent.to_owned());
        }
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        let (replay, _) = self.lines.replay();
        let mut new = NewLines::of(compaction);
        let first = first_kept(&replay, compaction);
        let agent = self.agent.clone().unwrap_or_else(|| "\"main\"".to_owned());
        let begin = |kind: &str| LineText::of_type(kind).json("agentId", &agent);
        let summary = compaction.summary;
        let (before, after) = compaction.tokens;
        let line = begin("context.apply_compaction")
            .text("summary", summary)
            .text("contextSummary", &format!("{OPENING}\n\n{summary}"))
            .json("compactedCount", &first.map_or(REPLACES_ALL.to_owned(), |at| at.to_string()))
            .json("tokensBefore", &before.to_string())
            .json("tokensAfter", &after.to_string())
            .is("legacyTail", true)
            .json("time", &new.milliseconds().to_string());
        let mut lines = vec![line.end()];
        if first.is_none() {
            let mut copies = Copies { agent: &agent, new: &mut new, lines, open: None };
            for kept in &compaction.kept {
                copies.add(&kept.object()?)?;
            }
            // A reply whose calls wait for results stays open.
            if !replay.is_open() {
                copies.end();
            }
            lines = copies.lines;
        }
        for line in &lines {
            let object = Object::parse(line).map_err(|_| CompactionError::Unreadable)?;
            self.push(&object);
        }
        // Without this line, the agent would use an older count and might compact again at once.
        let length = self.lines.replay().0.items.len();
        let count = begin("token_counting.rebased")
            .json("length", &length.to_string())
            .json("tokens", &after.to_string())
            .json("measured", "false")
            .json("time", &new.milliseconds().to_string());
        lines.push(count.end());
        Ok(lines)
    }
}

/// Returns the number of messages before the first kept one; `None` if the agent would not keep
/// exactly the kept records.
fn first_kept(replay: &Replay, compaction: &Compaction<'_>) -> Option<usize> {
    let kept = &compaction.kept;
    let has_changed = kept.iter().any(|kept| kept.is_changed);
    if kept.is_empty() || !compaction.is_end || has_changed || replay.is_open() {
        return None;
    }
    let sent = replay.sent();
    let (mut tail, mut count) = (sent.len(), 0);
    while count < kept.len() {
        tail = tail.checked_sub(1)?;
        count += replay.items[sent[tail]].records.len();
    }
    let first = *sent[tail..].iter().min()?;
    let is_tail = sent[..tail].iter().all(|place| *place < first);
    (count == kept.len() && is_tail).then_some(first)
}

/// Writes the kept records again. The agent needs lines around the parts of a reply.
struct Copies<'c> {
    /// The name of the agent, as raw JSON.
    agent: &'c str,
    new: &'c mut NewLines,
    lines: Vec<String>,
    /// The members that all events of the open reply share, as raw JSON; the first is its id.
    open: Option<Vec<(&'static str, String)>>,
}

impl Copies<'_> {
    fn add(&mut self, object: &Object<'_>) -> Result<(), CompactionError> {
        match Entry::of(object).map(|entry| entry.kind) {
            Some(EntryKind::Part | EntryKind::Call) => {
                self.reply(&object.object_of("event").ok_or(CompactionError::Unreadable)?);
            }
            Some(EntryKind::Result) => {}
            Some(EntryKind::Message) => self.end(),
            // A summary would replace the lines before it once more.
            Some(EntryKind::Compaction) | None => return Err(CompactionError::Unreadable),
        }
        self.lines.push(object.text().trim().to_owned());
        Ok(())
    }

    /// Begins the reply to which `event` belongs, if it is not open.
    fn reply(&mut self, event: &Object<'_>) {
        let names = [("stepUuid", "uuid"), ("turnId", "turnId"), ("step", "step")].into_iter();
        let members = names.filter_map(|(of, key)| Some((key, event.get(of)?.to_owned())));
        let members: Vec<(&str, String)> = members.collect();
        if self.open.as_ref().is_none_or(|open| open.first() != members.first()) {
            self.end();
            self.event("step.begin", &members);
            self.open = Some(members);
        }
    }

    /// Ends the reply that is open, if any.
    fn end(&mut self) {
        if let Some(mut members) = self.open.take() {
            members.push(("finishReason", "\"end_turn\"".to_owned()));
            self.event("step.end", &members);
        }
    }

    fn event(&mut self, kind: &str, members: &[(&str, String)]) {
        let event = LineText::of_type(kind);
        let event = members.iter().fold(event, |line, (key, raw)| line.json(key, raw)).end();
        let time = self.new.milliseconds().to_string();
        let line = LineText::of_type("context.append_loop_event").json("agentId", self.agent);
        let line = line.json("event", &event);
        self.lines.push(line.json("time", &time).end());
    }
}
