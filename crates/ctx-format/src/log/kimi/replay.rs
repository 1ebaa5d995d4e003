//! Replays the lines of a session in the same way as the agent does when it resumes the session.
//!
//! The rules follow version 2.1.0. The lines form branches: an undo begins a new branch, which
//! continues an earlier one after one of its lines. On a branch, messages are added as a whole or,
//! if they are replies, part by part. When the agent resumes, it ends the reply that is still open.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::entry::Source;
use super::line::{Facts, Line, Switch, tokens};
use crate::Role;
use crate::compaction::list;
use crate::convert::target::text_block;
use crate::log::links::LineId;
use crate::log::view::Outside;

/// The maximum size of the user's messages that the agent's own compaction keeps, in estimated
/// tokens, and the part of it for the first messages.
const KEPT_TOKENS: usize = 20_000;
const KEPT_HEAD: usize = 2_000;

/// Why messages that a compaction replaced are outside the context.
const BEFORE: Outside = Outside::BeforeCompaction;

/// A message at some point in the replay.
#[derive(Clone, Default)]
pub(super) struct Item {
    /// The records that hold the message; none if the agent makes the message itself.
    pub(super) records: Vec<usize>,
    pub(super) facts: Facts,
    /// Whether a compaction has shortened the message to the text in `facts`.
    pub(super) is_short: bool,
    /// Whether the message is a reply that is still open.
    is_open: bool,
}

/// The messages at some point in the replay.
#[derive(Default)]
pub(super) struct Replay {
    pub(super) items: Vec<Item>,
    /// The id of the reply that is open.
    step: Option<LineId>,
    /// The calls of that reply that have no result yet.
    pending: Vec<LineId>,
    /// The messages that wait for these results.
    deferred: Vec<Item>,
    /// The records that are no longer in the context, each with the reason.
    pub(super) outside: Vec<(usize, Outside)>,
    /// The parts and results that belong to no open reply, each with the rule that it breaks.
    pub(super) stray: Vec<(usize, &'static str)>,
}

impl Item {
    fn of(record: usize, facts: Facts) -> Self {
        Self { records: vec![record], facts, ..Self::default() }
    }

    fn summary(record: usize) -> Self {
        let source = Source::Summary;
        Self::of(record, Facts { role: Role::User, source, ..Facts::default() })
    }

    /// A message that the agent adds at a compaction.
    fn added() -> Self {
        let facts = Facts { role: Role::User, source: Source::Injection, ..Facts::default() };
        Self { facts, ..Self::default() }
    }

    /// Returns the message with only this text.
    fn with_text(&self, text: &str) -> Self {
        let facts = Facts { text: text.into(), tokens: 1 + tokens(text), ..self.facts.clone() };
        Self { facts, is_short: true, ..self.clone() }
    }
}

impl Replay {
    /// Replays the next line.
    pub(super) fn add(&mut self, record: usize, line: &Line) {
        match line {
            Line::Message(facts) => {
                self.deferred.push(Item::of(record, facts.clone()));
                self.flush();
            }
            Line::Begin(id) => {
                self.settle();
                let (role, source) = (Role::Assistant, Source::Other);
                let facts = Facts { role, source, is_vacuous: true, ..Facts::default() };
                self.items.push(Item { facts, is_open: true, ..Item::default() });
                self.step = Some(*id);
            }
            Line::Part(step, facts) => {
                let mut items = self.items.iter_mut().rev();
                let open = items.find(|item| item.is_open);
                let Some(open) = open.filter(|_| self.step == Some(*step)) else {
                    return self.stray.push((record, "stray-part"));
                };
                open.records.push(record);
                open.facts.is_vacuous &= facts.is_vacuous;
                open.facts.calls.extend(&facts.calls);
                let is_new = |call: &&LineId| !self.pending.contains(call);
                let new: Vec<LineId> = facts.calls.iter().filter(is_new).copied().collect();
                self.pending.extend(new);
            }
            Line::Result(call) => {
                let Some(at) = self.pending.iter().position(|id| id == call) else {
                    return self.stray.push((record, "orphan-result"));
                };
                self.pending.remove(at);
                self.items.push(Item::of(record, Facts::of_result(*call)));
                self.flush();
            }
            Line::End => {
                self.settle();
                self.flush();
            }
            Line::Undo(count) => self.undo(*count),
            Line::Clear => self.replace(Vec::new(), Outside::DeadBranch),
            Line::Compaction(index) => {
                let kept = self.items[slice_start(*index, self.items.len())..].to_vec();
                self.replace([vec![Item::summary(record)], kept].concat(), BEFORE);
            }
            Line::KeepRequests => {
                let after = vec![Item::summary(record), Item::added()];
                self.replace([kept_requests(&self.items), after].concat(), BEFORE);
            }
            Line::Switch(_) | Line::Other => {}
        }
    }

