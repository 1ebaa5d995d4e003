//! Calls get ids, and results those of their calls.

use std::collections::HashMap;

use ctx_transcript::{Part, ToolResult};

use crate::said::{Key, Piece};

/// How many ids were made up.
#[derive(Debug, Default)]
pub(crate) struct Ids(u64);

/// The calls of a reply.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Ids and tools of those that wait for their results, last one first.
    waiting: HashMap<Key, Vec<(String, String)>>,
}

impl Ids {
    /// The calls in `pieces`, which get ids where they have none.
    pub(super) fn name_calls(&mut self, pieces: &mut [Piece<'_>]) -> Calls {
        let mut calls = Calls::default();
        for piece in pieces {
            let Part::Call(call) = &mut piece.part else {
                continue;
            };
            let key = Key::of_call(call);
            if call.id.as_ref().is_none_or(|id| id.is_empty()) {
                self.0 += 1;
                call.id = Some(format!("call_ctx_{}", self.0).into());
                // What it was read from does not have it.
                piece.block = None;
            }
            let id = call.id.as_deref().unwrap_or_default().to_owned();
            let name = call.name.clone().into_owned();
            calls.waiting.entry(key).or_default().insert(0, (id, name));
        }
        calls
    }
}

impl Calls {
    /// The id and the tool of the call that `result` answers.
    pub(super) fn take(&mut self, result: &ToolResult<'_>) -> Option<(String, String)> {
        self.waiting.get_mut(&Key::of_result(result))?.pop()
    }

    /// Whether a call that `result` could answer has one already.
    pub(super) fn is_answered(&self, result: &ToolResult<'_>) -> bool {
        let waiting = self.waiting.get(&Key::of_result(result));
        waiting.is_some_and(Vec::is_empty)
    }

    /// How many have no result.
    pub(super) fn left(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }
}
