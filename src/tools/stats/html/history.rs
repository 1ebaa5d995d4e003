//! The history of a session: its earlier states, oldest first.

use std::io::{Read, Result};

use ctx_engine::stats::profile::{Cut, Mark, Replaced};
use ctx_store::{Entry, Event, Meta, SnapshotBytes, Store, hash};

use super::super::status::Known;

/// The number of replacements to show, newest first.
const MOST_STATES: usize = 12;

/// A state that the session had before its file was replaced.
pub(super) struct State {
    /// The snapshot of it.
    pub(super) entry: Entry,
    /// The replacement that produced it, except for the first state.
    pub(super) replaced: Option<Replaced>,
}

/// A compaction, with the states before and after.
pub(super) struct Compaction {
    pub(super) event: Event,
    /// The snapshot of the session before, if it exists.
    pub(super) before: Option<Entry>,
    /// How long the session was then.
    pub(super) written: Option<u64>,
    /// The state that begins with what it wrote, where it is not the session as it is now.
    pub(super) next: Option<Entry>,
}

/// The states of a session.
#[derive(Default)]
pub(super) struct History {
    /// Those that are no more, the oldest first.
    pub(super) states: Vec<State>,
    /// What made the session what it is now.
    pub(super) replaced: Option<Replaced>,
    /// Compactions that were appended to the session, which records them itself, and the number of
    /// lines before each.
    appended: Vec<(Event, u64)>,
    /// The newest compaction.
    pub(super) compaction: Option<Compaction>,
}

impl History {
    /// Tells the marks of compactions that were appended what the log has of them.
    pub(super) fn annotate(&self, marks: &mut [Mark]) {
        for (event, lines) in &self.appended {
            let is_its = |mark: &&mut Mark| {
                mark.tool.is_none() && mark.line.is_some_and(|line| line > *lines)
            };
            if let Some(mark) = marks.iter_mut().find(is_its) {
                mark.tool = Some(event.tool.clone());
                mark.before = event.tokens_before.or(mark.before);
                mark.after = event.tokens_after.unwrap_or(mark.after);
            }
        }
    }

    /// `open` gives the session as it is now.
    pub(super) fn of<R: Read>(store: &Store, known: &Known, open: impl Fn() -> Option<R>) -> Self {
        let mut history = Self::default();
        let replacements = known.events.iter().filter(|event| cut(event).is_some());
        let newest: Vec<&Event> = replacements.take(MOST_STATES).collect();
        let replacements: Vec<(&Event, Option<&Entry>)> =
            newest.into_iter().rev().map(|event| (event, snapshot(known, event))).collect();
        for (number, (event, entry)) in replacements.iter().enumerate() {
            let next = replacements.get(number + 1);
            if event.op == "compact" {
                history.compaction = Some(Compaction {
                    event: (*event).clone(),
                    // What it wrote is only there where the state after it is.
                    before: entry.filter(|_| next.is_none_or(|next| next.1.is_some())).cloned(),
                    written: written(event, entry.and_then(|entry| entry.meta.as_ref().ok())),
                    next: next.and_then(|(_, next)| next.cloned()),
                });
            }
            let Some(entry) = entry else {
                // What was before it cannot be had.
                history.states.clear();
                history.replaced = replaced(event, None);
                continue;
            };
            let meta = entry.meta.as_ref().ok();
            let is_appended = meta.is_some_and(|meta| match next {
                Some((_, next)) => next
                    .and_then(|next| bytes(store, next))
                    .is_some_and(|next| begins_with(next, meta)),
                None => open().is_some_and(|now| begins_with(now, meta)),
            });
            // Then the next state tells all that this one does.
            if is_appended {
                let lines = meta.map_or(0, |meta| meta.lines);
                history.appended.push(((*event).clone(), lines));
                continue;
            }
            history
                .states
                .push(State { entry: (*entry).clone(), replaced: history.replaced.take() });
            history.replaced = replaced(event, meta);
        }
        history
    }
}

/// What a replacement did to the context; `None` of what is none.
fn cut(event: &Event) -> Option<Cut> {
    if event.phase != "done" || event.snapshots.len() != 1 {
        return None;
    }
    match event.op.as_str() {
        "compact" => Some(Cut::Compaction),
        "rollback" => Some(Cut::Rollback),
        "output" => Some(Cut::Replacement),
        _ => None,
    }
}

fn replaced(event: &Event, meta: Option<&Meta>) -> Option<Replaced> {
    Some(Replaced {
        cut: cut(event)?,
        tool: event.tool.clone(),
        time: event.time,
        bytes: written(event, meta),
    })
}

/// The length of the session after a replacement.
fn written(event: &Event, meta: Option<&Meta>) -> Option<u64> {
    let planned = meta.and_then(|meta| meta.replaced_by.as_ref());
    event.bytes.or(planned.map(|planned| planned.bytes))
}

fn snapshot<'k>(known: &'k Known, event: &Event) -> Option<&'k Entry> {
    let id = event.snapshots.first()?;
    let mut entries = known.entries.iter();
    entries.find(|entry| entry.id.to_string() == *id && entry.meta.is_ok())
}

/// The bytes of a snapshot, where they can be trusted.
pub(super) fn bytes(store: &Store, entry: &Entry) -> Option<SnapshotBytes> {
    store.open_verified(entry).ok().map(|(bytes, _)| bytes)
}

/// Whether a state begins with all bytes of another: something was appended, and nothing more.
fn begins_with(state: impl Read, meta: &Meta) -> bool {
    let found: Result<String> = hash(&mut state.take(meta.bytes));
    found.is_ok_and(|found| found == meta.sha256)
}