    /// Returns true if a reply is open, so that a result may still come.
    pub(super) fn is_open(&self) -> bool {
        self.step.is_some()
    }

    /// Ends the open reply. The agent itself answers the calls that have no result.
    pub(super) fn settle(&mut self) {
        if self.step.is_none() {
            return;
        }
        for call in std::mem::take(&mut self.pending) {
            self.items.push(Item { facts: Facts::of_result(call), ..Item::default() });
        }
        self.flush();
        if let Some(open) = self.items.iter().rposition(|item| item.is_open) {
            self.items[open].is_open = false;
            if self.items[open].facts.is_void() {
                self.items.remove(open);
            }
        }
        self.step = None;
    }

    /// Adds the messages that waited for results.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            self.items.append(&mut self.deferred);
        }
    }

    /// Replaces all messages. Replies that are open stay open for good.
    fn replace(&mut self, items: Vec<Item>, why: Outside) {
        let kept: HashSet<usize> = items.iter().flat_map(|item| &item.records).copied().collect();
        let old = std::mem::replace(&mut self.items, items);
        let gone = old.into_iter().chain(self.deferred.drain(..)).flat_map(|item| item.records);
        let gone = gone.filter(|record| !kept.contains(record));
        self.outside.extend(gone.map(|record| (record, why)));
        self.step = None;
        self.pending.clear();
    }

    /// Undoes the last `count` requests, unless there are fewer of them since the last compaction.
    fn undo(&mut self, count: usize) {
        let facts = self.items.iter().map(|item| &item.facts).enumerate().rev();
        let newest = facts.take_while(|(_, facts)| facts.source != Source::Summary);
        let mut requests = newest.filter(|(_, facts)| facts.is_request);
        let Some((mut end, Facts { id, .. })) = requests.nth(count - 1) else { return };
        let is_owned =
            |facts: &Facts| facts.source == Source::Injection && id.is_some() && facts.owner == *id;
        while end > 0 && is_owned(&self.items[end - 1].facts) {
            end -= 1;
        }
        self.replace(self.items[..end].to_vec(), Outside::DeadBranch);
    }

    /// Returns what the agent sends of a message that a compaction has shortened, as a list of
    /// blocks; `None` for any other message.
    pub(super) fn short_content(&self, body: LineId) -> Option<String> {
        let of = |item: &&Item| item.is_short && item.facts.body == body;
        let short = self.items.iter().filter(of).map(|item| text_block(&item.facts.text));
        let short: Vec<String> = short.collect();
        (!short.is_empty()).then(|| list(&short))
    }

    /// Returns the indexes of the messages that the agent sends, in order: results come after their
    /// calls, and a result without a call is left out.
    pub(super) fn sent(&self) -> Vec<usize> {
        let ended = || self.items.iter().enumerate().filter(|(_, item)| !item.is_open);
        let has_reply = ended().any(|(_, item)| item.facts.role == Role::Assistant);
        let mut sent = Vec::new();
        // A message is at its own place, and the result of its first call at the next one.
        let mut open: HashMap<LineId, (usize, usize)> = HashMap::new();
        for (place, Item { facts, .. }) in ended() {
            let key = if facts.role != Role::Tool || !has_reply {
                (!facts.is_void()).then_some((place, 0))
            } else {
                facts.answers.and_then(|call| open.remove(&call))
            };
            sent.extend(key.map(|key| (key, place)));
            open.extend((1..).zip(&facts.calls).map(|(at, call)| (*call, (place, at))));
        }
        sent.sort_unstable();
        sent.into_iter().map(|(_, place)| place).collect()
    }
}

/// Returns the index at which `slice(index)` begins in JavaScript.
fn slice_start(index: i64, length: usize) -> usize {
    let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
    if index < 0 { length.saturating_sub(distance) } else { length.min(distance) }
}

