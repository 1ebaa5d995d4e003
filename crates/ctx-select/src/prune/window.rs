//! The sliding window: which records are before it.

use ctx_transcript::{Role, Zone};

use super::Fact;
use crate::split;

/// Whether each record goes. Zones are those of a split that keeps the last
/// messages with their whole exchanges; where the API wants the user's message
/// first, more is kept until it is.
pub(super) fn dropped(zones: &[split::Verdict], facts: &[Fact], user_first: bool) -> Vec<bool> {
    let mut dropped: Vec<bool> = zones.iter().map(|v| v.zone == Zone::Old).collect();
    if user_first && let Some(from) = begin(&dropped, zones, facts) {
        dropped[from..].fill(false);
    }
    dropped
}

/// From where all is kept, so that the first message is the user's; `None` when it is.
fn begin(dropped: &[bool], zones: &[split::Verdict], facts: &[Fact]) -> Option<usize> {
    let is_said = |index: &usize| facts[*index].role().is_some_and(|role| !role.is_system());
    let first = (0..facts.len()).find(|index| !dropped[*index] && is_said(index))?;
    let mut from = first;
    loop {
        // No exchange may reach over the border.
        let whole = (from..facts.len())
            .filter_map(|index| zones[index].exchange)
            .map(|number| usize::try_from(number).unwrap_or(1) - 1)
            .min()
            .map_or(from, |begin| begin.min(from));
        if whole == from && facts[from].role() == Some(Role::User) && facts[from].begins() {
            break;
        }
        if from == 0 {
            break;
        }
        from = if whole < from { whole } else { from - 1 };
    }
    let is_legal = from == first;
    (!is_legal).then_some(from)
}
