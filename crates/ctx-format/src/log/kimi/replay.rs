//! Replays the lines of a session in the same way as the agent does when it resumes the session.
//!
//! The rules follow version 2.1.0. The lines form branches: an undo begins a new branch, which
//! continues an earlier one after one of its lines. On a branch, messages are added as a whole or,
//! if they are replies, part by part. When the agent resumes, it ends the reply that is still open.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::entry::Source;
use super::line::{Facts, Line, Shape, Switch, tokens};
use crate::Role;
use crate::log::links::LineId;
use crate::log::view::Outside;

/// The maximum size of the user's messages that the agent's own compaction keeps, in estimated
/// tokens, and the part of it for the first messages.
const KEPT_TOKENS: usize = 20_000;
const KEPT_HEAD: usize = 2_000;

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
    /// The parts and results that belong to no open reply, each with its role.
    pub(super) stray: Vec<(usize, Role)>,
}

impl Item {
    fn of(record: usize, facts: Facts) -> Self {
        Self { records: vec![record], facts, ..Self::default() }
    }

    /// A message that the agent adds at a compaction.
    fn added() -> Self {
        let facts = Facts { role: Role::User, source: Source::Injection, ..Facts::default() };
        Self { facts, ..Self::default() }
    }

    fn is_of_user(&self) -> bool {
        self.facts.role == Role::User && self.facts.source == Source::User
    }

    /// Returns the message with only this text.
    fn with_text(&self, text: &str) -> Self {
        let facts = Facts { text: text.into(), tokens: 1 + tokens(text), ..self.facts.clone() };
        Self { facts, is_short: true, ..self.clone() }
    }
}

impl Replay {
    /// Replays the lines with these numbers, each with its record.
    pub(super) fn of<'l>(lines: impl IntoIterator<Item = (usize, &'l Line)>) -> Self {
        let mut replay = Self::default();
        for (record, line) in lines {
            replay.add(record, line);
        }
        replay
    }

    fn add(&mut self, record: usize, line: &Line) {
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
                    return self.stray.push((record, Role::Assistant));
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
                    return self.stray.push((record, Role::Tool));
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
            Line::Compaction(shape) => self.compact(record, *shape),
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

    fn compact(&mut self, record: usize, shape: Shape) {
        let facts = Facts { role: Role::User, source: Source::Summary, ..Facts::default() };
        let summary = Item::of(record, facts);
        let items = match shape {
            Shape::From(index) => {
                [&[summary], &self.items[slice_start(index, self.items.len())..]].concat()
            }
            Shape::Requests => [kept_requests(&self.items), vec![summary, Item::added()]].concat(),
        };
        self.replace(items, Outside::BeforeCompaction);
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
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both are limited")]
fn slice_start(index: f64, length: usize) -> usize {
    let index = index.trunc();
    if index < 0.0 { length.saturating_sub(-index as usize) } else { length.min(index as usize) }
}

/// Returns the user's messages that the agent's own compaction keeps: all of them or, if they are
/// too large, the first and the last ones, and a note between them.
fn kept_requests(items: &[Item]) -> Vec<Item> {
    let all: Vec<&Item> = items.iter().filter(|item| item.is_of_user()).collect();
    if all.iter().map(|item| item.facts.tokens).sum::<usize>() <= KEPT_TOKENS {
        return all.into_iter().cloned().collect();
    }
    let (mut tail, mut room) = (Vec::new(), KEPT_TOKENS - KEPT_HEAD);
    let (mut end, mut cut) = (all.len(), None);
    while end > 0 && room > 0 {
        end -= 1;
        let Facts { text, tokens, .. } = &all[end].facts;
        if *tokens <= room {
            tail.push(all[end].clone());
            room -= tokens;
            continue;
        }
        let (begin, rest) = text.split_at(text.len() - length_of(text.chars().rev(), room));
        tail.push(all[end].with_text(rest));
        cut = (!begin.is_empty()).then(|| all[end].with_text(begin));
        break;
    }
    let (mut kept, mut room) = (Vec::new(), KEPT_HEAD);
    for item in all[..end].iter().copied().chain(&cut) {
        let Facts { text, tokens, .. } = &item.facts;
        if *tokens > room {
            let head = &text[..length_of(text.chars(), room)];
            kept.extend((room > 0).then(|| item.with_text(head)));
            break;
        }
        kept.push(item.clone());
        room -= tokens;
    }
    tail.push(Item::added());
    kept.extend(tail.into_iter().rev());
    kept
}

/// Returns the number of bytes of the characters that make up at most `most` tokens.
fn length_of(text: impl Iterator<Item = char>, most: usize) -> usize {
    let (mut ascii, mut others, mut length) = (0_usize, 0_usize, 0);
    for c in text {
        ascii += usize::from(c.is_ascii());
        others += usize::from(!c.is_ascii());
        if ascii.div_ceil(4) + others > most {
            break;
        }
        length += c.len_utf8();
    }
    length
}

/// A branch: its lines, and the beginning of the branch if it continues another one.
type Branch<'l> = (Range<usize>, Option<&'l Switch>);

/// Returns the indexes of the lines that the agent replays: those on the active branch, and what
/// the agent said about the session as a whole on any branch. `Err` holds the index of the newest
/// branch's beginning if its bases form a loop, or lead to a branch that is not in the file.
pub(super) fn active(lines: &[(usize, Line)]) -> Result<Vec<usize>, usize> {
    let switches = lines.iter().enumerate().filter_map(|(at, (_, line))| match line {
        Line::Switch(switch) => Some((at, switch)),
        _ => None,
    });
    let switches: Vec<(usize, &Switch)> = switches.collect();
    let Some((newest, _)) = switches.last().copied() else { return Ok((0..lines.len()).collect()) };
    let mut branches: HashMap<LineId, Branch<'_>> = HashMap::new();
    let (mut branch, mut begin, mut base) = (LineId::of("main"), 0, None);
    for (at, switch) in &switches {
        branches.insert(branch, (begin..*at, base));
        (branch, begin, base) = (switch.branch, at + 1, Some(*switch));
    }
    branches.insert(branch, (begin..lines.len(), base));
    let (mut is_on, mut end, mut seen) = (vec![false; lines.len()], lines.len(), HashSet::new());
    loop {
        let is_new = seen.insert(branch);
        let (range, base) = branches.get(&branch).filter(|_| is_new).ok_or(newest)?;
        is_on.iter_mut().take(end).skip(range.start).for_each(|is_on| *is_on = true);
        let Some(base) = base else { break };
        // The last line of the base counts from 1.
        (branch, end) = (base.base, slice_start(base.line.max(0.0), lines.len()));
    }
    let undone = switches.iter().filter_map(|(_, switch)| switch.undo);
    let undone: HashSet<usize> = undone.map(|line| slice_start(line, usize::MAX)).collect();
    let is_undone = |at: usize| matches!(&lines[at].1, Line::Undo(_)) && undone.contains(&(at + 1));
    let is_on = |at: &usize| is_on[*at] && !is_undone(*at);
    let facts =
        |at: usize| if let Line::Message(facts) = &lines[at].1 { Some(facts) } else { None };
    let requests = (0..lines.len()).filter(is_on).filter_map(facts);
    let requests: HashSet<LineId> =
        requests.filter(|facts| facts.is_request).filter_map(|facts| facts.id).collect();
    let is_shared = |facts: &Facts| {
        let is_left = |owner: LineId| requests.contains(&owner);
        facts.source == Source::Injection && facts.owner.is_none_or(is_left)
    };
    Ok((0..lines.len()).filter(|at| is_on(at) || facts(*at).is_some_and(is_shared)).collect())
}
