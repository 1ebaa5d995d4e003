//! A compaction in Kimi Code's format: a line with a summary and the number of messages that it
//! replaces.
//!
//! The count makes the agent keep the messages after it. If other messages stay, or if a kept
//! record has changed, the summary replaces all messages, and the kept records are written again
//! after it.

use super::REPLACES_ALL;
use super::convert::message;
use super::entry::{Entry, EntryKind, shortened};
use super::replay::Replay;
use super::view::Lines;
use crate::convert::target::text_block;
use crate::log::compaction::{Compaction, CompactionError, CompactionWriter, LineText, NewLines};
use crate::log::links::LineId;
use crate::log::view::ViewBuilder;
use crate::{Object, Portion};

/// The text that precedes the summary in the message to the model.
pub(super) const OPENING: &str = "What came before in this session was compacted. Its summary:\n\n";

/// The origin of a message with a summary.
const SUMMARY_ORIGIN: &str = r#"{"kind":"compaction_summary"}"#;

/// Collects the lines of a session.
#[derive(Default)]
pub(super) struct Writer(Lines);

impl CompactionWriter for Writer {
    fn push(&mut self, object: &Object<'_>) {
        self.0.push(self.0.read.len(), object);
    }

    fn finish(&mut self, compaction: &Compaction<'_>) -> Result<Vec<String>, CompactionError> {
        let (replay, _) = self.0.replay();
        let mut new = NewLines::of(compaction);
        let first = first_kept(&replay, compaction);
        let agent = self.0.agent.clone().unwrap_or_else(|| "\"main\"".to_owned());
        let begin = |kind: &str| LineText::of_type(kind).json("agentId", &agent);
        let summary = compaction.summary;
        let (before, after) = compaction.tokens;
        let line = begin("context.apply_compaction")
            .text("summary", summary)
            .text("contextSummary", &format!("{OPENING}{summary}"))
            .json("compactedCount", &first.map_or(REPLACES_ALL.to_owned(), |at| at.to_string()))
            .json("tokensBefore", &before.to_string())
            .json("tokensAfter", &after.to_string())
            .is("legacyTail", true)
            .json("time", &new.milliseconds().to_string());
        let mut lines = vec![line.end()];
        if first.is_none() {
            let (agent, new, replay) = (&*agent, &mut new, &replay);
            let mut copies = Copies { agent, new, replay, lines, open: None };
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
        let length = self.0.replay().0.items.len();
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
    // The two parts of a message that a compaction shortened are written as one message.
    let is_whole = sent[tail..].iter().all(|at| !replay.items[*at].is_short);
    (count == kept.len() && is_tail && is_whole).then_some(first)
}

/// Writes the kept records again. The agent needs lines around the parts of a reply.
struct Copies<'c> {
    /// The name of the agent, as raw JSON.
    agent: &'c str,
    new: &'c mut NewLines,
    replay: &'c Replay,
    lines: Vec<String>,
    /// The members that all events of the open reply share, as raw JSON; the first is its id.
    open: Option<Vec<(&'static str, String)>>,
}

impl Copies<'_> {
    fn add(&mut self, object: &Object<'_>) -> Result<(), CompactionError> {
        let entry = Entry::of(object).ok_or(CompactionError::Unreadable)?;
        let line = match entry.kind {
            EntryKind::Part | EntryKind::Call => {
                self.reply(&object.object_of("event").ok_or(CompactionError::Unreadable)?);
                None
            }
            EntryKind::Result => None,
            EntryKind::Message => {
                self.end();
                let content = self.replay.short_content(LineId::of(entry.body.text()));
                let sent = content.map(|content| object.only(Portion::with_content(&content)));
                sent.as_ref().and_then(shortened)
            }
            // The line itself would replace the lines before it once more.
            EntryKind::Compaction => {
                self.end();
                let message = message("user", &[text_block(&entry.text())]);
                let message = message.json("origin", SUMMARY_ORIGIN).end();
                Some(self.line("context.append_message", "message", &message))
            }
        };
        let line = line.as_deref().unwrap_or(object.text()).trim().to_owned();
        self.lines.push(line);
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
        let line = self.line("context.append_loop_event", "event", &event);
        self.lines.push(line);
    }

    fn line(&mut self, kind: &str, key: &str, json: &str) -> String {
        let line = LineText::of_type(kind).json("agentId", self.agent).json(key, json);
        line.json("time", &self.new.milliseconds().to_string()).end()
    }
}