/// Returns the user's messages that the agent's own compaction keeps: all of them or, if they are
/// too large, the first and the last ones, and a note between them.
fn kept_requests(items: &[Item]) -> Vec<Item> {
    let is_of_user =
        |item: &&Item| item.facts.role == Role::User && item.facts.source == Source::User;
    let all: Vec<&Item> = items.iter().filter(is_of_user).collect();
    if all.iter().map(|item| item.facts.tokens).sum::<usize>() <= KEPT_TOKENS {
        return all.into_iter().cloned().collect();
    }
    let last = |text: &str, room| text.len() - length_of(text.chars().rev(), room)..text.len();
    let tail = fitting(all.iter().rev(), KEPT_TOKENS - KEPT_HEAD, last);
    let (before, rest) = all.split_at(all.len() - tail.len());
    let cut = tail.last().and_then(|last| {
        let text = rest[0].facts.text.strip_suffix(&*last.facts.text)?;
        (!text.is_empty()).then(|| rest[0].with_text(text))
    });
    let first = |text: &str, room| 0..length_of(text.chars(), room);
    let mut kept = fitting(before.iter().chain(&cut.as_ref()), KEPT_HEAD, first);
    kept.push(Item::added());
    kept.extend(tail.into_iter().rev());
    kept
}

/// Returns the messages for which there is room, and the part of the next one that still fits.
fn fitting<'i>(
    items: impl Iterator<Item = &'i &'i Item>,
    mut room: usize,
    part: impl Fn(&str, usize) -> Range<usize>,
) -> Vec<Item> {
    let mut kept = Vec::new();
    for item in items {
        let Facts { text, tokens, .. } = &item.facts;
        if *tokens > room {
            kept.extend((room > 0).then(|| item.with_text(&text[part(text, room)])));
            break;
        }
        kept.push((*item).clone());
        room -= tokens;
    }
    kept
}

/// Returns the number of bytes of the characters that make up at most `most` tokens.
fn length_of(text: impl Iterator<Item = char>, most: usize) -> usize {
    let size = |c: &char| if c.is_ascii() { 1 } else { 4 };
    let sums = text.scan(0, |sum, c| {
        *sum += size(&c);
        Some((*sum, c))
    });
    sums.take_while(|(sum, _)| *sum <= 4 * most).map(|(_, c)| c.len_utf8()).sum()
}

/// Returns for each line whether the agent replays it: the lines on the active branch, and what the
/// agent said about the session as a whole on any branch. `Err` holds the index of the newest
/// branch's beginning if its bases form a loop, or lead to a branch that is not in the file.
pub(super) fn active(lines: &[(usize, Line)]) -> Result<Vec<bool>, usize> {
    let switches = lines.iter().enumerate().filter_map(|(at, (_, line))| match line {
        Line::Switch(switch) => Some((at, switch)),
        _ => None,
    });
    let switches: Vec<(usize, &Switch)> = switches.collect();
    let Some((newest, last)) = switches.last().copied() else { return Ok(vec![true; lines.len()]) };
    // Each branch with its first line, and the switch to it.
    let main = (LineId::of("main"), (0, None));
    let others = switches.iter().map(|(at, switch)| (switch.branch, (at + 1, Some(*switch))));
    let branches: HashMap<LineId, _> = [main].into_iter().chain(others).collect();
    let (mut branch, mut end) = (last.branch, lines.len());
    let (mut is_on, mut seen) = (vec![false; lines.len()], HashSet::new());
    loop {
        let is_new = seen.insert(branch);
        let (begin, switch) = branches.get(&branch).filter(|_| is_new).ok_or(newest)?;
        is_on.iter_mut().take(end).skip(*begin).for_each(|is_on| *is_on = true);
        let Some(switch) = switch else { break };
        // The last line of the base counts from 1.
        (branch, end) = (switch.base, slice_start(switch.line.max(0), lines.len()));
    }
    for undo in switches.iter().filter_map(|(_, switch)| switch.undo) {
        let at = usize::try_from(undo.saturating_sub(1)).unwrap_or(usize::MAX);
        if let Some((_, Line::Undo(_))) = lines.get(at) {
            is_on[at] = false;
        }
    }
    let messages = lines.iter().enumerate().filter_map(|(at, (_, line))| match line {
        Line::Message(facts) => Some((at, facts)),
        _ => None,
    });
    let requests = messages.clone().filter(|(at, facts)| is_on[*at] && facts.is_request);
    let requests: HashSet<LineId> = requests.filter_map(|(_, facts)| facts.id).collect();
    for (at, Facts { source, owner, .. }) in messages {
        let is_left = owner.is_none_or(|owner| requests.contains(&owner));
        is_on[at] |= *source == Source::Injection && is_left;
    }
    Ok(is_on)
}
